// Files that have to be here whole before they are loaded, in the store's directory: Parquet files, and zip archives.
//
// Two things have a maximum: the bytes of all that are here, and how many are loaded at once. A place is for the loading and
// not for the receiving, so that a sender who sends a byte now and then keeps nobody else from being loaded.

import { errors } from '../../shared/errors/errors.ts'
import type { Store } from '../../store/store.types.ts'
import { MemoryBudget } from '../memory-budget.ts'
import { Semaphore } from '../semaphore.ts'

interface SpoolLimits {
  readonly loadsMax: number
  readonly bytesMax: number
}

/** When somebody may be done who has bytes here. */
const retryAfterSeconds = 5

export class SpoolBudget {
  readonly #store: Pick<Store, 'discard' | 'newPartPath'>
  readonly #places: Semaphore
  readonly #bytes: MemoryBudget

  constructor(store: Pick<Store, 'discard' | 'newPartPath'>, { loadsMax, bytesMax }: SpoolLimits) {
    this.#store = store
    this.#places = new Semaphore(loadsMax)
    this.#bytes = new MemoryBudget(bytesMax)
  }

  /** A file that is to be received; whoever asks for it closes it. */
  newFile(): SpoolFile {
    return new SpoolFile(this.#store, this.#bytes, this.#places)
  }
}

/** One file, from its first byte until it is loaded. */
export class SpoolFile {
  readonly path: string
  readonly #store: Pick<Store, 'discard'>
  readonly #bytes: MemoryBudget
  readonly #places: Semaphore
  #byteCount = 0
  #hasPlace = false
  #isClosed = false

  constructor(store: Pick<Store, 'discard' | 'newPartPath'>, bytes: MemoryBudget, places: Semaphore) {
    this.path = store.newPartPath()
    this.#store = store
    this.#bytes = bytes
    this.#places = places
  }

  /** Counts bytes before they are written. @throws BODIES_TOO_MANY (503) where all files together have no room for them. */
  grow(byteCount: number): void {
    if (!this.#bytes.tryTake(byteCount)) throw errors.BODIES_TOO_MANY({ retryAfterSeconds })
    this.#byteCount += byteCount
  }

  /** Waits for a place, when all of the file is here; rejects with the reason of `signal` when nobody waits any more. */
  async enter(signal: AbortSignal | undefined): Promise<void> {
    await this.#places.acquire(signal)
    this.#hasPlace = true
  }

  /** Removes the file; may be called again. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    try {
      await this.#store.discard([{ path: this.path, byteCount: 0 }])
    } finally {
      this.#bytes.give(this.#byteCount)
      if (this.#hasPlace) this.#places.release()
    }
  }
}
