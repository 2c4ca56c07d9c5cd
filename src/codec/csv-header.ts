/** The first record of a CSV body: a header that gives the order of the columns, or the first row. */
import type { ColumnDefinition } from '../shared/schema.types.ts'
import { readCsvRecord } from './csv-cells.ts'
import type { CsvDialect } from './csv-dialect.ts'

export interface CsvStart {
  /** `fieldColumns[i]` is the index of the column that field `i` fills, or -1 when none does. */
  readonly fieldColumns: readonly number[]
  /** Where the rows begin: behind the header, or at the first record when there is none. */
  readonly rowsOffset: number
}

/**
 * Tells a header from a row: it is one when it names every column, or when each of its fields names a column, or when at
 * least half of its fields, and two, do. Without a header the fields are the columns in the order of the schema.
 * Precondition: `frame[byteCount - 1]` is a line feed.
 */
export function readCsvStart(
  frame: { readonly bytes: Uint8Array; readonly byteCount: number },
  columns: readonly ColumnDefinition[],
  dialect: CsvDialect,
): CsvStart {
  const start = skipEmptyLines(frame)
  const { cells, next } = readCsvRecord(frame.bytes, start, frame.byteCount, dialect)
  const fieldColumns = matchNames(
    cells.map((cell) => cell.text),
    columns,
  )
  if (isHeader(fieldColumns, columns.length)) return { fieldColumns, rowsOffset: next }
  return { fieldColumns: columns.map((_, position) => position), rowsOffset: start }
}

/** Names in a file are matched as they are, then without regard to case and odd characters; each column once. */
function matchNames(names: readonly string[], columns: readonly ColumnDefinition[]): readonly number[] {
  const taken = new Set<number>()
  const take = (position: number): number => {
    if (position < 0 || taken.has(position)) return -1
    taken.add(position)
    return position
  }
  const exact = names.map((name) => take(columns.findIndex((column) => column.name === name.trim())))
  return exact.map((position, field) => {
    if (position >= 0) return position
    const normalized = normalizeName(names[field] ?? '')
    return take(
      columns.findIndex((column, candidate) => !taken.has(candidate) && normalizeName(column.name) === normalized),
    )
  })
}

function isHeader(fieldColumns: readonly number[], columnCount: number): boolean {
  const matched = fieldColumns.filter((position) => position >= 0).length
  if (matched === 0) return false
  return (
    matched === columnCount || matched === fieldColumns.length || (matched >= 2 && matched * 2 >= fieldColumns.length)
  )
}

/** The name that a column gets from a header: odd characters become `_`, and so does what stands before a digit. */
function normalizeName(name: string): string {
  const plain = name
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_]+/gu, '_')
  return /^\d/.test(plain) ? `_${plain}` : plain
}

function skipEmptyLines({ bytes, byteCount }: { readonly bytes: Uint8Array; readonly byteCount: number }): number {
  let offset = 0
  while (offset < byteCount && (bytes[offset] === 0x0a || bytes[offset] === 0x0d)) offset += 1
  return offset
}
