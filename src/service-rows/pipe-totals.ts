import type { RequestRecord } from '../observe/work-recorder.types.ts'
import { numberWithin } from './row-line.ts'

interface Totals {
  readonly date: string
  readonly pipeId: string
  readonly pipeName: string
  viewCount: number
  errorCount: number
  readonly durationsMs: number[]
  readBytes: number
  readRows: number
}

/** Beyond these the totals are given before their time. */
const pipesMax = 1_000
const durationsMax = 20_000

/** Requests added up by day and pipe, between two flushes. */
export class PipeTotals {
  readonly #give: (row: Readonly<Record<string, unknown>>) => void
  readonly #byPipe = new Map<string, Totals>()
  #durationCount = 0
  #day = { date: '', endMs: 0 }

  /** @param give takes each row, with the fields that the table is filled from. */
  constructor(give: (row: Readonly<Record<string, unknown>>) => void) {
    this.#give = give
  }

  add({ pipeId, pipeName, startedAtMs, durationMs, error, readBytes, readRows }: RequestRecord): void {
    const date = this.#dateOf(startedAtMs)
    const key = `${date} ${pipeId} ${pipeName}`
    const totals = this.#byPipe.get(key) ?? newTotals(date, pipeId, pipeName)
    this.#byPipe.set(key, totals)
    totals.viewCount += 1
    if (error !== null) totals.errorCount += 1
    totals.durationsMs.push(numberWithin('Float64', Math.round(durationMs * 100) / 100))
    totals.readBytes += readBytes
    totals.readRows += readRows
    this.#durationCount += 1
    if (this.#durationCount >= durationsMax || this.#byPipe.size >= pipesMax) this.drain()
  }

  drain(): void {
    for (const {
      date,
      pipeId,
      pipeName,
      viewCount,
      errorCount,
      durationsMs,
      readBytes,
      readRows,
    } of this.#byPipe.values())
      this.#give({
        date,
        pipe_id: pipeId,
        pipe_name: pipeName,
        view_count: viewCount,
        error_count: errorCount,
        durations: durationsMs,
        read_bytes_sum: readBytes,
        read_rows_sum: readRows,
      })
    this.#byPipe.clear()
    this.#durationCount = 0
  }

  /** In UTC, as the engine has days. */
  #dateOf(atMs: number): string {
    const { date, endMs } = this.#day
    if (atMs < endMs && atMs >= endMs - dayMs) return date
    const day = numberWithin('Date', Math.floor(atMs / dayMs))
    this.#day = { date: new Date(day * dayMs).toISOString().slice(0, 10), endMs: (day + 1) * dayMs }
    return this.#day.date
  }
}

const dayMs = 86_400_000

function newTotals(date: string, pipeId: string, pipeName: string): Totals {
  const counts = { viewCount: 0, errorCount: 0, readBytes: 0, readRows: 0 }
  return { date, pipeId, pipeName, durationsMs: [], ...counts }
}
