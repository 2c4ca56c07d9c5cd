/** Rows of which the sender says little: what they are is guessed from their beginning before they are imported. */
import { type BodyGuess, guessCsvBody, guessFormat, guessRecordsBody } from '../guess/body-guess.ts'
import { guessParquet } from '../guess/parquet-guess.ts'
import type { BodyFormat, CsvRules, ImportFormat, Ingest, OpenedBody } from '../ingest/ingest.types.ts'
import { errors } from '../shared/errors/errors.ts'
import type { Analysis } from './imports.types.ts'
import type { RecognisedRows } from './recognise-rows.ts'

export interface GuessRules {
  /** Undefined is guessed. */
  readonly format: BodyFormat | undefined
  readonly csv: CsvRules
  readonly hasTypes: boolean
  readonly columnsMax: number
}

export interface GuessedRows {
  readonly guess: BodyGuess
  /** The rows from their first byte. */
  readonly opened: OpenedBody
  readonly format: BodyFormat
  /** How they are written, as it was sent and as it was guessed. */
  readonly csv: CsvRules
}

/**
 * Looks at the beginning of the rows.
 *
 * @throws SAMPLE_EMPTY, BODY_CORRUPT (400), and what the body fails with before it has said enough.
 */
export async function guessRows(
  rows: Pick<RecognisedRows, 'body' | 'contentEncoding'> & { readonly signal?: AbortSignal },
  { format: givenFormat, ...rules }: GuessRules,
  ingest: Pick<Ingest, 'openBody'>,
): Promise<GuessedRows> {
  const { body, contentEncoding, signal } = rows
  const { csv } = rules
  const source = {
    body,
    contentEncoding,
    signal,
    format: givenFormat,
    isSampled: true,
    newLine: csv.newLine,
    spread: csv,
  }
  const opened = await ingest.openBody(source)
  try {
    return guessOpened(opened, { format: givenFormat, ...rules })
  } catch (error) {
    opened.close()
    throw error
  }
}

function guessOpened(opened: OpenedBody, { format: givenFormat, csv, ...more }: GuessRules): GuessedRows {
  if (opened.failure !== null) throw opened.failure
  const { sample, newLine } = opened
  const format = givenFormat ?? guessFormat(sample)
  if (sample.bytes.includes(0)) {
    const reason = 'it holds zero bytes; UTF-16 needs a byte order mark, and packed bodies a Content-Encoding'
    throw errors.BODY_CORRUPT({ format: format === 'csv' ? 'CSV' : 'NDJSON', reason })
  }
  const rules = { ...csv, ...more }
  const guess = format === 'csv' ? guessCsvBody(sample, rules) : guessRecordsBody(sample, rules)
  if (guess === null) throw errors.SAMPLE_EMPTY({ format })
  return { guess, opened, format, csv: guess.csv === null ? csv : rulesOf(guess.csv, newLine) }
}

function rulesOf(
  { delimiter, escapeCharacter, hasHeader }: NonNullable<BodyGuess['csv']>,
  newLine: OpenedBody['newLine'],
) {
  return {
    delimiter,
    // The quote as its own escape is what doubling is called.
    escapeCharacter: escapeCharacter ?? '"',
    newLine,
    header: hasHeader ? ('present' as const) : ('absent' as const),
  }
}

/** Rows of a Parquet file that are looked at; its types stand in its metadata. */
const parquetRows = 1_000

/**
 * Looks at rows without loading them.
 *
 * @throws as `guessRows` and `Ingest.openParquet` do.
 */
export async function analyzeRows(
  rows: RecognisedRows<ImportFormat | undefined> & { readonly signal: AbortSignal },
  rules: Omit<GuessRules, 'format'>,
  ingest: Pick<Ingest, 'openBody' | 'openParquet'>,
): Promise<Analysis> {
  const { format } = rows
  if (format !== 'parquet') {
    const { guess, opened } = await guessRows(rows, { ...rules, format }, ingest)
    opened.close()
    const { newLine, encoding, sample } = opened
    return { guess, dialect: { newLine, encoding }, byteCount: sample.bytes.length }
  }
  const file = await ingest.openParquet(rows)
  try {
    const guess = guessParquet(file.columns, await file.preview(parquetRows), rules)
    return { guess, dialect: { newLine: '', encoding: 'utf-8' }, byteCount: file.byteCount }
  } finally {
    await file.close()
  }
}
