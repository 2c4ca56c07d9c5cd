import type { ImportFormat } from '../../ingest/ingest.types.ts'
import { kibibyte } from '../../shared/bytes.ts'
import { formatOfName } from '../first-bytes.ts'
import type { ImportSource } from '../imports.types.ts'
import { SourceBody } from '../source-body.ts'
import type { RemoteFile } from '../url/remote-file.types.ts'

const packedName = /\.(?:gz|gzip|zst|zstd|zip)$/i

/** What is read of a file that is gone on with, before it is known whether what is stored of it can be passed over. */
export const resumedBytes = 768 * kibibyte

/**
 * The bytes of a remote file as rows on their way in.
 *
 * Of one that is gone on with, the beginning alone is requested: then either what follows it, or a place behind what is stored.
 */
export function sourceOf(file: RemoteFile, { isResumed = false } = {}): ImportSource {
  const { contentEncoding, fileName, mediaType, acceptsRanges } = file
  // What is packed is unpacked as one stream, which is slower than one connection.
  const isParallel = contentEncoding === undefined && !packedName.test(fileName)
  const isByPlace = isResumed && acceptsRanges && contentEncoding === undefined
  const begin = isByPlace ? { isParallel: false, firstBytes: resumedBytes } : { isParallel }
  const stream = file.read({ offset: 0, ...begin })
  // Places may end behind the file by a line feed, which its last record is taken to have.
  const placeOf = (offset: number): number => Math.min(offset, file.identity.byteCount ?? offset)
  const reopen = isByPlace ? (offset: number) => file.read({ offset: placeOf(offset), isParallel }) : null
  return {
    body: new SourceBody(stream, undefined, reopen),
    contentEncoding,
    format: formatOfName(fileName) ?? formatOfMediaType(mediaType),
    isFile: true,
    fieldFormat: null,
    async end() {},
  }
}

function formatOfMediaType(mediaType = ''): ImportFormat | null {
  if (/ndjson|jsonl|jsonlines/i.test(mediaType)) return 'ndjson'
  return /parquet/i.test(mediaType) ? 'parquet' : null
}
