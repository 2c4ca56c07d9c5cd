/** Unpacks a body of any length while it streams, within a limit. */
import type { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream'
import zlib from 'node:zlib'
import { Decompress } from 'fzstd'
import { ApiError, errors } from '../shared/errors.ts'
import { zipMember } from './zip-member.ts'

const supported = ['gzip', 'zstd', 'identity'] as const
/** Node's default of 16 KiB makes four times as many rounds through the thread pool. */
const chunkBytes = 256 * 1024

/**
 * The body's bytes as they were before `contentEncoding` packed them.
 *
 * @throws ENCODING_UNSUPPORTED (415) at once; while reading, BODY_CORRUPT, ARCHIVE_UNSUPPORTED (400) and
 *   DECOMPRESSED_TOO_LARGE (413) after the bytes before the fault.
 */
export function unpackedBody(
  body: Readable,
  contentEncoding: string | undefined,
  bytesMax: number,
): AsyncIterable<Uint8Array> {
  const encoding = (contentEncoding ?? '').trim().toLowerCase()
  if (encoding === '' || encoding === 'identity') return body
  if (encoding === 'gzip' || encoding === 'x-gzip') {
    return limited(joined(body, zlib.createGunzip({ chunkSize: chunkBytes })), { format: 'gzip', bytesMax })
  }
  // No header says so; the first bytes of a file do.
  if (encoding === 'zip') return zipMember(body, bytesMax)
  if (encoding === 'zstd') return limited(streamUnzstd(body), { format: 'zstd', bytesMax })
  throw errors.ENCODING_UNSUPPORTED({ encoding, supported })
}

/** Errors of either stream end up at whoever reads the last one. */
function joined(body: Readable, transform: Transform): Transform {
  return pipeline(body, transform, () => {
    // The reader of `transform` sees the error; there is nobody else to tell.
  })
}

async function* limited(
  source: AsyncIterable<Uint8Array>,
  { format, bytesMax }: { readonly format: string; readonly bytesMax: number },
): AsyncIterable<Uint8Array> {
  let byteCount = 0
  try {
    for await (const chunk of source) {
      byteCount += chunk.length
      if (byteCount > bytesMax) throw errors.DECOMPRESSED_TOO_LARGE({ bytesMax })
      yield chunk
    }
  } catch (cause) {
    // What is wrong with the connection or the limit keeps its own name; the rest is the decompressor speaking.
    if (cause instanceof ApiError) throw cause
    throw errors.BODY_CORRUPT({ format, reason: cause instanceof Error ? cause.message : String(cause), cause })
  }
}

/**
 * A block of four bytes can unpack to 128 KiB, so of a bomb one push gives 4 MiB at most. Pushes as small as this are no
 * slower than large ones, whose blocks the decompressor copies together.
 */
const pushBytes = 128

/** Not by the stream that later versions of Node have: that one takes a body that breaks off for a whole one. */
async function* streamUnzstd(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  const unpacked: Uint8Array[] = []
  const unpacker = new Decompress((chunk) => {
    // The decompressor writes into its window again: what is read later must be a copy.
    if (chunk.length > 0) unpacked.push(chunk.slice())
  })
  let isEmpty = true
  for await (const packed of body) {
    for (let offset = 0; offset < packed.length; offset += pushBytes) {
      isEmpty = false
      unpacker.push(packed.subarray(offset, offset + pushBytes))
      if (unpacked.length > 0) yield* unpacked.splice(0)
    }
  }
  // An empty body is packed as nothing: clients set the header without looking.
  if (isEmpty) return
  unpacker.push(new Uint8Array(0), true)
  yield* unpacked.splice(0)
}
