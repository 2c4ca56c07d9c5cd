/**
 * Refuses new rows once more is stored than the plan gives, where the operator wants that.
 *
 * 1. It goes by what is on disk, as it was looked at last: what comes between two looks may still be taken, and what was taken is never
 *    refused afterwards. Only what adds rows is asked about, so that rows can be read and removed.
 * 2. Requests do not wait for a look as long as there is room, and while there is none they wait for one a second at most.
 * 3. A look that fails leaves what was known.
 */
import type { Logger } from '../observe/logger.ts'
import { type ApiError, errors } from '../shared/errors/errors.ts'
import { within } from '../shared/within.ts'

export interface StorageLimitDeps {
  readonly usedBytes: () => Promise<number>
  readonly logger: Pick<Logger, 'warn'>
  /** Milliseconds of a clock that is never set back. */
  readonly now: () => number
}

/** Between two looks while there is room, and while there is none. */
const lookMs = 10_000
const fullLookMs = 1_000
/** The engine may be starting again. */
const lookTimeMaxMs = 5_000

export class StorageLimit {
  readonly #bytesMax: number
  readonly #deps: StorageLimitDeps
  #usedBytes = 0
  #lookedAtMs = Number.NEGATIVE_INFINITY
  #looking: Promise<void> | null = null

  constructor({ storageBytesMax }: { readonly storageBytesMax: number }, deps: StorageLimitDeps) {
    this.#bytesMax = storageBytesMax
    this.#deps = deps
  }

  /** The error (STORAGE_EXCEEDED, 400) of a request that brings rows; null for one that may go on. A promise only where there is no room. */
  refusal(): ApiError | null | Promise<ApiError | null> {
    const ageMs = this.#deps.now() - this.#lookedAtMs
    if (this.#usedBytes > this.#bytesMax) return ageMs < fullLookMs ? this.#error() : this.#judgeAnew()
    if (ageMs >= lookMs) void this.look()
    return null
  }

  /** Looks at what is stored. It never fails: what goes wrong is logged. */
  look(): Promise<void> {
    this.#looking ??= this.#lookNow().finally(() => {
      this.#looking = null
    })
    return this.#looking
  }

  async #judgeAnew(): Promise<ApiError | null> {
    await within(lookTimeMaxMs, this.look())
    return this.#usedBytes > this.#bytesMax ? this.#error() : null
  }

  async #lookNow(): Promise<void> {
    try {
      this.#usedBytes = await this.#deps.usedBytes()
    } catch (err) {
      this.#deps.logger.warn({ err }, 'How much is stored is not known; it is asked again.')
    }
    this.#lookedAtMs = this.#deps.now()
  }

  #error(): ApiError {
    return errors.STORAGE_EXCEEDED({ usedBytes: this.#usedBytes, bytesMax: this.#bytesMax })
  }
}
