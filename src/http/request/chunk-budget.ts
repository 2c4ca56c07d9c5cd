import { Allowance } from '../../shared/allowance.ts'
import { errors } from '../../shared/errors/errors.ts'

// A body of very many chunks costs by their number, not by its bytes.
const chunksFree = 4_096
/** Of a stream, which costs no memory by its chunks: a network may well cut a small file into pieces of a few bytes. */
const streamChunksFree = 16_384
export const chunkBytesMin = 32
/** What a slow sender may send for ever costs less than a hundredth of a core. */
const chunksPerMs = 1
/** Of all bodies together: a small chunk costs two to ten microseconds, so these are less than a tenth of a second. */
const sharedChunksMax = 32_768
const sharedChunksPerMs = 5

/**
 * How many small chunks a body may come in: thousands, one more for each 32 bytes, and, where `now` is given, one more
 * for each millisecond, so that whoever sends a few bytes now and then may do so for days.
 */
export class ChunkBudget {
  readonly #now: (() => number) | undefined
  #left: number
  #refilledAtMs: number

  /** @param now a clock in milliseconds that never goes back. */
  constructor(now?: () => number, options: { readonly chunksFree?: number } = {}) {
    this.#now = now
    this.#left = options.chunksFree ?? (now === undefined ? chunksFree : streamChunksFree)
    this.#refilledAtMs = now?.() ?? 0
  }

  /** The error for a body that has used up its chunks with this one, of so many bytes; null otherwise. */
  take(byteCount: number): Error | null {
    this.#left += byteCount / chunkBytesMin - 1
    if (this.#left >= 0 || this.#refill() >= 0) return null
    return errors.CHUNKS_TOO_SMALL({ chunkBytesMin })
  }

  /** The clock is read only when nothing is left. A long silence gives no more than a body begins with. */
  #refill(): number {
    if (this.#now !== undefined) {
      const now = this.#now()
      this.#left += Math.min(chunksFree, (now - this.#refilledAtMs) * chunksPerMs)
      this.#refilledAtMs = now
    }
    return this.#left
  }
}

/** The small chunks that all bodies of the process may bring together. */
export class SharedChunks extends Allowance {
  readonly now: () => number
  /** What each body may bring of them; whoever gathers a whole one allows fewer. */
  readonly bodyChunksFree = 8_192

  /** @param now a clock in milliseconds that never goes back. */
  constructor(now: () => number) {
    super({ atOnce: sharedChunksMax, perMs: sharedChunksPerMs }, now)
    this.now = now
  }
}
