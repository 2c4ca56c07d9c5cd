/**
 * The parse workers behind a bounded door: at most `framesInFlightMax` frames of one body are with the workers or waiting for
 * them, and one more of others. Whoever has a frame waits for a place first, so that its socket is not read meanwhile and TCP
 * slows the sender down. Places, and then workers, go to the body that has the fewest: many frames of one stand in nobody's way.
 */
import { Piscina } from 'piscina'
import { FrameBuffers } from '../../codec/frame-assembler.ts'
import type { ParseResult, ParseTask } from '../../codec/parse-task.types.ts'
import { FairPlaces } from './fair-places.ts'
import { parseWorkerUrl, workerExecArgv } from './worker-urls.ts'

export interface ParsePoolOptions {
  readonly workers: number
  readonly framesInFlightMax: number
  readonly frameBytes: number
}

export class ParsePool {
  /** Buffers for the frames of all bodies. */
  readonly buffers: FrameBuffers
  readonly #pool: Piscina<ParseTask | null, ParseResult>
  readonly #places: FairPlaces
  /** Frames that are with a worker; piscina gives them out in the order in which they come. */
  readonly #turns: FairPlaces
  /** Settles when every worker has loaded its modules, or failed to. */
  readonly #loaded: Promise<unknown>

  constructor({ workers, framesInFlightMax, frameBytes }: ParsePoolOptions) {
    // One more for the body that fills the next frame meanwhile, and one for the place of others.
    this.buffers = new FrameBuffers({ frameBytes, keptMax: framesInFlightMax + 2 })
    this.#places = new FairPlaces(framesInFlightMax + 1, framesInFlightMax)
    // One waits at the worker's door, so that no worker waits for this thread.
    this.#turns = new FairPlaces(workers + 1)
    this.#pool = new Piscina({
      filename: parseWorkerUrl.href,
      name: 'parse',
      minThreads: workers,
      maxThreads: workers,
      maxQueue: framesInFlightMax + 1,
      execArgv: [...workerExecArgv],
    })
    // As many tasks at once as there are workers, so that each gets one. What fails here fails each frame with its reason.
    this.#loaded = Promise.allSettled(Array.from({ length: workers }, () => this.#pool.run(null, { name: 'load' })))
  }

  /**
   * Waits for a place, parses the frame and calls `use` with the result; the place is given back when `use` is done.
   * Resolves as soon as the frame has its place: `done` settles when `use` has. Until then the frame is the worker's.
   * `owner` is the body that it is of, or what else its turns are counted by.
   */
  async submit(
    task: ParseTask,
    use: (result: ParseResult) => Promise<void>,
    owner: unknown = task.planKey,
  ): Promise<{ readonly done: Promise<void> }> {
    await this.#places.acquire(owner)
    const done = this.#runInTurn(task, owner)
      .then((result) => {
        this.buffers.giveBack(result.frame)
        return use(result)
      })
      .finally(() => this.#places.release(owner))
    return { done }
  }

  async close(): Promise<void> {
    // Node 20 aborts the process when a worker is stopped in the middle of loading its modules.
    await this.#loaded
    await this.#pool.close()
  }

  async #runInTurn(task: ParseTask, owner: unknown): Promise<ParseResult> {
    await this.#turns.acquire(owner)
    try {
      return await this.#run(task)
    } finally {
      this.#turns.release(owner)
    }
  }

  #run(task: ParseTask): Promise<ParseResult> {
    const { frame } = task
    const transferList = frame.buffer instanceof ArrayBuffer ? [frame.buffer] : []
    return this.#pool.run(task, { transferList }).catch((error: unknown) => {
      // A worker that failed is done with the frame; one that is shared goes round all the same.
      this.buffers.giveBack(frame)
      throw error
    })
  }
}
