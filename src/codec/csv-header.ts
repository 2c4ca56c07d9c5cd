/** The first record of a CSV body: a header that gives the order of the columns, or the first row. */
import type { ColumnDefinition } from '../shared/schema.types.ts'
import { readCsvRecord } from './csv-cells.ts'
import type { CsvDialect } from './csv-dialect.ts'
import { columnNamesOf, normalizeName } from './csv-names.ts'
import { readSeparatorLine } from './csv-separator-line.ts'

/** Whether the first record is a header of all columns in their order; `unknown` when its names have to tell. */
export type CsvHeader = 'absent' | 'present' | 'unknown'

export interface CsvStart {
  /** `fieldColumns[i]` is the index of the column that field `i` fills, or -1 when none does. */
  readonly fieldColumns: readonly number[]
  /** Where the rows begin: behind the header, or at the first record when there is none. */
  readonly rowsOffset: number
}

/**
 * Tells a header from a row, unless that is known: it is one when it names every column, or when each of its fields names a column, or when at
 * least half of its fields, and two, do. Empty fields name nothing. Without a header the fields are the columns in the order of the schema.
 * Precondition: `frame[byteCount - 1]` is a line feed.
 */
export function readCsvStart(
  frame: { readonly bytes: Uint8Array; readonly byteCount: number },
  columns: readonly ColumnDefinition[],
  dialect: CsvDialect,
  header: CsvHeader = 'unknown',
): CsvStart {
  const start = startOfRecords(frame)
  const inOrder = columns.map((_, position) => position)
  if (header === 'absent') return { fieldColumns: inOrder, rowsOffset: start }
  const { cells, next } = readCsvRecord(frame.bytes, start, frame.byteCount, dialect)
  if (header === 'present') return { fieldColumns: inOrder, rowsOffset: next }
  const names = cells.map((cell) => cell.text)
  if (names.every((name) => normalizeName(name) === '')) return { fieldColumns: inOrder, rowsOffset: start }
  if (isShortHeader(names, columns)) return { fieldColumns: inOrder, rowsOffset: next }
  const fieldColumns = matchNames(names, columns)
  if (isHeader(fieldColumns, columns.length)) return { fieldColumns, rowsOffset: next }
  return { fieldColumns: inOrder, rowsOffset: start }
}

/**
 * Names in a file are matched as they are, then without regard to case and odd characters, then as the names that a
 * header gives to the columns of a new data source; each column once.
 */
function matchNames(names: readonly string[], columns: readonly ColumnDefinition[]): readonly number[] {
  const taken = new Set<number>()
  const take = (position: number): number => {
    if (position < 0 || taken.has(position)) return -1
    taken.add(position)
    return position
  }
  const exact = names.map((name) => take(columns.findIndex((column) => column.name === name.trim())))
  const normalized = exact.map((position, field) => {
    if (position >= 0) return position
    const name = normalizeName(names[field] ?? '')
    return take(columns.findIndex((column, candidate) => !taken.has(candidate) && normalizeName(column.name) === name))
  })
  const given = columnNamesOf(names)
  return normalized.map((position, field) =>
    position >= 0 ? position : take(columns.findIndex((column) => column.name === given[field])),
  )
}

/**
 * A title above the rows has fewer fields than they have. It names the columns where these were guessed from it, in their
 * order, and so it does once more when the same file comes again.
 */
function isShortHeader(names: readonly string[], columns: readonly ColumnDefinition[]): boolean {
  if (names.length >= columns.length) return false
  const given = columnNamesOf(columns.map((_, field) => names[field] ?? ''))
  return columns.every((column, field) => column.name === given[field])
}

function isHeader(fieldColumns: readonly number[], columnCount: number): boolean {
  const matched = fieldColumns.filter((position) => position >= 0).length
  if (matched === 0) return false
  return (
    matched === columnCount || matched === fieldColumns.length || (matched >= 2 && matched * 2 >= fieldColumns.length)
  )
}

/** Behind what stands before the records: a line that tells the separator, and empty lines. */
function startOfRecords({ bytes, byteCount }: { readonly bytes: Uint8Array; readonly byteCount: number }): number {
  const offset = readSeparatorLine(bytes, 0)?.next ?? 0
  return skipEmptyLines({ bytes, byteCount }, offset)
}

function skipEmptyLines(
  { bytes, byteCount }: { readonly bytes: Uint8Array; readonly byteCount: number },
  start: number,
): number {
  let offset = start
  while (offset < byteCount && (bytes[offset] === 0x0a || bytes[offset] === 0x0d)) offset += 1
  return offset
}
