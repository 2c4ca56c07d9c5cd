import { mebibyte } from '../../shared/bytes.ts'
import type { RemoteFault } from './remote-fault.ts'

interface RetryDeps {
  readonly attemptsMax: number
  readonly delayMaxMs: number
  readonly random: () => number
  readonly delay: (timeMs: number, signal: AbortSignal) => Promise<unknown>
  /** Told of each fault after which there is another attempt. */
  readonly onRetry: (retry: Retry) => void
}

export interface Retry {
  readonly reason: string
  /** Faults so far; the first one is 1. */
  readonly faultCount: number
  readonly delayMs: number
}

const firstDelayMs = 500
/** A file that gets further by as much has a server that works, and its attempts are counted anew. */
const progressBytes = mebibyte

/** Counts the attempts at the same bytes, and waits between them: longer each time, and never all clients at once. */
export class Retries {
  readonly #deps: RetryDeps
  #faultCount = 0
  #progressBytes = 0

  constructor(deps: RetryDeps) {
    this.#deps = deps
  }

  /** Notes bytes that arrived and had not before. */
  progressed(byteCount: number): void {
    this.#progressBytes += byteCount
    if (this.#progressBytes < progressBytes) return
    this.#faultCount = 0
    this.#progressBytes = 0
  }

  /**
   * Waits until there may be another attempt.
   *
   * @throws what the reader of the file is told when there is none; the reason of the signal.
   */
  async wait(fault: RemoteFault, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    this.#faultCount += 1
    this.#progressBytes = 0
    if (!fault.isRetryable || this.#faultCount >= this.#deps.attemptsMax) throw fault.answer
    const { delayMaxMs, random, delay, onRetry } = this.#deps
    const longestMs = Math.min(delayMaxMs, firstDelayMs * 2 ** (this.#faultCount - 1))
    const ownMs = longestMs * (0.5 + random() / 2)
    const delayMs = Math.min(delayMaxMs, Math.max(ownMs, fault.retryAfterMs ?? 0))
    onRetry({ reason: fault.message, faultCount: this.#faultCount, delayMs: Math.round(delayMs) })
    try {
      await delay(delayMs, signal)
    } catch (error) {
      signal.throwIfAborted()
      throw error
    }
  }
}
