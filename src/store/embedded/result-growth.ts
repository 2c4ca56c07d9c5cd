// How large the file of a result becomes. The engine counts the columns of a result in memory, where a constant, or each word
// of a dictionary, is there once; as text it may be thousands of times larger, and fill the disk before the time is over.

import { stat } from 'node:fs/promises'
import { clickhouseCodes, StoreError } from '../store-error.ts'

/** A result may grow past its limit by what is written in so many milliseconds. */
const intervalMs = 50

interface GrowthOptions {
  /** Most bytes of the file. */
  readonly bytesMax: number
  /** Of the one who waits for the result. */
  readonly signal: AbortSignal
}

/** Looks at the file of a result while it is written, and aborts `signal` when it has become too large. */
export class ResultGrowth {
  readonly #path: string
  readonly #options: GrowthOptions
  readonly #controller = new AbortController()
  readonly #onAbort = (): void => this.#controller.abort()
  #timer: NodeJS.Timeout | undefined
  #isTooLarge = false

  constructor(path: string, options: GrowthOptions) {
    this.#path = path
    this.#options = options
    if (options.signal.aborted) this.#controller.abort()
    else options.signal.addEventListener('abort', this.#onAbort, { once: true })
  }

  /** Aborts when the one who waits does, and when the file is too large. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get isTooLarge(): boolean {
    return this.#isTooLarge
  }

  /** Begins to look; the file may not be there yet. */
  start(): void {
    this.#timer = setInterval(() => {
      // Where the file cannot be looked at, the check behind its end tells.
      this.check().catch(() => this.#isTooLarge && this.#controller.abort())
    }, intervalMs)
  }

  /** @throws StoreError, as for any result that is too large. */
  async check(): Promise<void> {
    if ((await this.#byteCount()) <= this.#options.bytesMax) return
    this.#isTooLarge = true
    throw resultTooLargeError()
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
export function resultTooLargeError(cause?: unknown): StoreError {
  const message = 'The result is larger than its limit. (TOO_MANY_ROWS_OR_BYTES)'
  return new StoreError({ kind: 'engine', message, clickhouseCode: clickhouseCodes.resultTooLarge, cause })
}
