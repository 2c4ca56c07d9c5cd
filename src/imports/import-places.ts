import { type ApiError, errors } from '../shared/errors/errors.ts'

/** Imports that are open at once: each holds a frame, or a sample, of what has come. */
const importsOpenMax = 128
/** What one sender may have of them. */
const senderShare = 1 / 2
const retryAfterSeconds = 5

/** What ends an open import where it is. */
type StopImport = (reason: ApiError) => void

/** Bounds how many imports are open, in all and of one sender; beyond it the next one is to come later. */
export class ImportPlaces {
  readonly #open = new Set<StopImport>()
  readonly #countBySender = new Map<string, number>()
  readonly #count: number
  #isEnding = false

  constructor(count = importsOpenMax) {
    this.#count = count
  }

  /**
   * Takes a place and gives what gives it back.
   *
   * @param sender what imports of one client have in common.
   * @throws BODIES_TOO_MANY (503) when there is none, SHUTTING_DOWN (503).
   */
  take(stop: StopImport, sender: string): () => void {
    if (this.#isEnding) throw errors.SHUTTING_DOWN()
    const senderCount = this.#countBySender.get(sender) ?? 0
    const ofAddress = senderCount >= Math.ceil(this.#count * senderShare)
    if (ofAddress || this.#open.size >= this.#count) throw errors.BODIES_TOO_MANY({ ofAddress, retryAfterSeconds })
    this.#open.add(stop)
    this.#countBySender.set(sender, senderCount + 1)
    return () => {
      if (!this.#open.delete(stop)) return
      const left = (this.#countBySender.get(sender) ?? 1) - 1
      if (left === 0) this.#countBySender.delete(sender)
      else this.#countBySender.set(sender, left)
    }
  }

  /** Ends all that are open, for a service that closes; there are no new ones from then on. */
  endAll(): void {
    this.#isEnding = true
    for (const stop of this.#open) stop(errors.IMPORT_STOPPED())
  }
}
