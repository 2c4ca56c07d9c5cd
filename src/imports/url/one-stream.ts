import { errors } from '../../shared/errors/errors.ts'
import { bodyBytes, faultOf } from './body-bytes.ts'
import type { FileBytes, FileSource } from './file-bytes.types.ts'
import { brokenFault, changedFault, RemoteFault } from './remote-fault.ts'
import type { ReadRequest } from './remote-file.types.ts'

/** Ranges that are cut shorter than this are counted as faults, as their number would not be bounded else. */
const shortRangeBytesMin = 64 * 1024

/**
 * The bytes from `offset` on out of one connection at a time. What breaks goes on from the byte that was reached, or, without ranges,
 * from the beginning of the file, whose bytes are left out as far as they are known.
 */
export async function* readInOrder(
  file: FileSource,
  { offset, firstBytes }: Pick<ReadRequest, 'firstBytes' | 'offset'>,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const { byteCount: totalBytes } = file.identity
  let rangeBytes = firstBytes ?? Number.POSITIVE_INFINITY
  checkOffset(file, offset)
  const retries = file.newRetries()
  let reached = offset
  let isEnded = reached === totalBytes
  while (!isEnded) {
    try {
      const end = rangeBytes === Number.POSITIVE_INFINITY ? undefined : reached + rangeBytes - 1
      const part = await file.request({ start: reached, end }, signal)
      rangeBytes *= 2
      for await (const chunk of bodyBytes(file, part, { reached, signal })) {
        checkSize(file, reached + chunk.length)
        reached += chunk.length
        file.received(chunk.length)
        // Each attempt at a file without ranges costs all of its bytes, so that their number is bounded for the whole file.
        if (file.acceptsRanges) retries.progressed(chunk.length)
        yield chunk
      }
      isEnded = totalBytes === null || reached === totalBytes
      if (!isEnded) checkShortRange(file, part)
      else if (!file.acceptsRanges && part.bodyBytes !== null) await file.checkEnd()
    } catch (error) {
      await retries.wait(faultOf(error, file, signal), signal)
    }
  }
}

/** @throws REMOTE_FILE_CHANGED (409) for an offset that the file does not have. */
export function checkOffset({ identity, place }: Pick<FileSource, 'identity' | 'place'>, offset: number): void {
  const { byteCount } = identity
  if (byteCount !== null && offset > byteCount) throw changedFault(place, 'it is shorter now').answer
}

function checkSize({ options: { bytesMax }, place }: FileSource, byteCount: number): void {
  if (byteCount <= bytesMax) return
  throw new RemoteFault(errors.REMOTE_TOO_LARGE({ place, bytesMax }), { isRetryable: false })
}

function checkShortRange({ place }: FileSource, { bodyBytes: byteCount }: FileBytes): void {
  if (byteCount !== null && byteCount >= shortRangeBytesMin) return
  throw brokenFault(place, 'the server sends shorter ranges than requested', { isRetryable: true })
}
