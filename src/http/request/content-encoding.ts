import { promisify } from 'node:util'
import { gunzip, gunzipSync } from 'node:zlib'
import { decompress as decompressZstd } from '@mongodb-js/zstd'
import { errors } from '../../shared/errors/errors.ts'
import { scanZstd } from '../../shared/zstd/zstd-frames.ts'
import { unzstd } from '../../shared/zstd/zstd-unpacker.ts'

export type ContentEncoding = 'identity' | 'gzip' | 'zstd'

const supported: readonly ContentEncoding[] = ['gzip', 'zstd', 'identity']

/**
 * Reads the header Content-Encoding; none at all is `identity`.
 *
 * @throws ENCODING_UNSUPPORTED (415) for others, and for more than one after the other.
 */
export function parseContentEncoding(header: string | undefined): ContentEncoding {
  const encoding = (header ?? '').trim().toLowerCase()
  if (encoding === '') return 'identity'
  // RFC 9110 §8.4.1.3: `x-gzip` is the same as `gzip`.
  const known = encoding === 'x-gzip' ? 'gzip' : supported.find((name) => name === encoding)
  if (known === undefined) throw errors.ENCODING_UNSUPPORTED({ encoding, supported })
  return known
}

/**
 * Unpacks a whole body. The result may be a view over `body`.
 *
 * @throws BODY_CORRUPT (400), or DECOMPRESSED_TOO_LARGE (413) when it unpacks to more than `bytesMax` bytes; no more than
 *   about twice that is ever held.
 */
export async function unpackBody(body: Uint8Array, encoding: ContentEncoding, bytesMax: number): Promise<Uint8Array> {
  // An empty body is packed as nothing: clients set the header without looking.
  if (body.length === 0) return body
  switch (encoding) {
    case 'identity':
      return body
    case 'gzip':
      return await unpackGzip(body, bytesMax)
    case 'zstd':
      return await unpackZstd(body, bytesMax)
  }
}

// A round through the thread pool costs 93 µs of processor time, to unpack so little at once 10 to 50. Zstd has
// no such way on Node 20: the native one has no synchronous call, and ours costs four times its round.
const packedAtOnceMax = 16 * 1024
const unpackedAtOnceMax = 64 * 1024
const gzipTrailerBytes = 18

/**
 * Unpacks a body that is small, and stays small, at once; null where `unpackBody` is to do it.
 *
 * What a body says of its size is believed only as far as the limit goes: beyond it the attempt ends.
 * @throws BODY_CORRUPT (400).
 */
export function unpackAtOnce(body: Uint8Array, encoding: ContentEncoding, bytesMax: number): Uint8Array | null {
  if (encoding !== 'gzip' || body.length > packedAtOnceMax || body.length < gzipTrailerBytes) return null
  // RFC 1952 §2.3.1: the last four bytes of a member are its unpacked size.
  const toldBytes = asBuffer(body).readUInt32LE(body.length - 4)
  const maxOutputLength = Math.min(unpackedAtOnceMax, bytesMax)
  if (toldBytes > maxOutputLength) return null
  try {
    // One byte more, or the end would be looked for with a second buffer.
    return gunzipSync(body, { maxOutputLength, chunkSize: Math.max(1024, toldBytes + 1) })
  } catch (cause) {
    if (isCode(cause, 'ERR_BUFFER_TOO_LARGE')) return null
    throw corruptGzip(cause)
  }
}

const gunzipBody = promisify(gunzip)
// Node's default of 16 KiB makes four times as many rounds through the thread pool.
const gunzipChunkBytes = 256 * 1024

async function unpackGzip(body: Uint8Array, bytesMax: number): Promise<Uint8Array> {
  try {
    return await gunzipBody(body, { maxOutputLength: bytesMax, chunkSize: Math.min(gunzipChunkBytes, bytesMax + 64) })
  } catch (cause) {
    if (isCode(cause, 'ERR_BUFFER_TOO_LARGE')) throw errors.DECOMPRESSED_TOO_LARGE({ bytesMax, cause })
    throw corruptGzip(cause)
  }
}

function corruptGzip(cause: unknown): Error {
  return errors.BODY_CORRUPT({ format: 'gzip', reason: reasonOf(cause), cause })
}

async function unpackZstd(body: Uint8Array, bytesMax: number): Promise<Uint8Array> {
  const scan = scanZstd(body)
  if (!scan.isValid) throw errors.BODY_CORRUPT({ format: 'zstd', reason: scan.reason })
  if (scan.declaredBytes > bytesMax) throw errors.DECOMPRESSED_TOO_LARGE({ bytesMax })
  // The native decompressor takes the body when the most it could make of it is harmless; it is four times as fast.
  const isHarmless = scan.bytesMax <= 2 * bytesMax + 1024 * 1024
  try {
    const unpacked = isHarmless ? await decompressZstd(asBuffer(body)) : await streamZstd(body, bytesMax)
    if (unpacked.length <= bytesMax) return unpacked
  } catch (cause) {
    throw errors.BODY_CORRUPT({ format: 'zstd', reason: reasonOf(cause), cause })
  }
  throw errors.DECOMPRESSED_TOO_LARGE({ bytesMax })
}

/** Unpacks bodies of very many blocks; stops soon after more than `bytesMax` bytes came out, and returns those. */
async function streamZstd(body: Uint8Array, bytesMax: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let byteCount = 0
  for await (const chunk of unzstd([body])) {
    chunks.push(chunk)
    byteCount += chunk.length
    if (byteCount > bytesMax) break
  }
  return Buffer.concat(chunks, byteCount)
}

export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function isCode(thrown: unknown, code: string): boolean {
  return thrown instanceof Error && 'code' in thrown && thrown.code === code
}

function reasonOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}
