/** Why a row is set aside, in the words that clients know, and how its values stand in the quarantine table. */

import type { ColumnDefinition } from '../../schema/columns/column-definition.types.ts'
import { formatColumnType, valueTypeOf } from '../../schema/types/column-type.ts'
import type { ColumnType } from '../../schema/types/column-type.types.ts'
import { unreadableEnd } from '../../shared/record-reasons.ts'
import type { RawValue } from '../cell.types.ts'

type NamedColumn = Pick<ColumnDefinition, 'name' | 'type'>

/** In UTF-16 units: a reason stays readable, and a huge value is not stored twice. */
const reasonValueLengthMax = 256

/** `value 'x' on column 'y' is not Float32`; a value beyond 256 characters is cut, never inside a surrogate pair. */
export function reasonOf(column: NamedColumn, valueText: string): string {
  return `value '${cut(valueText)}' on column '${column.name}' is not ${typeNameOf(column.type)}`
}

/** The names of types by the types themselves, which live as long as their schemas. */
const typeNames = new WeakMap<ColumnType, string>()

function typeNameOf(type: ColumnType): string {
  const known = typeNames.get(type)
  if (known !== undefined) return known
  const name = formatColumnType(valueTypeOf(type))
  typeNames.set(type, name)
  return name
}

/** The reason for a key that a record lacks although its column needs a value. */
export function missingReason(column: Pick<ColumnDefinition, 'name'>): string {
  return `value is missing on column '${column.name}', which is neither Nullable nor has a DEFAULT`
}

/** The reason for a value whose bytes are no text at all, whatever its column's type; escaped (`readableText`) and cut. */
export function unreadableReason(column: Pick<ColumnDefinition, 'name'>, valueText: string): string {
  return `value '${cut(valueText)}' on column '${column.name}'${unreadableEnd}`
}

/** How a value stands in the quarantine table: strings as their content, all else as its source text, null as NULL. */
export function rawTextOf(value: RawValue): string | null {
  return value.kind === 'null' ? null : value.text
}

function cut(text: string): string {
  if (text.length <= reasonValueLengthMax) return text
  const last = text.charCodeAt(reasonValueLengthMax - 1)
  const isSplitPair = last >= 0xd800 && last <= 0xdbff
  return text.slice(0, isSplitPair ? reasonValueLengthMax - 1 : reasonValueLengthMax)
}
