/** Rows of which the sender says little: what they are is guessed from their beginning before they are imported. */
import type { DataSources } from '../datasources/datasources.types.ts'
import { type BodyGuess, guessCsvBody, guessFormat, guessRecordsBody } from '../guess/body-guess.ts'
import { guessParquet } from '../guess/parquet-guess.ts'
import type { BodyFormat, CsvRules, ImportFormat, Ingest, OpenedBody } from '../ingest/ingest.types.ts'
import { errors } from '../shared/errors/errors.ts'
import { type KnownRows, knowRows } from './import-format.ts'
import type { InputRows } from './request/import-input.ts'
import type { ImportOrder } from './request/import-order.ts'

type Guesses = Pick<Ingest, 'openBody' | 'openParquet'>

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
  rows: Pick<KnownRows, 'body' | 'contentEncoding'> & { readonly signal?: AbortSignal },
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

/** What was found out of a body that is not to be loaded. */
export interface Analysis {
  readonly guess: BodyGuess
  readonly dialect: { readonly newLine: string; readonly encoding: string }
  /** Bytes that were looked at. */
  readonly byteCount: number
}

/** Rows of a Parquet file that are looked at; its types stand in its metadata. */
const parquetRows = 1_000

/**
 * Looks at rows without loading them.
 *
 * @throws as `guessRows` and `Ingest.openParquet` do.
 */
export async function analyzeRows(
  known: KnownRows<ImportFormat | undefined> & { readonly signal: AbortSignal },
  rules: Omit<GuessRules, 'format'>,
  ingest: Guesses,
): Promise<Analysis> {
  const { format } = known
  if (format !== 'parquet') {
    const { guess, opened } = await guessRows(known, { ...rules, format }, ingest)
    opened.close()
    const { newLine, encoding, sample } = opened
    return { guess, dialect: { newLine, encoding }, byteCount: sample.bytes.length }
  }
  const file = await ingest.openParquet(known)
  try {
    const guess = guessParquet(file.columns, await file.preview(parquetRows), rules)
    return { guess, dialect: { newLine: '', encoding: 'utf-8' }, byteCount: file.byteCount }
  } finally {
    await file.close()
  }
}

interface DryContext {
  readonly ingest: Guesses
  readonly dataSources: Pick<DataSources, 'checkSchema'>
  readonly columnsMax: number
  readonly signal: AbortSignal
}

/**
 * The dry-run analysis of the specification: what would be created for the rows.
 *
 * @throws as `analyzeRows` does, BODY_MISSING, and SCHEMA_INVALID (400) where the creation would be refused.
 */
export async function analyzeDry(
  order: ImportOrder,
  rows: InputRows | null,
  { ingest, dataSources, columnsMax, signal }: DryContext,
): Promise<object> {
  if (rows === null) throw errors.BODY_MISSING()
  const known = await knowRows(rows, order)
  const { guess, dialect } = await analyzeRows({ ...known, signal }, { ...order, columnsMax }, ingest)
  dataSources.checkSchema(guess.schema)
  return {
    sql_schema: guess.schema,
    dialect: {
      new_line: dialect.newLine,
      has_header: guess.csv?.hasHeader === true ? 1 : 0,
      delimiter: guess.csv?.delimiter ?? '',
      escapechar: guess.csv?.escapeCharacter ?? null,
    },
    // One node holds all rows, so nothing has to be told apart by a column.
    data_distribution: { sampling: 'rand()', sharding_key: 'rand()' },
    encoding: dialect.encoding,
    schema: guess.columns.map(({ name, path, typeText }) => ({
      auto: true,
      nullable: typeText.startsWith('Nullable('),
      type: typeText.replace(/^Nullable\((.*)\)$/, '$1'),
      normalized_name: name,
      name: path,
    })),
  }
}
