/**
 * What may wait in the log for one data source, and for those that cannot be stored together.
 *
 * A data source that fails must leave room in the log for the others, however small the log is: by itself it may fill a
 * quarter of it, and with all that fail three eighths. A compaction needs a third more at most, the newest quarter
 * of the log is never compacted, and what is left then is for data sources that are well.
 */
import type { EventsStatus } from './events.types.ts'

export interface BacklogOptions {
  /** Bytes in the log that may wait for one data source. */
  readonly eventsBacklogBytesMax: number
  readonly eventsLogBytesMax: number
}

const failingShare = 1 / 4
const failingTogetherShare = 3 / 8
/** The sum over all data sources is not made anew for each request. */
const sumKeptMs = 100

export class BacklogLimit {
  readonly #options: BacklogOptions
  readonly #statuses: () => Iterable<EventsStatus>
  readonly #clock: () => number
  #failingBytes = 0
  #soundBytes = 0
  #summedAt = Number.NEGATIVE_INFINITY

  /** `clock`: milliseconds that never go back. */
  constructor(options: BacklogOptions, statuses: () => Iterable<EventsStatus>, clock: () => number) {
    this.#options = options
    this.#statuses = statuses
    this.#clock = clock
  }

  /** Whether no more events are taken for a data source that is in this state. */
  isReached({ waitingBytes, failure }: EventsStatus): boolean {
    const { eventsBacklogBytesMax, eventsLogBytesMax } = this.#options
    if (waitingBytes >= eventsBacklogBytesMax) return true
    if (failure === null) return false
    return (
      waitingBytes >= eventsLogBytesMax * failingShare || this.#failing() >= eventsLogBytesMax * failingTogetherShare
    )
  }

  /** Bytes in the log that wait and are on their way into the engine. */
  soundWaitingBytes(): number {
    this.#sum()
    return this.#soundBytes
  }

  #failing(): number {
    this.#sum()
    return this.#failingBytes
  }

  #sum(): void {
    if (this.#clock() - this.#summedAt < sumKeptMs) return
    this.#summedAt = this.#clock()
    this.#failingBytes = 0
    this.#soundBytes = 0
    for (const { failure, waitingBytes } of this.#statuses()) {
      if (failure === null) this.#soundBytes += waitingBytes
      else this.#failingBytes += waitingBytes
    }
  }
}
