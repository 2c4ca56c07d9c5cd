import type { Logger } from '../../observe/logger.ts'

const intervalMs = 60_000

/**
 * Warns of idempotency keys that were forgotten before their time: a repeat under such a key is stored once more, and the
 * operator should know, but not once for each key.
 */
export class ForgottenKeys {
  readonly #logger: Pick<Logger, 'warn'>
  readonly #clock: () => number
  readonly #keysMax: number
  /** Since the last warning. */
  #keyCount = 0
  #warnedAt = Number.NEGATIVE_INFINITY

  /** `clock`: milliseconds that never go back; `keysMax`: the keys that are remembered. */
  constructor(logger: Pick<Logger, 'warn'>, clock: () => number, keysMax: number) {
    this.#logger = logger
    this.#clock = clock
    this.#keysMax = keysMax
  }

  note(keyCount: number): void {
    this.#keyCount += keyCount
    if (this.#clock() - this.#warnedAt < intervalMs) return
    this.#warnedAt = this.#clock()
    const fields = { keyCount: this.#keyCount, keysMax: this.#keysMax }
    this.#logger.warn(fields, 'More idempotency keys came than are remembered; the oldest are forgotten early.')
    this.#keyCount = 0
  }
}
