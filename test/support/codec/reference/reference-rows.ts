/**
 * What becomes of a record, said slowly: the meaning that the scanners are held to.
 *
 * - A line that is no JSON object is invalid. All else is a row, or a record set aside with a reason for each column.
 * - A key that a record lacks takes the DEFAULT, else NULL where the column can hold it, else it is a reason.
 * - A null takes NULL where the column can hold it, else the DEFAULT, else it is a reason.
 * - What the type's coercion refuses is a reason.
 */
import { type Buffer, isUtf8 } from 'node:buffer'
import type { Cell, RawValue, Verdict } from '../../../../src/codec/cell.types.ts'
import { createCoercion } from '../../../../src/codec/coercion/coercion.ts'
import type { ColumnDefinition } from '../../../../src/schema/columns/column-definition.types.ts'
import { referenceJson } from './exact-json.ts'
import { pathOf } from './random-schema.ts'

/** A cell that the engine fills in. */
export const takesDefault = Symbol('DEFAULT')

export type ReferenceCell = Cell | typeof takesDefault

export type ReferenceOutcome =
  /** `cells[i]` is column `i`'s; columns that are never read hold null. */
  | { readonly kind: 'row'; readonly cells: readonly ReferenceCell[] }
  | {
      readonly kind: 'quarantine'
      readonly texts: readonly (string | null)[]
      readonly errors: readonly ReferenceFault[]
      /** A CSV line with too few fields. */
      readonly isShort: boolean
    }
  | { readonly kind: 'invalid'; readonly reason: string }

export interface ReferenceFault {
  readonly column: string
  readonly reason: string
}

export interface ReferenceColumn {
  readonly definition: ColumnDefinition
  readonly coerce: (value: RawValue) => Verdict
  /** The type's text without Nullable, LowCardinality and SimpleAggregateFunction, as reasons name it. */
  readonly typeText: string
  readonly isNullable: boolean
  readonly hasDefault: boolean
  readonly isNeverRead: boolean
}

