import type { ImportFormat } from '../../ingest/ingest.types.ts'
import { formatOfName } from '../first-bytes.ts'
import type { ImportSource } from '../imports.types.ts'
import { SourceBody } from '../source-body.ts'
import type { RemoteFile } from '../url/remote-file.types.ts'

const packedName = /\.(?:gz|gzip|zst|zstd|zip)$/i

/** The bytes of a remote file as rows on their way in. */
export function sourceOf(file: RemoteFile): ImportSource {
  const { contentEncoding, fileName, mediaType } = file
  // What is packed is unpacked as one stream, which is slower than one connection.
  const isParallel = contentEncoding === undefined && !packedName.test(fileName)
  const stream = file.read({ offset: 0, isParallel })
  return {
    body: new SourceBody(stream),
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
