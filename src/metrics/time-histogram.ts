/** Durations counted by size, in plain numbers: it allocates nothing for what it counts. */
export class TimeHistogram {
  /** Upper bounds in milliseconds, ascending, each within its range. */
  readonly boundsMs: readonly number[]
  /** How many fell between a bound and the one before it; the last is beyond all bounds. */
  readonly counts: Float64Array
  sumMs = 0

  constructor(boundsMs: readonly number[]) {
    this.boundsMs = boundsMs
    this.counts = new Float64Array(boundsMs.length + 1)
  }

  note(durationMs: number): void {
    const { boundsMs, counts } = this
    let at = 0
    while (at < boundsMs.length && durationMs > (boundsMs[at] ?? 0)) at += 1
    counts[at] = (counts[at] ?? 0) + 1
    this.sumMs += durationMs
  }
}

/** From what a kept answer takes to what the longest query may take. */
export const requestBoundsMs = [1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000]
/** One write and one sync of the disk. */
export const syncBoundsMs = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 5_000]
/** From an acknowledgement to what queries see; minutes where the engine was away. */
export const lagBoundsMs = [10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 15_000, 60_000, 300_000]
/** Work that takes a request's time or a night. */
export const jobBoundsMs = [100, 1_000, 5_000, 15_000, 60_000, 300_000, 1_800_000, 7_200_000]
