/** The first record of a CSV body: a header that gives the order of the columns, or the first row. */
import type { ColumnDefinition } from '../../schema/columns/column-definition.types.ts'
import { type CsvCell, readCsvCells } from './csv-cells.ts'
import type { CsvDialect } from './csv-dialect.ts'
import { columnNamesOf, normalizeName } from './csv-names.ts'
import { type PartialHeader, readPartialHeader } from './csv-partial-header.ts'
import { readSeparatorLine } from './csv-separator-line.ts'

/**
 * Whether the first record is a header of all columns in their order; `unknown` when its names have to tell. What the sender
 * says of it (`said…`) leaves open which columns a header names.
 */
export type CsvHeader = 'absent' | 'present' | 'saidAbsent' | 'saidPresent' | 'unknown'

export interface CsvStart {
  /** `fieldColumns[i]` is the index of the column that field `i` fills, or -1 when none does. */
  readonly fieldColumns: readonly number[]
  /** Where the rows begin: behind the header, or at the first record when there is none. */
  readonly rowsOffset: number
  /** A header that lacks columns, by which fields are read by position, or not at all; else null. */
  readonly partialHeader: PartialHeader | null
}

/** A record with more fields is a row: reading them holds everybody up, and no data source has so many columns. */
const headerFieldsMax = 20_000
/** Rows below a header that tell more about it, and their fields together. */
const rowsBelowMax = 100
const cellsBelowMax = 100_000

/**
 * Tells a header from a row, unless that is known. A header that names every column maps fields by name; one that names some
 * of them is read by position (see `csv-partial-header.ts`). Empty fields name nothing. Without a header the fields are the
 * columns in the order of the schema.
 * Precondition: `frame[byteCount - 1]` is a line feed.
 */
export function readCsvStart(
  frame: CsvFrame,
  columns: readonly ColumnDefinition[],
  dialect: CsvDialect,
  header: CsvHeader = 'unknown',
): CsvStart {
  const start = startOfRecords(frame)
  const inOrder = columns.map((_, position) => position)
  const allRows = { fieldColumns: inOrder, rowsOffset: start, partialHeader: null }
  if (header === 'absent' || header === 'saidAbsent') return allRows
  const reach = { source: frame.bytes, at: start, limit: frame.byteCount }
  const { cells, next } = readCsvCells(reach, dialect, headerFieldsMax + 1)
  const isSound = cells.every(isSoundCell)
  const rowsOffset = isSound ? next : start
  if (header === 'present') return { ...allRows, rowsOffset }
  const rows = header === 'saidPresent' ? { ...allRows, rowsOffset } : allRows
  if (cells.length > headerFieldsMax) return rows
  const names = cells.map((cell) => cell.text)
  if (names.every((name) => normalizeName(name) === '')) return rows
  if (isShortHeader(names, columns)) return { ...rows, rowsOffset }
  const fieldColumns = matchNames(names, columns)
  const named = new Set(fieldColumns)
  if (columns.every((_, position) => named.has(position))) {
    return { fieldColumns, rowsOffset, partialHeader: null }
  }
  if (!isSound || cells.some(isOfLines)) return rows
  const below = { ...frame, start: next, cellsMax: cells.length }
  const readBelow = (): readonly (readonly CsvCell[])[] => recordsBelow(below, dialect)
  const partialHeader = readPartialHeader({ cells, fieldColumns, readBelow }, columns)
  if (partialHeader === null) return rows
  const byPosition = cells.map((_, field) => (field < columns.length ? field : -1))
  return { fieldColumns: byPosition, rowsOffset: next, partialHeader }
}

/** Text behind a closed quote, or a quote that is never closed, makes an invalid line of the record, also where it has names. */
function isSoundCell({ isSound }: CsvCell): boolean {
  return isSound
}

/** Where a record does not name all columns, a cell of several lines may hold rows between two stray quotes. */
function isOfLines({ text }: CsvCell): boolean {
  return text.trim().includes('\n')
}

interface CsvFrame {
  readonly bytes: Uint8Array
  readonly byteCount: number
}

interface Below extends CsvFrame {
  readonly start: number
  /** Of a record. */
  readonly cellsMax: number
}

function recordsBelow(
  { bytes, byteCount, start, cellsMax }: Below,
  dialect: CsvDialect,
): readonly (readonly CsvCell[])[] {
  const records: (readonly CsvCell[])[] = []
  let offset = start
  let cellCount = 0
  while (offset < byteCount && records.length < rowsBelowMax && cellCount < cellsBelowMax) {
    const { cells, next } = readCsvCells({ source: bytes, at: offset, limit: byteCount }, dialect, cellsMax)
    records.push(cells)
    cellCount += cells.length
    offset = next
  }
  return records
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
  const byName = new Map(columns.map(({ name }, position) => [name, position]))
  const byPlainName = new Map<string, number[]>()
  for (const [position, { name }] of columns.entries()) {
    const plain = normalizeName(name)
    const alike = byPlainName.get(plain)
    if (alike === undefined) byPlainName.set(plain, [position])
    else alike.push(position)
  }
  const exact = names.map((name) => take(byName.get(name.trim()) ?? -1))
  const normalized = exact.map((position, field) => {
    if (position >= 0) return position
    const alike = byPlainName.get(normalizeName(names[field] ?? ''))
    return take(alike?.find((candidate) => !taken.has(candidate)) ?? -1)
  })
  const given = columnNamesOf(names)
  return normalized.map((position, field) => (position >= 0 ? position : take(byName.get(given[field] ?? '') ?? -1)))
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

/** Behind what stands before the records: a line that tells the separator, and empty lines. */
function startOfRecords({ bytes, byteCount }: CsvFrame): number {
  const offset = readSeparatorLine(bytes, 0)?.next ?? 0
  return skipEmptyLines({ bytes, byteCount }, offset)
}

function skipEmptyLines({ bytes, byteCount }: CsvFrame, start: number): number {
  let offset = start
  while (offset < byteCount && (bytes[offset] === 0x0a || bytes[offset] === 0x0d)) offset += 1
  return offset
}
