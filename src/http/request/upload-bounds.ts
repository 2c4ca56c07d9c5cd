// How large the rows of an import may be, by the way in which they are sent. By URL they have limits of their own.

import type { IncomingHttpHeaders } from 'node:http'
import type { ImportSource } from '../../imports/imports.types.ts'
import { errors } from '../../shared/errors/errors.ts'
import type { LimitName } from '../../shared/limit-names.ts'
import { announcedBytes } from './request-body.ts'

/** 0 sets no limit. */
export interface UploadLimits {
  /** Rows that are the body of the request. */
  readonly bodyUploadBytesMax: number
  /** A CSV or NDJSON file of a multipart form. */
  readonly multipartBytesMax: number
  /** A Parquet file of a multipart form. */
  readonly multipartParquetBytesMax: number
}

/**
 * Bounds rows before they are read.
 *
 * @throws PAYLOAD_TOO_LARGE (413) where the head of the request says that they are too many; else their reader hears it.
 */
export async function boundUpload(
  source: ImportSource | null,
  headers: IncomingHttpHeaders,
  limits: UploadLimits,
): Promise<void> {
  if (source === null) return
  const { limit, bytesMax } = source.isFile ? await fileLimit(source, limits) : bodyLimit(limits)
  if (bytesMax === 0) return
  const tooLarge = (): Error => errors.PAYLOAD_TOO_LARGE({ bytesMax, limit })
  if (!source.isFile && (announcedBytes(headers) ?? 0) > bytesMax) throw tooLarge()
  source.body.boundBytes({ bytesMax, tooLarge })
}

interface UploadLimit {
  readonly limit: LimitName
  readonly bytesMax: number
}

function bodyLimit({ bodyUploadBytesMax: bytesMax }: UploadLimits): UploadLimit {
  return { limit: 'body_upload_size', bytesMax }
}

/** How each Parquet file begins. */
const parquetMagic = 'PAR1'

async function fileLimit(
  { body }: ImportSource,
  { multipartBytesMax, multipartParquetBytesMax }: UploadLimits,
): Promise<UploadLimit> {
  if (multipartBytesMax === 0 && multipartParquetBytesMax === 0) return { limit: 'multipart_size', bytesMax: 0 }
  const { bytes } = await body.beginning(parquetMagic.length)
  return bytes.toString('latin1', 0, parquetMagic.length) === parquetMagic
    ? { limit: 'multipart_parquet_size', bytesMax: multipartParquetBytesMax }
    : { limit: 'multipart_size', bytesMax: multipartBytesMax }
}
