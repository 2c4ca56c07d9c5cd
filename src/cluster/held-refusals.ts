/** For how long a refusal is held back at least. */
export const heldMs = 1_000
/** Those that come together are told one after the other, so many within so much time: else they would all ask again together. */
const spread = { ms: 1_000, places: 64 }
/** Each holds a request and its connection; further refusals are told at once. */
const heldMax = 256

/**
 * Holds refusals back that go to callers who ask again and again without waiting as they are told: each of these asks once in a second or two
 * then, where answers at once would have the processors busy with refusing.
 */
export class HeldRefusals {
  readonly #delay: (ms: number, signal: AbortSignal) => Promise<void>
  readonly #refusals = new WeakSet<object>()
  #count = 0
  #place = 0

  /** @param delay resolves after so many milliseconds, or when it is aborted. */
  constructor(delay: (ms: number, signal: AbortSignal) => Promise<void>) {
    this.#delay = delay
  }

  /** Says that a refusal is to be held back. */
  hold(refusal: object): void {
    this.#refusals.add(refusal)
  }

  /** Resolves when a failure may be told: at once for all but refusals that are held back. */
  async untilTold(failure: unknown, signal: AbortSignal): Promise<void> {
    if (typeof failure !== 'object' || failure === null || !this.#refusals.has(failure)) return
    if (this.#count >= heldMax) return
    this.#count += 1
    this.#place = (this.#place + 1) % spread.places
    const timeMs = heldMs + Math.round((this.#place * spread.ms) / spread.places)
    await this.#delay(timeMs, signal).finally(() => {
      this.#count -= 1
    })
  }
}
