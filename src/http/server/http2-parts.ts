import type { ServerHttp2Stream } from 'node:http2'
import { kibibyte } from '../../shared/bytes.ts'

/** A frame of HTTP/2 has no more, unless the client asks for it. */
export const partBytes = 16 * kibibyte

/** What Node names as the encoding of bytes, which its types leave out. */
const ofBytes = 'buffer' as BufferEncoding

type Written = (error?: Error | null) => void

/**
 * Has a stream hand over its answer in parts of `partBytes`, and tells when one is out.
 *
 * Node tells of a chunk when all of it is out, which may be hundreds of kilobytes: with a slow client nothing would be seen for minutes. All
 * parts of a chunk are handed over at once, so that no part waits for the one before it.
 */
export function writeInParts(stream: ServerHttp2Stream, onPartOut: () => void): void {
  const { _write: write, _writev: writeTogether } = stream
  stream._write = (chunk: Buffer | string, encoding, written) => {
    const parts = partsOf(chunk, encoding)
    const onWritten = afterAll(parts.length, written, onPartOut)
    for (const part of parts) write.call(stream, part, typeof part === 'string' ? encoding : ofBytes, onWritten)
  }
  stream._writev = (chunks, written) => {
    const lengthSum = chunks.reduce((sum, { chunk }) => sum + lengthOf(chunk), 0)
    if (lengthSum <= partBytes) {
      writeTogether?.call(stream, chunks, afterAll(1, written, onPartOut))
      return
    }
    const onWritten = afterAll(chunks.length, written, () => undefined)
    for (const { chunk, encoding } of chunks) stream._write(chunk, encoding, onWritten)
  }
}

/** Node has typed the chunks of a stream of bytes as `any`. */
function lengthOf(chunk: Buffer | string): number {
  return chunk.length
}

function partsOf(chunk: Buffer | string, encoding: BufferEncoding): readonly (Buffer | string)[] {
  // A character has three bytes at most.
  if (chunk.length <= (typeof chunk === 'string' ? partBytes / 3 : partBytes)) return [chunk]
  const bytes = typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk
  const parts: Buffer[] = []
  for (let at = 0; at < bytes.length; at += partBytes) parts.push(bytes.subarray(at, at + partBytes))
  return parts
}

/** Calls `written` when `count` parts are out, with the first error among them. */
function afterAll(count: number, written: Written, onPartOut: () => void): Written {
  let leftCount = count
  let firstError: Error | null = null
  return (error) => {
    onPartOut()
    firstError ??= error ?? null
    leftCount -= 1
    if (leftCount === 0) written(firstError)
  }
}
