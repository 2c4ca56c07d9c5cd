/** Which format rows have, and how they are packed. */
import type { ImportFormat } from '../ingest/ingest.types.ts'
import { errors } from '../shared/errors/errors.ts'
import { recogniseRows } from './import-packing.ts'
import type { InputRows } from './request/import-input.ts'
import { formatOfSchema, type ImportOrder, readFormat } from './request/import-order.ts'

/** Rows as they came, with their packing known. */
export interface KnownRows<Format extends ImportFormat | undefined = ImportFormat> {
  readonly body: InputRows['body']
  readonly contentEncoding: string | undefined
  readonly format: Format
}

/** What a parameter says of the format goes before the file's name, and that before its bytes; undefined says nothing. */
export async function recogniseFormat(
  rows: InputRows,
  order: Pick<ImportOrder, 'csv' | 'format'>,
): Promise<KnownRows<ImportFormat | undefined>> {
  const { body, contentEncoding, format: byBytes, json, foreign } = await recogniseRows(rows)
  // One who says that a text is CSV may have such texts in its cells.
  const isSaid = order.format !== null || order.csv.delimiter !== undefined
  if (foreign !== null && !(foreign.isText && isSaid)) throw errors.FILE_UNSUPPORTED(foreign)
  if (order.format !== null) return { body, contentEncoding, format: order.format }
  // One who names a delimiter has CSV, and a body of text is CSV by the format's default.
  const isCsv = order.csv.delimiter !== undefined || order.csv.escapeCharacter !== undefined
  const isTable = json === null || json === 'array' || json === 'lines'
  if (!isTable && (rows.format ?? 'ndjson') === 'ndjson' && !isCsv) throw errors.JSON_DOCUMENT({ form: json })
  const isTold = byBytes === 'parquet' || contentEncoding !== undefined || (rows.isFile && !isCsv)
  const byRecord = json === null || isCsv ? null : 'ndjson'
  const text = rows.format ?? (isTold ? byBytes : null) ?? byRecord
  return { body, contentEncoding, format: text === null ? undefined : readFormat(text) }
}

/** Rows with a format: where nothing else tells it, by the name of the form's field, then by the schema, else CSV. */
export async function knowRows(
  rows: InputRows,
  order: Pick<ImportOrder, 'csv' | 'format' | 'schema'>,
): Promise<KnownRows> {
  const { format, ...recognised } = await recogniseFormat(rows, order)
  const byField = rows.fieldFormat === null ? undefined : readFormat(rows.fieldFormat)
  return { ...recognised, format: format ?? byField ?? formatOfSchema(order.schema) }
}
