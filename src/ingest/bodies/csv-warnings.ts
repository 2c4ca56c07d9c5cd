/** What is odd about the beginning of a CSV body that is appended: its rows are taken as they are, and their sender is told. */
import { normalizeName } from '../../codec/csv/csv-names.ts'
import { isHeaderOver } from '../../guess/csv-guess.ts'
import { type GuessedDialect, guessDialect, readSample, type SampleRecord } from '../../guess/csv-sample.ts'
import type { SampleBytes } from '../../guess/sample.types.ts'
import type { ColumnDefinition } from '../../schema/columns/column-definition.types.ts'
import { beginningOf } from '../../shared/beginning-of.ts'
import { listText } from '../../shared/list-text.ts'
import type { CsvRules } from '../ingest.types.ts'
import { oneLineAdvice } from './csv-header-words.ts'

interface AppendedCsv {
  readonly sample: SampleBytes
  /** As it is read. */
  readonly dialect: GuessedDialect
  /** What was said of it. */
  readonly given: CsvRules
  readonly columns: readonly ColumnDefinition[]
}

const recordsMax = 50
const sampleBytes = 16 * 1024
const namesMax = 5
const nameCharsMax = 40

/** Sentences about a header that names no column, and about a delimiter that cuts the rows at other places. */
export function csvWarnings(csv: AppendedCsv): readonly string[] {
  if (isOneLine(csv)) return [`${oneLineAdvice}. It was taken for one record.`]
  const start = firstBytesOf(csv.sample)
  const records = readSample(start, csv.dialect, recordsMax)
  const delimiter = delimiterWarning({ ...csv, sample: start }, records)
  if (delimiter !== null) return [delimiter]
  const header = titleWarning(csv, records) ?? headerWarning(csv, records)
  return header === null ? [] : [header]
}

/** A title, or a comment, above the header of which a Data Source was made: it names few of the columns. */
function titleWarning({ given, columns }: AppendedCsv, [first, ...rows]: readonly SampleRecord[]): string | null {
  if (given.header !== 'present' || first === undefined || rows.length === 0) return null
  const names = first.filter(({ text }) => text.trim() !== '').map(({ text }) => text.trim())
  if (names.length * 2 > columns.length || columns.length < 2) return null
  return `The first line was taken for the header, and names ${names.length} of ${columns.length} columns: ${shownNames(names)}. If it is a title, drop the Data Source and send the file from its header on.`
}

function shownNames(names: readonly string[]): string {
  const told = names.slice(0, namesMax).map((name) => `"${beginningOf(name, nameCharsMax)}"`)
  return `${listText(told)}${names.length > namesMax ? ' …' : ''}`
}

/** A file of which the line feeds are gone, for which a Data Source was made. */
function isOneLine({ sample: { bytes, isWhole }, given }: AppendedCsv): boolean {
  const isGuessed = given.header === 'present' || given.header === 'absent'
  return isGuessed && isWhole && !bytes.includes(lineFeed) && bytes.length > 0
}

const lineFeed = 0x0a

function firstBytesOf({ bytes, isWhole }: SampleBytes): SampleBytes {
  return bytes.length <= sampleBytes ? { bytes, isWhole } : { bytes: bytes.subarray(0, sampleBytes), isWhole: false }
}

/** A wrong delimiter leaves a row in one piece, or in other pieces than there are columns. */
function delimiterWarning({ sample, dialect, given, columns }: AppendedCsv, records: readonly SampleRecord[]) {
  const count = columns.length
  if (count < 2 || records.length === 0 || records.some((record) => record.length === count)) return null
  const [first] = records
  const fields = `${first?.length} ${first?.length === 1 ? 'field' : 'fields'}`
  const told = `The first line has ${fields} with the delimiter ${shown(dialect.delimiter)}, and the Data Source has ${count} columns`
  const other = guessDialect(sample, { ...given, delimiter: undefined }, count)
  const isCut = readSample(sample, other, recordsMax).every((record) => record.length === count)
  if (other.delimiter !== dialect.delimiter && isCut) {
    return `${told}: with ${shown(other.delimiter)} it has ${count}. Send dialect_delimiter=${encodeURIComponent(other.delimiter)}, or leave it out.`
  }
  if (first?.length !== 1) return null
  const odd = oddDelimiter(sample, count)
  return odd === null
    ? null
    : `${told}: with ${shown(odd)} it has ${count}. Send dialect_delimiter=${encodeURIComponent(odd)}.`
}

/** Others than those that are guessed. */
function oddDelimiter(sample: SampleBytes, count: number): string | null {
  const cuts = (delimiter: string): boolean =>
    readSample(sample, { delimiter, escapeCharacter: null }, recordsMax).every((record) => record.length === count)
  return [':', '^', '~', '#', '\u0001', ' '].find(cuts) ?? null
}

function shown(delimiter: string): string {
  return delimiter === '\t' ? 'tab' : JSON.stringify(delimiter)
}

/** What is a name, and no value that a column of text may have as well. */
const namePattern = /^[\p{L}_][\p{L}\p{N}_ .()/%-]*$/u

function headerWarning({ given, columns }: AppendedCsv, records: readonly SampleRecord[]): string | null {
  const [first, ...rows] = records
  if (given.header !== undefined && given.header !== 'unknown') return null
  if (first === undefined || rows.length === 0) return null
  const names = first.map(({ text }) => text.trim())
  const known = new Set(columns.flatMap(({ name, jsonPathText }) => [name, normalizeName(name), jsonPathText ?? name]))
  if (names.some((name) => known.has(name) || known.has(normalizeName(name)))) return null
  if (!names.every((name) => namePattern.test(name)) || !isHeaderOver(first, rows)) return null
  return `The first line looks like a header, but names none of the columns: ${shownNames(names)}. It was taken for a row, and the fields were read by position: name the columns as the Data Source does (${columnsText(columns)}), or leave the header out.`
}

function columnsText(columns: readonly ColumnDefinition[]): string {
  const names = columns.slice(0, namesMax).map(({ name }) => beginningOf(name, nameCharsMax))
  return `${names.join(', ')}${columns.length > namesMax ? ', …' : ''}`
}
