/**
 * What a data source's parts look like: the same for every part of one schema version, so that several can be appended
 * by one INSERT.
 */

import type { ColumnDefinition } from '../../schema/columns/column-definition.types.ts'
import { quarantineTimeColumn } from '../../schema/columns/column-name.ts'
import { isNullable, valueTypeOf } from '../../schema/types/column-type.ts'
import { quoteName, quoteString } from '../../shared/text-escapes.ts'
import { canBeNull, declaredType, encodingOf } from '../columns/value-encoding.ts'
import { partExpression } from './part-expression.ts'
import type { PartField, PartLayout, PartTarget } from './part-layout.types.ts'

/** A column of the table with its place in a part; AggregateFunction columns have none. */
export interface PartColumn {
  readonly definition: ColumnDefinition
  /** Index among the schema's columns. */
  readonly position: number
  readonly field: string
  /** The field that marks rows in which this column takes its DEFAULT; null where NULL says it already. */
  readonly mask: string | null
}

export function partColumnsOf(columns: readonly ColumnDefinition[]): readonly PartColumn[] {
  return columns.flatMap((definition, position) => {
    if (valueTypeOf(definition.type).kind === 'aggregateFunction') return []
    const mask = needsMask(definition) ? `__missing_${position}` : null
    return [{ definition, position, field: `__${position}`, mask }]
  })
}

/**
 * The engine puts DEFAULT where the part has NULL (`insert_null_as_default`), but neither in a Nullable column, where NULL
 * is a value of its own, nor in an Array, Map or Tuple, which cannot be NULL.
 */
function needsMask(definition: ColumnDefinition): boolean {
  if (definition.defaultExpression === null) return false
  return isNullable(definition.type) || !canBeNull(encodingOf(definition.type))
}

export function partLayoutOf(columns: readonly ColumnDefinition[]): PartLayout {
  const partColumns = partColumnsOf(columns)
  const hasMasks = partColumns.some((column) => column.mask !== null)
  return {
    fields: partColumns.flatMap(fieldsOf),
    targets: partColumns.map((column) => targetOf(column, hasMasks)),
  }
}

function fieldsOf({ definition, field, mask }: PartColumn): readonly PartField[] {
  const own = { name: field, engineType: fieldTypeOf(definition) }
  return mask === null ? [own] : [own, { name: mask, engineType: 'UInt8' }]
}

function fieldTypeOf(definition: ColumnDefinition): string {
  const encoding = encodingOf(definition.type)
  const holdsNull = encoding.isNullable || (definition.defaultExpression !== null && canBeNull(encoding))
  return declaredType({ ...encoding, isNullable: holdsNull })
}

/**
 * With a mask anywhere, every column is written out as the table has it, under its name: the names are then aliases of
 * the SELECT, by which a DEFAULT over other columns sees their values and defaults, and not the part's NULLs.
 */
function targetOf(column: PartColumn, hasMasks: boolean): PartTarget {
  const { name } = column.definition
  if (!hasMasks) return { column: name, expression: partExpression(column.field) }
  return { column: name, expression: partExpression(`${valueExpression(column)} AS ${quoteName(name)}`) }
}

function valueExpression({ definition, field, mask }: PartColumn): string {
  const cast = (expression: string) => `CAST(${expression}, ${quoteString(definition.typeText)})`
  const { defaultExpression } = definition
  if (defaultExpression === null) return cast(field)
  const fallback = cast(`(${defaultExpression})`)
  if (mask !== null) return `if(${mask}, ${fallback}, ${cast(field)})`
  return `if(isNull(${field}), ${fallback}, ${cast(`assumeNotNull(${field})`)})`
}

/** The quarantine table's part: every column as text, then why; from which import (null for events) is the same for all rows. */
export function quarantineLayoutOf(columns: readonly ColumnDefinition[], importId: string | null): PartLayout {
  const texts = columns.map(({ name }, position) => ({ name: `__${position}`, column: name }))
  const extras = quarantineFields.map(({ column, engineType }) => ({ name: `__${column}`, column, engineType }))
  return {
    fields: [
      ...texts.map(({ name }) => ({ name, engineType: 'Nullable(String)' })),
      ...extras.map(({ name, engineType }) => ({ name, engineType })),
    ],
    targets: [
      ...[...texts, ...extras].map(({ name, column }) => ({ column, expression: partExpression(name) })),
      { column: 'c__import_id', expression: partExpression(importId === null ? 'NULL' : quoteString(importId)) },
      { column: quarantineTimeColumn(columns), expression: partExpression('now()') },
    ],
  }
}

/** The fields of a quarantine part behind the columns' texts, in order. */
const quarantineFields = [
  { column: 'c__error_column', engineType: 'Array(String)' },
  { column: 'c__error', engineType: 'Array(String)' },
] as const
