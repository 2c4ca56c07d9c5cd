/** What the beginning of a body tells of all of it, in one shape for CSV and NDJSON. */
import { type CsvColumn, type CsvGuess, type CsvGuessRules, columnTypeText, csvSchema, guessCsv } from './csv-guess.ts'
import type { GuessedDialect } from './csv-sample.ts'
import { saysNothing } from './csv-types.ts'
import { jsonBeginning } from './json-beginning.ts'
import { LargeInteger } from './large-integer.ts'
import {
  type ColumnLimits,
  inferColumns,
  type RecordColumn,
  recordSchema,
  type SampleObject,
} from './record-columns.ts'
import { sampleRecords } from './record-sample.ts'
import type { SampleBytes } from './sample.types.ts'

export interface BodyGuess {
  /** Works as the parameter `schema`. */
  readonly schema: string
  readonly columns: readonly GuessedColumn[]
  /** Null for NDJSON. */
  readonly csv: GuessedCsv | null
  readonly preview: readonly PreviewRow[]
  /** Rows that were looked at. */
  readonly rowCount: number
}

export interface GuessedColumn {
  readonly name: string
  /** The name in the header, or the JSONPath. */
  readonly path: string
  /** With Nullable where it is. */
  readonly typeText: string
  /** As a share of 1. */
  readonly presentShare: number
}

export interface GuessedCsv extends GuessedDialect {
  readonly hasHeader: boolean
}

/** A row as JSON: its values by the names of the columns. */
export type PreviewRow = Readonly<Record<string, unknown>>

const previewRowsMax = 10

/** Guesses what a CSV body is; null when the sample has no record. @throws COLUMNS_TOO_MANY (400) */
export function guessCsvBody(sample: SampleBytes, rules: CsvGuessRules): BodyGuess | null {
  const guess = guessCsv(sample, rules)
  if (guess === null || guess.columns.length === 0) return null
  return {
    schema: csvSchema(guess.columns),
    columns: guess.columns.map((column) => ({
      name: column.name,
      path: column.originalName,
      typeText: columnTypeText(column),
      presentShare: column.presentShare,
    })),
    csv: { ...guess.dialect, hasHeader: guess.hasHeader },
    preview: csvPreview(guess),
    rowCount: guess.rows.length,
  }
}

/**
 * Guesses the columns of an NDJSON body; null when the sample has no object with keys.
 *
 * @throws COLUMNS_TOO_MANY, KEYS_TOO_MANY, NESTING_TOO_DEEP (400).
 */
export function guessRecordsBody(sample: SampleBytes, limits: ColumnLimits): BodyGuess | null {
  const records = sampleRecords(sample.bytes)
  const columns = inferColumns(records, limits)
  if (columns.length === 0) return null
  return {
    schema: recordSchema(columns),
    columns: columns.map(({ name, jsonPathText, typeText, presentShare }) => {
      return { name, path: jsonPathText, typeText, presentShare }
    }),
    csv: null,
    preview: records.slice(0, previewRowsMax).map((record) => recordPreview(record, columns)),
    rowCount: records.length,
  }
}

/** Tells NDJSON from CSV by what a body begins with, where nobody said it. */
export function guessFormat({ bytes, isWhole }: SampleBytes): 'csv' | 'ndjson' {
  return jsonBeginning(bytes, isWhole) === null ? 'csv' : 'ndjson'
}

function csvPreview({ rows, columns }: CsvGuess): readonly PreviewRow[] {
  return rows.slice(0, previewRowsMax).map((row) => {
    const entries = columns.map((column, field) => {
      const cell = row[field]
      const isNull = cell === undefined || saysNothing(cell) || (cell.text === '' && column.type !== 'String')
      return [column.name, isNull ? (column.isNullable ? null : '') : cellValue(cell.text, column)]
    })
    return Object.fromEntries(entries)
  })
}

function cellValue(text: string, { type }: CsvColumn): unknown {
  if (type === 'Bool') return text.trim().toLowerCase() === 'true'
  if (!/^(?:U?Int|Float)/.test(type)) return text
  const value = Number(text)
  // JSON has no other numbers, and a preview shows none that is not in the file.
  if (!Number.isFinite(value)) return null
  return type === 'Float64' || Number.isSafeInteger(value) ? value : text
}

function recordPreview(record: SampleObject, columns: readonly RecordColumn[]): PreviewRow {
  return Object.fromEntries(
    columns.map(({ name, keys, typeText }) => {
      let value: unknown = record
      for (const key of keys) value = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
      if (value === undefined || value === null) return [name, null]
      if (value instanceof LargeInteger) return [name, typeText.includes('String') ? value.text : value.toJSON()]
      const isText = /\bString\b/.test(typeText) && !typeText.startsWith('Array')
      return [name, isText && typeof value !== 'string' ? JSON.stringify(value) : value]
    }),
  )
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
