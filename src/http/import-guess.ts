/** Rows of which the sender says little: what they are is guessed from their beginning before they are imported. */
import { type BodyGuess, guessCsvBody, guessFormat, guessRecordsBody } from '../guess/body-guess.ts'
import type { BodyFormat, CsvRules, Ingest, OpenedBody } from '../ingest/ingest.types.ts'
import { errors } from '../shared/errors.ts'
import type { InputRows } from './import-input.ts'
import type { ImportOrder } from './import-order.ts'

export interface GuessRules {
  /** Undefined is guessed. */
  readonly format: BodyFormat | undefined
  readonly csv: CsvRules
  readonly hasTypes: boolean
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
  rows: InputRows,
  { format: givenFormat, csv, hasTypes }: GuessRules,
  ingest: Pick<Ingest, 'openBody'>,
): Promise<GuessedRows> {
  const { body, contentEncoding } = rows
  const source = { body, contentEncoding, format: givenFormat, isSampled: true, newLine: csv.newLine }
  const opened = await ingest.openBody(source)
  if (opened.failure !== null) throw opened.failure
  const { sample, newLine } = opened
  const format = givenFormat ?? guessFormat(sample)
  if (sample.bytes.includes(0)) {
    const reason = 'it holds zero bytes; UTF-16 needs a byte order mark, and packed bodies a Content-Encoding'
    throw errors.BODY_CORRUPT({ format: format === 'csv' ? 'CSV' : 'NDJSON', reason })
  }
  const rules = { ...csv, hasTypes }
  const guess = format === 'csv' ? guessCsvBody(sample, rules) : guessRecordsBody(sample)
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

/**
 * The dry-run analysis of the specification: what would be created for the rows.
 *
 * @throws as `guessRows` does, and BODY_MISSING (400).
 */
export async function analyzeDry(
  { format, csv, hasTypes }: ImportOrder,
  rows: InputRows | null,
  ingest: Pick<Ingest, 'openBody'>,
): Promise<object> {
  if (rows === null) throw errors.BODY_MISSING()
  const { guess, opened } = await guessRows(rows, { format, csv, hasTypes }, ingest)
  return {
    sql_schema: guess.schema,
    dialect: {
      new_line: opened.newLine,
      has_header: guess.csv?.hasHeader === true ? 1 : 0,
      delimiter: guess.csv?.delimiter ?? '',
      escapechar: guess.csv?.escapeCharacter ?? null,
    },
    // One node holds all rows, so nothing has to be told apart by a column.
    data_distribution: { sampling: 'rand()', sharding_key: 'rand()' },
    encoding: opened.encoding,
    schema: guess.columns.map(({ name, path, typeText }) => ({
      auto: true,
      nullable: typeText.startsWith('Nullable('),
      type: typeText.replace(/^Nullable\((.*)\)$/, '$1'),
      normalized_name: name,
      name: path,
    })),
  }
}
