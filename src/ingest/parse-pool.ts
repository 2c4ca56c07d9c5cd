/**
 * The parse workers behind a bounded door: at most `framesInFlightMax` frames are with the workers or waiting for them.
 * Whoever has a frame waits for a place first, so that its socket is not read meanwhile and TCP slows the sender down.
 */
import { Piscina } from 'piscina'
import { FrameBuffers } from '../codec/frame-assembler.ts'
import type { ParseResult, ParseTask } from '../codec/parse-task.types.ts'
import { Semaphore } from './semaphore.ts'
import { parseWorkerUrl, workerExecArgv } from './worker-urls.ts'

export interface ParsePoolOptions {
  readonly workers: number
  readonly framesInFlightMax: number
  readonly frameBytes: number
}

export class ParsePool {
  /** Buffers for the frames of all bodies. */
  readonly buffers: FrameBuffers
  private readonly pool: Piscina<ParseTask | null, ParseResult>
  private readonly places: Semaphore
  /** Settles when every worker has loaded its modules, or failed to. */
  private readonly loaded: Promise<unknown>

  constructor({ workers, framesInFlightMax, frameBytes }: ParsePoolOptions) {
    // One more for the body that fills the next frame meanwhile.
    this.buffers = new FrameBuffers({ frameBytes, keptMax: framesInFlightMax + 1 })
    this.places = new Semaphore(framesInFlightMax)
    this.pool = new Piscina({
      filename: parseWorkerUrl.href,
      name: 'parse',
      minThreads: workers,
      maxThreads: workers,
      maxQueue: framesInFlightMax,
      execArgv: [...workerExecArgv],
    })
    // As many tasks at once as there are workers, so that each gets one. What fails here fails each frame with its reason.
    this.loaded = Promise.allSettled(Array.from({ length: workers }, () => this.pool.run(null, { name: 'load' })))
  }

  /**
   * Waits for a place, parses the frame and calls `use` with the result; the place is given back when `use` is done.
   * Resolves as soon as the frame has its place: `done` settles when `use` has. Until then the frame is the worker's.
   */
  async submit(
    task: ParseTask,
    use: (result: ParseResult) => Promise<void>,
  ): Promise<{ readonly done: Promise<void> }> {
    await this.places.acquire()
    const done = this.run(task)
      .then((result) => {
        this.buffers.giveBack(result.frame)
        return use(result)
      })
      .finally(() => this.places.release())
    return { done }
  }

  async close(): Promise<void> {
    // Node 20 aborts the process when a worker is stopped in the middle of loading its modules.
    await this.loaded
    await this.pool.close()
  }

  private run(task: ParseTask): Promise<ParseResult> {
    const { frame } = task
    const transferList = frame.buffer instanceof ArrayBuffer ? [frame.buffer] : []
    return this.pool.run(task, { transferList }).catch((error: unknown) => {
      // A worker that failed is done with the frame; one that is shared goes round all the same.
      this.buffers.giveBack(frame)
      throw error
    })
  }
}
