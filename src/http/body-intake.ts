import { Semaphore } from '../ingest/semaphore.ts'
import { errors } from '../shared/errors.ts'

/** Small packed bodies may unpack to large ones, which nobody has counted yet. */
const unpackedAtOnceMax = 8
const retryAfterSeconds = 1

/** Bounds what bodies take of memory before `ingest` counts them, however many connections there are. */
export class BodyIntake {
  private readonly bytesMax: number
  private readonly unpacking = new Semaphore(unpackedAtOnceMax)
  private held = 0

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax
  }

  /** @throws BACKLOG_FULL (503) when there is no room; when nothing is held, anything is taken. */
  take(byteCount: number): void {
    if (this.held > 0 && this.held + byteCount > this.bytesMax) throw errors.BACKLOG_FULL({ retryAfterSeconds })
    this.held += byteCount
  }

  give(byteCount: number): void {
    this.held -= byteCount
  }

  /** Runs `unpack` when few others run. */
  async unpack<Result>(unpack: () => Promise<Result>): Promise<Result> {
    await this.unpacking.acquire()
    try {
      return await unpack()
    } finally {
      this.unpacking.release()
    }
  }
}
