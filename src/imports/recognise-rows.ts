/** Which format rows have, and how they are packed. */
import type { ImportFormat } from '../ingest/ingest.types.ts'
import { errors } from '../shared/errors/errors.ts'
import { lookAtFirstBytes } from './first-bytes.ts'
import type { ImportOrder, ImportSource } from './imports.types.ts'
import type { SourceBody } from './source-body.ts'

/** Rows of which is known what they are; none of them is read. */
export interface RecognisedRows<Format extends ImportFormat | undefined = ImportFormat> {
  readonly body: SourceBody
  /** `gzip`, `zstd`, `zip`, or undefined for plain bytes. */
  readonly contentEncoding: string | undefined
  readonly format: Format
}

/**
 * Rows with a format: where neither the order nor their bytes tell it, by the name of the form's field, then by the schema,
 * else CSV.
 *
 * @throws FILE_UNSUPPORTED, JSON_DOCUMENT (400) for what is no table.
 */
export async function recogniseRows(
  source: ImportSource,
  order: Pick<ImportOrder, 'csv' | 'format' | 'schema'>,
): Promise<RecognisedRows> {
  const { format, ...rows } = await recogniseFormat(source, order)
  return { ...rows, format: format ?? source.fieldFormat ?? formatOfSchema(order.schema) }
}

/**
 * What the order says of the format goes before the file's name, and that before its bytes; undefined says nothing.
 *
 * @throws as `recogniseRows` does.
 */
export async function recogniseFormat(
  source: ImportSource,
  order: Pick<ImportOrder, 'csv' | 'format'>,
): Promise<RecognisedRows<ImportFormat | undefined>> {
  const { body } = source
  const { contentEncoding, format: byBytes, json, foreign } = await lookAtFirstBytes(body, source.contentEncoding)
  // One who says that a text is CSV may have such texts in its cells.
  const isSaid = order.format !== null || order.csv.delimiter !== undefined
  if (foreign !== null && !(foreign.isText && isSaid)) throw errors.FILE_UNSUPPORTED(foreign)
  if (order.format !== null) return { body, contentEncoding, format: order.format }
  // One who names a delimiter has CSV, and a body of text is CSV by the format's default.
  const isCsv = order.csv.delimiter !== undefined || order.csv.escapeCharacter !== undefined
  const isTable = json === null || json === 'array' || json === 'lines'
  if (!isTable && (source.format ?? 'ndjson') === 'ndjson' && !isCsv) throw errors.JSON_DOCUMENT({ form: json })
  const isTold = byBytes === 'parquet' || contentEncoding !== undefined || (source.isFile && !isCsv)
  const byRecord = json === null || isCsv ? undefined : 'ndjson'
  return { body, contentEncoding, format: source.format ?? (isTold ? byBytes : null) ?? byRecord }
}

/** A schema with JSONPaths is for NDJSON; without any hint at all the format is CSV. */
export function formatOfSchema(schema: string | undefined): ImportFormat {
  return schema !== undefined && /`json:\$/.test(schema) ? 'ndjson' : 'csv'
}
