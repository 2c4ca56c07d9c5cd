/** What a CSV body is, guessed from its beginning: dialect, header, names and types of its columns. */
import type { CsvHeader } from '../codec/csv/csv-header.ts'
import { columnNamesOf } from '../codec/csv/csv-names.ts'
import { errors } from '../shared/errors/errors.ts'
import { quoteName } from '../shared/text-escapes.ts'
import { looksLikeThoseBelow, serialNames } from './cell-likeness.ts'
import {
  type GivenDialect,
  type GuessedDialect,
  guessDialect,
  readSample,
  type SampleCell,
  type SampleRecord,
} from './csv-sample.ts'
import { guessType, saysNothing, typeOfText } from './csv-types.ts'
import type { SampleBytes } from './sample.types.ts'

export interface CsvGuess {
  readonly dialect: GuessedDialect
  readonly hasHeader: boolean
  readonly columns: readonly CsvColumn[]
  /** The rows of the sample, without the header. */
  readonly rows: readonly SampleRecord[]
}

export interface CsvColumn {
  /** As the header has it; the normalised name where there is no header. */
  readonly originalName: string
  /** As the data source has it; each only once. */
  readonly name: string
  /** Without Nullable. */
  readonly type: string
  readonly isNullable: boolean
  /** Rows of the sample that have a value, as a share of 1. */
  readonly presentShare: number
}

export interface CsvGuessRules extends GivenDialect {
  /** False makes every column String. */
  readonly hasTypes: boolean
  /** Most columns of a data source. */
  readonly columnsMax: number
  /** What the sender says of it. */
  readonly header?: CsvHeader | undefined
}

const saidHeaders: ReadonlyMap<CsvHeader | undefined, boolean> = new Map([
  ['saidAbsent', false],
  ['saidPresent', true],
])

const rowsMax = 100_000

/**
 * Guesses all that creating a data source from the body needs; null when the sample holds no record.
 *
 * @throws COLUMNS_TOO_MANY (400).
 */
export function guessCsv(sample: SampleBytes, rules: CsvGuessRules): CsvGuess | null {
  const guess = guessRecords(sample, rules)
  if (guess === null || guess.columns.length > 0) return guess
  // The first line opens a quote that is never closed: it is an invalid line of its own, and the rows stand behind it.
  const end = sample.bytes.indexOf(0x0a, sample.bytes.indexOf(0x22))
  if (end < 0) return guess
  const behind = { ...sample, bytes: sample.bytes.subarray(end + 1) }
  return guessRecords(behind, { ...rules, header: 'saidAbsent' }) ?? guess
}

function guessRecords(sample: SampleBytes, rules: CsvGuessRules): CsvGuess | null {
  const dialect = guessDialect(sample, rules, null)
  const records = readSample(sample, dialect, rowsMax)
  const [first] = records
  if (first === undefined) return null
  const { columnsMax } = rules
  if (usualFieldCount(records) > columnsMax) throw errors.COLUMNS_TOO_MANY({ columnsMax })
  // A first line may have any number of fields, and so many tell enough.
  const isTorn = first.some(mayHoldRows)
  const isNamed = (): boolean => isHeader(first.slice(0, columnsMax), records.slice(1))
  const hasHeader = !isTorn && (saidHeaders.get(rules.header) ?? isNamed())
  const rows = hasHeader || isTorn ? records.slice(1) : records
  const header = hasHeader ? first.map(({ text }) => text.trim()) : []
  const fieldCount = Math.max(header.length, usualFieldCount(rows))
  if (fieldCount > columnsMax) throw errors.COLUMNS_TOO_MANY({ columnsMax })
  const names = columnNamesOf(Array.from({ length: fieldCount }, (_, field) => header[field] ?? ''))
  const columns = names.map((name, field) => {
    const cells = rows.map((row) => row[field])
    const presentCount = cells.filter((cell) => !saysNothing(cell)).length
    const presentShare = rows.length === 0 ? 0 : presentCount / rows.length
    return { originalName: header[field] || name, name, presentShare, ...typeOfColumn(cells, rules) }
  })
  return { dialect, hasHeader, columns, rows }
}

/** The schema string of a data source for such rows. */
export function csvSchema(columns: readonly CsvColumn[]): string {
  return columns.map((column) => `${quoteName(column.name)} ${columnTypeText(column)}`).join(', ')
}

/** The type with Nullable around it where it is. */
export function columnTypeText({ type, isNullable }: Pick<CsvColumn, 'isNullable' | 'type'>): string {
  return isNullable ? `Nullable(${type})` : type
}

function typeOfColumn(cells: readonly (SampleCell | undefined)[], { hasTypes }: CsvGuessRules) {
  return hasTypes ? guessType(cells) : { type: 'String', isNullable: false }
}

/** Rows stand in a cell that a stray quote opens: it is an invalid line, and neither a header nor a row. */
function mayHoldRows({ text, isSound }: SampleCell): boolean {
  return isSound === false && text.trim().includes('\n')
}

/** The number of fields that most rows have; short and long ones are the scanner's business. */
function usualFieldCount(rows: readonly SampleRecord[]): number {
  const counts = new Map<number, number>()
  for (const { length } of rows) counts.set(length, (counts.get(length) ?? 0) + 1)
  let usual = 0
  let most = 0
  for (const [length, count] of counts) {
    if (count > most || (count === most && length > usual)) {
      usual = length
      most = count
    }
  }
  return usual
}

/** Rows that are enough to tell a header from them. */
const headerRowsMax = 100

/**
 * A first record is a header when its cells are of other types than those below them, or a row of years above other values.
 * Where all is text, it is one unless a cell of it looks like those below it, or stands there again; names come first in most
 * files that people have.
 */
function isHeader(first: SampleRecord, rows: readonly SampleRecord[]): boolean {
  if (first.every(({ text }) => text.trim() === '')) return false
  const below = cellsBelow(first, rows)
  const votes = headerVotes(first, below)
  if (votes !== 0) return votes > 0
  return !first.some(({ text }, field) => text !== '' && below[field]?.some((cell) => cell?.text === text))
}

/** Whether the types of the values below a first record say that it is a header; where all is text they say nothing. */
export function isHeaderOver(first: SampleRecord, rows: readonly SampleRecord[]): boolean {
  return headerVotes(first, cellsBelow(first, rows)) > 0
}

type Column = readonly (SampleCell | undefined)[]

function cellsBelow(first: SampleRecord, rows: readonly SampleRecord[]): readonly Column[] {
  return first.map((_, field) => rows.slice(0, headerRowsMax).map((row) => row[field]))
}

function headerVotes(first: SampleRecord, below: readonly Column[]): number {
  const serial = serialNames(first, below)
  return first.reduce((sum, cell, field) => sum + (serial.has(field) ? 1 : headerVote(cell, below[field] ?? [])), 0)
}

/** 1 when a cell cannot belong to the values below it, -1 when it looks like one of them. */
function headerVote(cell: SampleCell, below: readonly (SampleCell | undefined)[]): number {
  if (cell.text === '') return 0
  const { type } = guessType(below)
  if (type === 'String') return typeOfText(cell.text) !== 'String' || looksLikeThoseBelow(cell.text, below) ? -1 : 0
  return guessType([cell, ...below]).type === 'String' ? 1 : -1
}
