import { kibibyte } from '../../shared/bytes.ts'
import type { FileBytes, FileSource } from './file-bytes.types.ts'
import { brokenFault, changedFault, type RemoteFault, toRemoteFault } from './remote-fault.ts'

/** Fewer in `idleTimeoutMs` is a server that only keeps the connection open. */
export const progressBytesMin = kibibyte

/**
 * The bytes of a body from `reached` on, which is an offset in the file; what the body has before it is left out. They are as many as its
 * headers say.
 *
 * A body that is longer than it says, or that ends in order before, is not tried again: what came of it may be other bytes
 * than those that were asked for.
 * @throws RemoteFault; the reason of `signal`.
 */
export async function* bodyBytes(
  file: Pick<FileSource, 'now' | 'options' | 'place'>,
  { body, bodyBytes: expectedBytes, isFramed, offset }: FileBytes,
  { reached, signal }: { readonly reached: number; readonly signal: AbortSignal },
): AsyncGenerator<Buffer> {
  const broken = (reason: string, isRetryable: boolean): RemoteFault => brokenFault(file.place, reason, { isRetryable })
  const pace = new Pace(file)
  // A stream in byte mode gives buffers.
  const chunks = body[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  let byteCount = 0
  try {
    for (;;) {
      const chunk = await nextOf(chunks, pace)
      if (chunk === null) break
      const skippedBytes = Math.min(chunk.length, Math.max(0, reached - offset - byteCount))
      byteCount += chunk.length
      if (expectedBytes !== null && byteCount > expectedBytes) throw broken('an answer is longer than it says', false)
      if (skippedBytes < chunk.length) yield skippedBytes === 0 ? chunk : chunk.subarray(skippedBytes)
    }
  } catch (error) {
    throw faultOf(error, file, signal)
  } finally {
    body.destroy()
  }
  if (expectedBytes !== null && byteCount < expectedBytes) throw broken('an answer is shorter than it says', !isFramed)
  if (offset + byteCount < reached) throw changedFault(file.place, 'it is shorter now')
}

/** The fault of what a file met; the reason of the signal when that is why. */
export function faultOf(error: unknown, { place }: Pick<FileSource, 'place'>, signal: AbortSignal): RemoteFault {
  signal.throwIfAborted()
  return toRemoteFault(error, { place, isInBody: true })
}

async function nextOf(chunks: AsyncIterator<Buffer>, pace: Pace): Promise<Buffer | null> {
  pace.begin()
  const next = await chunks.next()
  if (next.done === true) return null
  pace.arrived(next.value.length)
  return next.value
}

/** Watches how fast bytes arrive, in the time in which somebody waits for them. */
class Pace {
  readonly #file: Pick<FileSource, 'now' | 'options' | 'place'>
  #begunAt = 0
  #waitedMs = 0
  #byteCount = 0

  constructor(file: Pick<FileSource, 'now' | 'options' | 'place'>) {
    this.#file = file
  }

  begin(): void {
    this.#begunAt = this.#file.now()
  }

  arrived(byteCount: number): void {
    const { now, options, place } = this.#file
    this.#waitedMs += now() - this.#begunAt
    this.#byteCount += byteCount
    if (this.#waitedMs < options.idleTimeoutMs) return
    if (this.#byteCount < progressBytesMin) {
      throw brokenFault(place, 'the bytes arrive too slowly (--url-idle-timeout-ms)', { isRetryable: true })
    }
    this.#waitedMs = 0
    this.#byteCount = 0
  }
}
