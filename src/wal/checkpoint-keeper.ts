import { writeCheckpoint } from './checkpoint.ts'
import type { FileLayer } from './file-layer.ts'
import type { Generations } from './generations.ts'
import type { SegmentChain } from './segment-chain.ts'
import type { Sequence } from './sequence.ts'
import { WalCheckpointError } from './wal-errors.ts'

/**
 * Lets go of the beginning of the log: the checkpoint is on disk first, the segments go after.
 *
 * One checkpoint is written at a time; releases that come meanwhile share the next one.
 */
export class CheckpointKeeper {
  /** Nothing below is needed, on disk or not. */
  released: Sequence
  /** The same by the checkpoint that is on disk. */
  written: Sequence
  readonly #files: FileLayer
  readonly #log: { readonly directory: string; readonly logId: Uint8Array }
  readonly #chain: SegmentChain
  readonly #generations: Generations
  #running: Promise<void> | null = null
  #following: Promise<void> | null = null

  constructor(
    files: FileLayer,
    log: { readonly directory: string; readonly logId: Uint8Array; readonly released: Sequence },
    chain: SegmentChain,
    generations: Generations,
  ) {
    this.#files = files
    this.#log = log
    this.released = log.released
    this.written = log.released
    this.#chain = chain
    this.#generations = generations
  }

  /** See `Wal.release`. */
  async release(below: Sequence): Promise<void> {
    if (below > this.released) this.released = below
    if (this.#chain.hasRemovable(this.released)) await this.#writeNext()
  }

  /** Writes the checkpoint, and does `work` before another one is written, or a segment goes. */
  async holdWhile(work: () => Promise<void>): Promise<void> {
    while (this.#running !== null) {
      await this.#running.catch(() => {
        // Told to whoever asked for it.
      })
    }
    this.#running = this.#write(false)
      .then(work)
      .finally(() => {
        this.#running = null
      })
    await this.#running
  }

  /** Writes down where the log ends: what is missing below was lost, not torn. */
  async close(): Promise<void> {
    await this.#running?.catch(() => {
      // Told to whoever asked for that release; the checkpoint below says all that it would have said.
    })
    await this.#write(true)
  }

  #writeNext(): Promise<void> {
    if (this.#running === null) {
      this.#running = this.#write(false).finally(() => {
        this.#running = null
      })
      return this.#running
    }
    this.#following ??= this.#running
      .catch(() => {
        // Told to whoever asked for it; the next one starts afresh.
      })
      .then(() => {
        this.#following = null
        return this.#writeNext()
      })
    return this.#following
  }

  async #write(isClosed: boolean): Promise<void> {
    const { released } = this
    const generations = this.#generations
    generations.forgetBelow(released)
    const { directory, logId } = this.#log
    const checkpoint = { logId, released, next: this.#chain.next, isClosed, generations: generations.entries() }
    try {
      await writeCheckpoint(this.#files, directory, checkpoint)
    } catch (error) {
      throw new WalCheckpointError('the checkpoint of the write-ahead log could not be written', { cause: error })
    }
    this.written = released
    await this.#chain.removeBelow(released)
  }
}
