import { setTimeout as delay } from 'node:timers/promises'
import { firstMarker } from './events-bodies.ts'
import { monotonicMs } from './monotonic-clock.ts'

/**
 * Learns when each body can be queried, by asking again and again which markers are there.
 *
 * A body is found by the first answer that has all of its rows, and the time of that answer is its time: so it is never
 * too early, and too late by at most one interval and one query. The queries are part of the load, as those of a
 * dashboard are; they read the markers since the first that is missing, out of a table that is sorted by them.
 */
export class QueryableWatch {
  private readonly options: QueryableWatchOptions
  private readonly foundAtMs = new Map<number, number>()
  private firstMissing = 0
  private lastFound = -1
  private isOver = false
  private watching: Promise<void> | null = null

  constructor(options: QueryableWatchOptions) {
    this.options = options
  }

  /** How many bodies were found so far. */
  get foundCount(): number {
    return this.foundAtMs.size
  }

  /** Monotonic milliseconds; undefined when it was not found. */
  foundAt(bodyIndex: number): number | undefined {
    return this.foundAtMs.get(bodyIndex)
  }

  start(): void {
    this.watching = this.watch()
    // Whoever ends the watch hears of it.
    this.watching.catch(() => undefined)
  }

  /** Goes on until as many bodies are found or the time is over, then ends. Rejects when a query failed. */
  async end(bodyCount: number, timeMaxMs: number): Promise<void> {
    const deadlineMs = monotonicMs() + timeMaxMs
    while (this.foundAtMs.size < bodyCount && monotonicMs() < deadlineMs && !this.isOver) {
      await Promise.race([delay(this.options.intervalMs), this.watching])
    }
    this.isOver = true
    await this.watching
  }

  private async watch(): Promise<void> {
    try {
      while (!this.isOver) {
        const askedAtMs = monotonicMs()
        await this.ask()
        await delay(Math.max(0, askedAtMs + this.options.intervalMs - monotonicMs()))
      }
    } finally {
      this.isOver = true
    }
  }

  private async ask(): Promise<void> {
    const { table, rowsPerBody, sql } = this.options
    // A body that was refused is never found and must not make the queries ever longer.
    const from = Math.max(this.firstMissing, this.lastFound - overtakenMax)
    const text = await sql(
      `SELECT marker FROM ${table} WHERE marker >= ${firstMarker + from} GROUP BY marker HAVING count() = ${rowsPerBody} FORMAT TSV`,
    )
    const answeredAtMs = monotonicMs()
    for (const line of text.split('\n')) {
      if (line === '') continue
      const bodyIndex = Number(line) - firstMarker
      if (!this.foundAtMs.has(bodyIndex)) this.foundAtMs.set(bodyIndex, answeredAtMs)
      this.lastFound = Math.max(this.lastFound, bodyIndex)
    }
    while (this.foundAtMs.has(this.firstMissing)) this.firstMissing += 1
  }
}

/** How many bodies another may be overtaken by and still be found: as many as are on their way at once, and more. */
const overtakenMax = 5_000

export interface QueryableWatchOptions {
  readonly table: string
  readonly rowsPerBody: number
  /** From one query to the next, if the one before is answered by then. */
  readonly intervalMs: number
  readonly sql: (query: string) => Promise<string>
}