export function referenceColumns(definitions: readonly ColumnDefinition[]): readonly ReferenceColumn[] {
  return definitions.map((definition) => ({
    definition,
    coerce: createCoercion(definition.type),
    typeText: bareTypeText(definition.typeText),
    isNullable: /^(LowCardinality\(|SimpleAggregateFunction\(\w+, )?Nullable\(/.test(definition.typeText),
    hasDefault: definition.defaultExpression !== null,
    isNeverRead: definition.typeText.startsWith('AggregateFunction('),
  }))
}

function bareTypeText(typeText: string): string {
  const wrapped = /^(?:Nullable\(|LowCardinality\(|SimpleAggregateFunction\(\w+, )(.*)\)$/.exec(typeText)
  return wrapped?.[1] === undefined ? typeText : bareTypeText(wrapped[1])
}

/** The outcomes of the records of an NDJSON body, in order; blank lines have none. */
export function ndjsonOutcomes(body: Buffer, columns: readonly ReferenceColumn[]): readonly ReferenceOutcome[] {
  const outcomes: ReferenceOutcome[] = []
  let start = 0
  while (start < body.length) {
    const lineFeed = body.indexOf(0x0a, start)
    const end = lineFeed < 0 ? body.length : lineFeed
    const outcome = lineOutcome(body.subarray(start, end), columns)
    if (outcome !== null) outcomes.push(outcome)
    start = end + 1
  }
  return outcomes
}

function lineOutcome(line: Buffer, columns: readonly ReferenceColumn[]): ReferenceOutcome | null {
  const first = line.findIndex((byte) => byte !== 0x20 && byte !== 0x09 && byte !== 0x0d)
  if (first < 0) return null
  // Files with a byte order mark that were put behind one another have marks in front of lines.
  const bytes = line.subarray(first)
  if (!isUtf8(line)) return { kind: 'invalid', reason: `record is not valid UTF-8: ${escapedText(bytes)}` }
  const text = bytes.toString()
  const record = referenceJson(text.replace(/^\ufeff/, ''))
  if (record?.kind !== 'object') return { kind: 'invalid', reason: `record is not a JSON object: ${text}` }
  return recordOutcome(
    columns,
    columns.map((column) => valueAt(record, column)),
  )
}

function valueAt(record: RawValue, { definition }: ReferenceColumn): RawValue | undefined {
  const { keys, element } = pathOf(definition)
  const value = descend(record, keys)
  if (value?.kind !== 'array' || element === null || element.length === 0) return value
  return { ...value, items: value.items.map((item) => descend(item, element) ?? { kind: 'null' }) }
}

function descend(value: RawValue, keys: readonly string[]): RawValue | undefined {
  const [key, ...rest] = keys
  if (key === undefined) return value
  const below = value.kind === 'object' ? value.entries.get(key) : undefined
  return below === undefined ? undefined : descend(below, rest)
}

/** The outcome of a record whose columns have these values, undefined where it says nothing. */
export function recordOutcome(
  columns: readonly ReferenceColumn[],
  values: readonly (RawValue | undefined)[],
  unreadable: ReadonlySet<number> = new Set(),
): ReferenceOutcome {
  const cells: ReferenceCell[] = []
  const errors: ReferenceFault[] = []
  for (const [position, column] of columns.entries()) {
    const value = values[position]
    const judged = unreadable.has(position) ? unreadableError(column, value) : judge(column, value)
    if (judged.kind === 'error') errors.push({ column: column.definition.name, reason: judged.reason })
    else cells.push(judged.cell)
  }
  if (errors.length === 0) return { kind: 'row', cells }
  return { kind: 'quarantine', texts: columns.map((_, position) => rawText(values[position])), errors, isShort: false }
}

type Judged =
  | { readonly kind: 'cell'; readonly cell: ReferenceCell }
  | { readonly kind: 'error'; readonly reason: string }

function judge(column: ReferenceColumn, value: RawValue | undefined): Judged {
  const { name } = column.definition
  if (value === undefined || value.kind === 'null') {
    if (column.isNeverRead) return { kind: 'cell', cell: null }
    const prefersNull = value !== undefined
    if (column.isNullable && (prefersNull || !column.hasDefault)) return { kind: 'cell', cell: null }
    if (column.hasDefault) return { kind: 'cell', cell: takesDefault }
  }
  if (value === undefined) {
    return {
      kind: 'error',
      reason: `value is missing on column '${name}', which is neither Nullable nor has a DEFAULT`,
    }
  }
  if (value.kind !== 'null') {
    const verdict = column.coerce(value)
    if (verdict.isAccepted) return { kind: 'cell', cell: verdict.cell }
  }
  return {
    kind: 'error',
    reason: `value '${shown(rawText(value) ?? 'null')}' on column '${name}' is not ${column.typeText}`,
  }
}

function unreadableError({ definition }: ReferenceColumn, value: RawValue | undefined): Judged {
  return { kind: 'error', reason: unreadableReason(definition, rawText(value) ?? '') }
}

/** Of a value that is no UTF-8, and stands as `escapedText`. */
export function unreadableReason({ name }: Pick<ColumnDefinition, 'name'>, text: string): string {
  return `value '${shown(text)}' on column '${name}' is not valid UTF-8`
}

/** Bytes as text: where they are no UTF-8, each that belongs to no character, and each `%`, as in a URL. */
export function escapedText(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString()
  let text = ''
  for (let at = 0; at < bytes.length; ) {
    const byteCount = [1, 2, 3, 4].find((count) => at + count <= bytes.length && isUtf8(bytes.subarray(at, at + count)))
    const isKept = byteCount !== undefined && bytes[at] !== 0x25
    const taken = isKept ? byteCount : 1
    const piece = bytes.subarray(at, at + taken)
    text += isKept ? piece.toString() : `%${piece.toString('hex').toUpperCase()}`
    at += taken
  }
  return text
}

function rawText(value: RawValue | undefined): string | null {
  return value === undefined || value.kind === 'null' ? null : value.text
}

/** A reason shows 256 UTF-16 units of a value, and no half of a pair. */
function shown(text: string): string {
  const cut = text.slice(0, 256)
  return text.length > 256 && /[\ud800-\udbff]$/.test(cut) ? cut.slice(0, 255) : cut
}
