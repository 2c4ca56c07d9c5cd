/** Unpacks a body of any length while it streams, within a limit. */
import type { Transform } from 'node:stream'
import { pipeline } from 'node:stream'
import zlib from 'node:zlib'
import { ApiError, errors } from '../../shared/errors/errors.ts'
import { unzstd } from '../../shared/zstd/zstd-unpacker.ts'
import { MemoryBudget } from '../memory-budget.ts'
import { zipMember } from './zip-entry.ts'

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
  body: AsyncIterable<Uint8Array>,
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
function joined(body: AsyncIterable<Uint8Array>, transform: Transform): Transform {
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

/** What the windows of zstd bodies take beyond what each has without asking, all together. */
const largeWindows = new MemoryBudget(512 * 1024 * 1024)
/** The windows of usual levels, up to `zstd -19`, are far smaller; that of `--ultra -22` is four times as large. */
const windowBytesFree = 32 * 1024 * 1024
const retryAfterSeconds = 5

/** Not by the stream that later versions of Node have: that one takes a body that breaks off for a whole one. */
async function* streamUnzstd(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let windowBytes = 0
  let heldBytes = 0
  const takeMemory = (byteCount: number): void => {
    windowBytes += byteCount
    const missingBytes = windowBytes - windowBytesFree - heldBytes
    if (missingBytes <= 0) return
    if (!largeWindows.tryTake(missingBytes)) throw errors.BODIES_TOO_MANY({ retryAfterSeconds })
    heldBytes += missingBytes
  }
  try {
    yield* unzstd(body, takeMemory)
  } finally {
    largeWindows.give(heldBytes)
  }
}
