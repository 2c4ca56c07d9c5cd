import { setTimeout as delay } from 'node:timers/promises'
import { eventsTable } from './event-receivers.ts'
import { firstMarker } from './event-requests.ts'
import { monotonicMs } from './send-events.ts'
import type { ServiceClient } from './service-client.ts'

/** How many bodies another may be overtaken by and still be found: as many as are on their way at once, and more. */
const overtakenMax = 5_000

interface WatchOptions {
  readonly client: ServiceClient
  readonly rowsPerBody: number
  /** From one query to the next, if the one before is answered by then. */
  readonly pollMs: number
}

/**
 * Learns when each body can be queried: it is found by the first answer that has all of its rows. The queries read the markers
 * since the first that is missing, out of a table that is sorted by them.
 */
export class QueryableWatch {
  readonly #options: WatchOptions
  readonly #foundAtMs = new Map<number, number>()
  readonly #watching: Promise<void>
  #firstMissing = 0
  #lastFound = -1
  #bodyCount = Number.POSITIVE_INFINITY

  constructor(options: WatchOptions) {
    this.#options = options
    this.#watching = this.#watch()
    // Whoever ends the watch hears of it.
    this.#watching.catch(() => undefined)
  }

  /** When each body was found, by the monotonic clock, once as many are found or a minute is over. */
  async end(bodyCount: number): Promise<ReadonlyMap<number, number>> {
    this.#bodyCount = bodyCount
    await Promise.race([this.#watching, delay(60_000, undefined, { ref: false })])
    this.#bodyCount = 0
    await this.#watching
    return this.#foundAtMs
  }

  async #watch(): Promise<void> {
    while (this.#foundAtMs.size < this.#bodyCount) {
      const askedAtMs = monotonicMs()
      await this.#ask()
      await delay(Math.max(0, askedAtMs + this.#options.pollMs - monotonicMs()))
    }
  }

  async #ask(): Promise<void> {
    // A body that was refused is never found and must not make the queries ever longer.
    const from = firstMarker + Math.max(this.#firstMissing, this.#lastFound - overtakenMax)
    const text = await this.#options.client.sql(
      `SELECT marker FROM ${eventsTable} WHERE marker >= ${from} GROUP BY marker HAVING count() = ${this.#options.rowsPerBody} FORMAT TSV`,
    )
    const answeredAtMs = monotonicMs()
    for (const line of text.trim().split('\n')) {
      if (line === '') continue
      const bodyIndex = Number(line) - firstMarker
      if (!this.#foundAtMs.has(bodyIndex)) this.#foundAtMs.set(bodyIndex, answeredAtMs)
      this.#lastFound = Math.max(this.#lastFound, bodyIndex)
    }
    while (this.#foundAtMs.has(this.#firstMissing)) this.#firstMissing += 1
  }
}
