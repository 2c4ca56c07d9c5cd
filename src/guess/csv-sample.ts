/**
 * How a CSV body is written, guessed from its beginning, and the records of that beginning.
 *
 * `csv-parse` tries the dialects on a few kilobytes: it is lenient where a wrong dialect gives nonsense. The records are
 * then cut by the codec's reader, 25 times as fast and by the very grammar that the import keeps to.
 */
import { parse } from 'csv-parse/sync'
import { carriageReturn, lineFeed, quote, readCsvRecord } from '../codec/csv/csv-cells.ts'
import { csvDialect } from '../codec/csv/csv-dialect.ts'
import { readSeparatorLine } from '../codec/csv/csv-separator-line.ts'
import type { SampleBytes } from './sample.types.ts'

/** A cell of the sample. An empty cell without quotes says nothing; with quotes it is an empty text. */
export interface SampleCell {
  readonly text: string
  readonly isQuoted: boolean
  /** False as in `CsvCell`. */
  readonly isSound?: boolean
}

export type SampleRecord = readonly SampleCell[]

export type NewLine = '\n' | '\r' | '\r\n'

export interface GuessedDialect {
  /** One character. */
  readonly delimiter: string
  /** One ASCII character. Null when quotes inside quotes are doubled. */
  readonly escapeCharacter: string | null
}

/** What the sender said of its dialect; undefined is guessed. */
export interface GivenDialect {
  readonly delimiter: string | undefined
  readonly escapeCharacter: string | undefined
}

/** In the order in which they are preferred when nothing else decides. */
const delimiters = [',', ';', '\t', '|'] as const
const dialectBytesMax = 16_384
const dialectRecordsMax = 100
const plainRecordsMax = 5

/** Carriage returns alone end lines where there are two of them, and not one line feed but inside quotes. */
export function guessNewLine(bytes: Uint8Array): NewLine {
  const lineFeedAt = bytes.indexOf(lineFeed)
  const returnAt = bytes.indexOf(carriageReturn)
  if (lineFeedAt >= 0 && returnAt >= 0 && returnAt !== lineFeedAt - 1 && hasOnlyReturns(bytes)) return '\r'
  if (lineFeedAt >= 0) return bytes[lineFeedAt - 1] === carriageReturn ? '\r\n' : '\n'
  return returnAt < bytes.lastIndexOf(carriageReturn) ? '\r' : '\n'
}

/** Whether no line feed stands outside of quotes, and two carriage returns do, as in tables of old spreadsheets. */
function hasOnlyReturns(bytes: Uint8Array): boolean {
  let isQuoted = false
  let returnCount = 0
  for (const byte of bytes) {
    if (byte === quote) isQuoted = !isQuoted
    else if (byte === lineFeed && !isQuoted) return false
    else if (byte === carriageReturn && !isQuoted) returnCount += 1
  }
  return returnCount >= 2
}

/**
 * Guesses what separates fields, and what stands before a quote inside quotes.
 *
 * @param columnCount how many columns the rows are for, where that is known: what cuts so many fields wins, then a comma
 *   that cuts any.
 */
export function guessDialect(sample: SampleBytes, given: GivenDialect, columnCount: number | null): GuessedDialect {
  const told = readSeparatorLine(sample.bytes, markEnd(sample.bytes))
  const records = told === null ? sample : { ...sample, bytes: sample.bytes.subarray(told.next) }
  return guessRecordsDialect(records, { ...given, delimiter: given.delimiter ?? told?.delimiter }, columnCount)
}

function guessRecordsDialect(sample: SampleBytes, given: GivenDialect, columnCount: number | null): GuessedDialect {
  const start = sample.bytes.subarray(0, dialectBytesMax)
  const isWhole = sample.isWhole && start.length === sample.bytes.length
  const text = wholeLines(new TextDecoder().decode(start), isWhole)
  const delimiter = given.delimiter ?? guessDelimiter({ ...sample, text }, given.escapeCharacter, columnCount)
  return { delimiter, escapeCharacter: given.escapeCharacter ?? guessEscape(text, delimiter) }
}

/** Text up to its last line end, where it is cut behind that; a record without an end is as good as there is. */
function wholeLines(text: string, isWhole: boolean): string {
  const end = text.lastIndexOf('\n') + 1
  return isWhole || end === 0 ? text : text.slice(0, end)
}

interface DialectSample extends SampleBytes {
  /** The first lines. */
  readonly text: string
}

function guessDelimiter(
  sample: DialectSample,
  escapeCharacter: string | undefined,
  columnCount: number | null,
): string {
  if (columnCount !== null && isPlainlyCommas(sample, columnCount)) return ','
  const fits = delimiters.map((delimiter) => {
    const dialect = { delimiter, escapeCharacter: escapeCharacter ?? guessEscape(sample.text, delimiter) }
    return { delimiter, ...fitOf(tryDialect(sample.text, dialect)) }
  })
  if (columnCount === null) return bestOf(fits)
  const exact = fits.filter(({ fit, fieldCount }) => fit > 0 && fieldCount === columnCount)
  if (exact.length > 0) return bestOf(exact)
  const isComma = fits.some(({ delimiter, fieldCount }) => delimiter === ',' && fieldCount > 1)
  return isComma ? ',' : bestOf(fits.filter(({ fieldCount }) => fieldCount >= columnCount / 2))
}

