// What a body is refused for before its rows are read: its size, its packing, its pace. Sorted by status.

import { formatBytes } from '../bytes.ts'
import type { LimitName } from '../limit-names.ts'
import { define } from './definition.ts'

export const bodyErrors = {
  BODY_MISSING: define({
    status: 400,
    when: 'The request needs a body, a form field or a schema, and has none.',
    message: () => 'The request has no body: send rows, or a "schema" to create an empty Data Source',
  }),
  BODY_CORRUPT: define({
    status: 400,
    when: 'The body cannot be decompressed as its Content-Encoding says, or its multipart form is broken.',
    message: ({ format, reason }: { readonly format: string; readonly reason: string }) =>
      `The body is not valid ${format}: ${reason}`,
  }),
  ARCHIVE_UNSUPPORTED: define({
    status: 400,
    when: 'A zip archive does not hold exactly one file, or one that cannot be read, or more than 16 MiB beside it.',
    message: ({ reason }: { readonly reason: string }) => `The zip archive cannot be imported: ${reason}`,
  }),
  BODY_CUT: define({
    status: 400,
    when: 'The connection ended before the body did.',
    message: () => 'The connection ended before the body did',
  }),
  FIELDS_TOO_MANY: define({
    status: 400,
    when: 'A form has more than 10000 fields, or a JSON body more than 10000 keys at all depths together.',
    message: ({ fieldsMax }: { readonly fieldsMax: number }) =>
      `The body has more than ${fieldsMax} fields; send long lists as one comma-separated value or as one JSON array`,
  }),
  CHUNKS_TOO_SMALL: define({
    status: 400,
    when: 'The body comes in too many chunks of less than 32 bytes on average: more than 4096, and for an import one more for each millisecond; or more than 256, and one more for each 20 milliseconds, while all bodies together bring more than 5000 such chunks a second.',
    message: ({ chunkBytesMin }: { readonly chunkBytesMin: number }) =>
      `The body arrives in thousands of chunks of less than ${chunkBytesMin} bytes; send larger chunks`,
  }),
  NESTING_TOO_DEEP: define({
    status: 400,
    when: 'JSON is nested deeper than 500 levels.',
    message: ({ depthMax }: { readonly depthMax: number }) =>
      `The JSON is nested deeper than ${depthMax} levels; send flatter objects`,
  }),
  BODY_STALLED: define({
    status: 408,
    when: 'No byte of the body arrived for `connectionIdleMsMax`.',
    message: ({ idleMsMax }: { readonly idleMsMax: number }) =>
      `No byte of the body arrived for ${idleMsMax / 1000} seconds`,
  }),
  BODY_TOO_SLOW: define({
    status: 408,
    when: 'The body arrives with fewer bytes a second than `bodyRateMin`, measured over `bodyRateWindowMs` in which the service waits for it. The connection closes.',
    message: ({ bodyRateMin, bodyRateWindowMs }: RateLimit) =>
      `Fewer than ${bodyRateMin} bytes a second of the body arrived for ${bodyRateWindowMs / 1000} seconds`,
  }),
  PAYLOAD_TOO_LARGE: define({
    status: 413,
    when: 'The body is larger than `eventsBodyBytesMax` (events), `formBytesMax` (forms and SQL), or, for rows that are imported, `bodyUploadBytesMax`, `multipartBytesMax` or `multipartParquetBytesMax`.',
    limit: ({ limit = 'form_size' }: UploadLimit) => limit,
    message: ({ bytesMax, limit }) =>
      `The body is larger than ${formatBytes(bytesMax)}${limit === undefined ? '' : ` (limit "${limit}")`}`,
    hint: ({ limit }) =>
      limit === undefined
        ? undefined
        : 'Send less at a time, or have the service fetch the file with the parameter "url"',
  }),
  RECORD_TOO_LARGE: define({
    status: 413,
    when: 'One record is longer than `recordBytesMax`.',
    limit: () => 'record_size',
    message: ({ bytesMax }: BytesLimit) => `A record is longer than ${formatBytes(bytesMax)}`,
  }),
  DECOMPRESSED_TOO_LARGE: define({
    status: 413,
    when: 'The body unpacks to more than `eventsBodyBytesMax` (events) or `decompressedBytesMax` (imports).',
    limit: () => 'uncompressed_file_size',
    message: ({ bytesMax }: BytesLimit) => `The body is larger than ${formatBytes(bytesMax)} when unpacked`,
  }),
  PARQUET_TOO_LARGE: define({
    status: 413,
    when: 'A Parquet file is larger than `parquetBytesMax`.',
    limit: () => 'parquet_file_size',
    message: ({ bytesMax }: BytesLimit) => `The Parquet file is larger than ${formatBytes(bytesMax)}`,
  }),
  ENCODING_UNSUPPORTED: define({
    status: 415,
    when: 'The Content-Encoding of the body is not supported.',
    message: ({ encoding, supported }: { readonly encoding: string; readonly supported: readonly string[] }) =>
      `Content-Encoding "${encoding}" is not supported; use one of ${supported.join(', ')}`,
  }),
}

interface RateLimit {
  readonly bodyRateMin: number
  readonly bodyRateWindowMs: number
}

interface UploadLimit extends BytesLimit {
  /** Which one it is, where it is not that of forms. */
  readonly limit?: LimitName
}

interface BytesLimit {
  readonly bytesMax: number
}
