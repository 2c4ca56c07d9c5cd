import { type ApiError, errors } from '../shared/errors/errors.ts'

/** Imports that are open at once: each holds a frame, or a sample, of what has come. */
const importsOpenMax = 128
const retryAfterSeconds = 5

/** What ends an open import where it is. */
type StopImport = (reason: ApiError) => void

/** Bounds how many imports are open; beyond it the next one is to come later. */
export class ImportPlaces {
  readonly #open = new Set<StopImport>()
  readonly #count: number
  #isEnding = false

  constructor(count = importsOpenMax) {
    this.#count = count
  }

  /** Takes a place and gives what gives it back. @throws BODIES_TOO_MANY (503) when there is none, SHUTTING_DOWN (503). */
  take(stop: StopImport): () => void {
    if (this.#isEnding) throw errors.SHUTTING_DOWN()
    if (this.#open.size >= this.#count) throw errors.BODIES_TOO_MANY({ retryAfterSeconds })
    this.#open.add(stop)
    return () => {
      this.#open.delete(stop)
    }
  }

  /** Ends all that are open, for a service that closes; there are no new ones from then on. */
  endAll(): void {
    this.#isEnding = true
    for (const stop of this.#open) stop(errors.IMPORT_STOPPED())
  }
}
