/** Goes on with interrupted replays by itself, after a while that doubles up to a minute. */
import type { DataSourceId } from '../../catalog/data-source.types.ts'

export interface RetryTimes {
  readonly firstMs: number
  readonly longestMs: number
}

export const defaultRetryTimes: RetryTimes = { firstMs: 1_000, longestMs: 60_000 }

export class ReplayRetries {
  readonly #goOn: (id: DataSourceId) => Promise<void>
  readonly #times: RetryTimes
  readonly #timers = new Map<DataSourceId, NodeJS.Timeout>()
  /** How long each waited last; forgotten when it has ended. */
  readonly #waits = new Map<DataSourceId, number>()
  readonly #running = new Set<Promise<void>>()
  #isClosed = false

  /** `goOn` ends the replay of a data source, or does nothing when there is none any more; it tells its failures itself. */
  constructor(goOn: (id: DataSourceId) => Promise<void>, times: RetryTimes) {
    this.#goOn = goOn
    this.#times = times
  }

  /** The replay was interrupted, now or again. */
  later(id: DataSourceId): void {
    if (this.#isClosed || this.#timers.has(id)) return
    const { firstMs, longestMs } = this.#times
    const waitMs = Math.min(longestMs, (this.#waits.get(id) ?? firstMs / 2) * 2)
    this.#waits.set(id, waitMs)
    const timer = setTimeout(() => {
      this.#timers.delete(id)
      this.#run(id)
    }, waitMs)
    this.#timers.set(id, timer.unref())
  }

  /** Waits for those that run, and begins no other. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const timer of this.#timers.values()) clearTimeout(timer)
    this.#timers.clear()
    await Promise.all(this.#running)
  }

  #run(id: DataSourceId): void {
    const running = this.#goOn(id)
      .then(
        () => void this.#waits.delete(id),
        () => this.later(id),
      )
      .finally(() => this.#running.delete(running))
    this.#running.add(running)
  }
}
