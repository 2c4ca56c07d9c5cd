// How large the file of a result becomes. The engine counts the columns of a result in memory, where a constant, or each word
// of a dictionary, is there once; as text it may be thousands of times larger, and fill the disk before the time is over.

import { stat } from 'node:fs/promises'
import { clickhouseCodes } from '../engine-codes.ts'
import { StoreError } from '../store-error.ts'
import type { ResultShare } from './result-budget.ts'

/** A result may grow past its limit by what is written in so many milliseconds. */
const intervalMs = 50

interface GrowthOptions {
  /** Most bytes of the file. */
  readonly bytesMax: number
  /** Of the one who waits for the result. */
  readonly signal: AbortSignal
  /** Its part of what all results may take. */
  readonly share: ResultShare
}

/** Looks at the file of a result while it is written, and aborts `signal` when there is no room for it. */
export class ResultGrowth {
  readonly #path: string
  readonly #options: GrowthOptions
  readonly #controller = new AbortController()
  readonly #onAbort = (): void => this.#controller.abort()
  #timer: NodeJS.Timeout | undefined
  #refusal: StoreError | null = null

  constructor(path: string, options: GrowthOptions) {
    this.#path = path
    this.#options = options
    if (options.signal.aborted) this.#controller.abort()
    else options.signal.addEventListener('abort', this.#onAbort, { once: true })
  }

  /** Aborts when the one who waits does, and when the file has no room. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Why the file has no room; null while it has. */
  get refusal(): StoreError | null {
    return this.#refusal
  }

  /** Begins to look; the file may not be there yet. */
  start(): void {
    this.#timer = setInterval(() => {
      // Where the file cannot be looked at, the check behind its end tells.
      this.check().catch(() => this.#refusal !== null && this.#controller.abort())
    }, intervalMs)
  }

  /** @throws StoreError, as for any result that is too large, or `unread` when all of them take too much. */
  async check(): Promise<void> {
    const byteCount = await this.#byteCount()
    try {
      if (byteCount > this.#options.bytesMax) throw resultTooLargeError()
      this.#options.share.growTo(byteCount)
    } catch (thrown) {
      if (thrown instanceof StoreError) this.#refusal ??= thrown
      throw thrown
    }
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#options.signal.removeEventListener('abort', this.#onAbort)
  }

  async #byteCount(): Promise<number> {
    try {
      return (await stat(this.#path)).size
    } catch (thrown) {
      // Nothing is written yet, or the statement has failed.
      if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return 0
      throw thrown
    }
  }
}

/** What the engine says of a result that is larger than its limit. */
function resultTooLargeError(): StoreError {
  const message = 'The result is larger than its limit. (TOO_MANY_ROWS_OR_BYTES)'
  return new StoreError({ kind: 'engine', message, clickhouseCode: clickhouseCodes.resultTooLarge })
}