/** The usual append, told without trying anything: commas cut the first records into as many fields as there are columns. */
function isPlainlyCommas(sample: SampleBytes, columnCount: number): boolean {
  if (columnCount === 1) return true
  const records = readSample(sample, { delimiter: ',', escapeCharacter: null }, plainRecordsMax)
  return records.length > 0 && records.every((record) => record.length === columnCount && record.every(isClean))
}

interface DelimiterFit {
  readonly delimiter: string
  readonly fit: number
}

/** The first of those that fit best; a comma when none does. */
function bestOf(fits: readonly DelimiterFit[]): string {
  const none: DelimiterFit = { delimiter: ',', fit: 0 }
  return fits.reduce((best, next) => (next.fit > best.fit + 1e-9 ? next : best), none).delimiter
}

/** What a cell holds that is cut at the right places: no other delimiter, but for the comma of a decimal number. */
const cleanCell = /^(?:[^,;\t|]*|\s*[+-]?\d+,\d+\s*)$/

function isClean({ text, isQuoted }: SampleCell): boolean {
  return isQuoted || cleanCell.test(text)
}

/**
 * How well a delimiter fits: 1 when all records have the same number of fields, two or more, and none of the fields that
 * are not quoted holds another delimiter; 0 when it cuts nothing.
 */
function fitOf(records: readonly SampleRecord[]): { readonly fit: number; readonly fieldCount: number } {
  const counts = new Map<number, number>()
  let cellCount = 0
  let cleanCount = 0
  for (const record of records) {
    counts.set(record.length, (counts.get(record.length) ?? 0) + 1)
    cellCount += record.length
    cleanCount += record.filter(isClean).length
  }
  const [fieldCount, recordCount] = mostFrequent(counts)
  if (fieldCount < 2) return { fit: 0, fieldCount }
  return { fit: (recordCount / records.length) * (0.5 + cleanCount / cellCount / 2), fieldCount }
}

function mostFrequent(counts: ReadonlyMap<number, number>): readonly [value: number, count: number] {
  let best: readonly [number, number] = [0, 0]
  for (const [value, count] of counts) if (count > best[1]) best = [value, count]
  return best
}

/**
 * A backslash is an escape where one stands before a quote inside a quoted field that goes on behind it; at the end of a
 * field it is the end of a path such as `"C:\"`.
 */
function guessEscape(text: string, delimiter: string): string | null {
  const mark = `\\u{${delimiter.codePointAt(0)?.toString(16)}}`
  const escaped = new RegExp(`(?:^|${mark}) *"(?:[^"\\\\\\n]|\\\\[^\\n]|"")*\\\\"[^"${mark}\\r\\n]`, 'mu')
  return escaped.test(text) ? '\\' : null
}

/** The first records as a dialect cuts them, however little sense it makes. */
function tryDialect(text: string, { delimiter, escapeCharacter }: GuessedDialect): readonly SampleRecord[] {
  const records: SampleRecord[] = []
  try {
    parse(text, {
      delimiter,
      escape: escapeCharacter ?? '"',
      record_delimiter: ['\r\n', '\n'],
      relax_column_count: true,
      relax_quotes: true,
      // Blanks around quotes are passed over; those around bare cells decide nothing here.
      trim: delimiter !== '\t',
      skip_empty_lines: true,
      to: dialectRecordsMax,
      // What `cast` gives is what the records hold; the types of csv-parse do not follow it.
      cast: (cell, { quoting }) => ({ text: cell, isQuoted: quoting }) as unknown as string,
      on_record: (record) => {
        // As above: an array of what `cast` gave.
        records.push(record as unknown as SampleRecord)
        return null
      },
    })
  } catch {
    // A quote that the end of the text leaves open: the records before it are whole.
  }
  return records
}

/** The whole records at the beginning of a sample, up to `recordsMax`, without empty lines. */
export function readSample(sample: SampleBytes, dialect: GuessedDialect, recordsMax: number): readonly SampleRecord[] {
  const { bytes, end } = endedSample(sample)
  const marks = csvDialect(dialect.delimiter, dialect.escapeCharacter)
  const records: SampleRecord[] = []
  const mark = markEnd(bytes)
  let offset = readSeparatorLine(bytes, mark)?.next ?? mark
  while (offset < end && records.length < recordsMax) {
    const { cells, next } = readCsvRecord(bytes, offset, end, marks)
    // A quote that the end of the sample leaves open.
    const isCut = !sample.isWhole && next >= end && cells.at(-1)?.isSound === false
    const isBlank = cells.length === 1 && cells[0]?.text === '' && !cells[0].isQuoted
    if (!isCut && !isBlank) records.push(cells)
    offset = next
  }
  return records
}

/** Where the text begins behind a byte order mark. */
function markEnd(bytes: Uint8Array): number {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0
}

/** The sample up to its last line feed, or with one behind it where it ends without. */
function endedSample({ bytes, isWhole }: SampleBytes): { readonly bytes: Uint8Array; readonly end: number } {
  const lineCount = bytes.lastIndexOf(lineFeed) + 1
  if (bytes.length === 0 || lineCount === bytes.length || (!isWhole && lineCount > 0)) return { bytes, end: lineCount }
  const ended = new Uint8Array(bytes.length + 1)
  ended.set(bytes)
  ended[bytes.length] = lineFeed
  return { bytes: ended, end: ended.length }
}
