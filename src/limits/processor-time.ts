/**
 * The processor time of queries: so much a minute, and bursts of some times as much.
 *
 * 1. Counted is the time that queries ran in the engine, that of each thread by itself, and no more than the engine's process has used
 *    meanwhile: a query that waits for the disk uses no processor, and what INSERTs and merges use beside it is none of its.
 * 2. It is read once a second. A minute that has had its bursts is noticed a second late, and queries that run are not stopped.
 * 3. Once a minute has had its bursts, queries have their base rate for some time: that of a second, without bursts of its own. Where there is
 *    no base rate they are refused until the minute has room again.
 */
import type { Logger } from '../observe/logger.ts'
import { type ApiError, errors } from '../shared/errors/errors.ts'
import { ExactWindow } from './exact-window.ts'
import { factsOf, type LimitedWindow, type WindowFacts } from './rate-limit.ts'
import type { Counted, Standing } from './window.types.ts'

/** What queries have used so far: two numbers that only grow, but for the end of a process. Milliseconds. */
export interface ProcessorReading {
  /** That queries ran, that of each thread by itself. */
  readonly threadMs: number
  /** What the engine's process has used for everything; null where that is not known. */
  readonly engine: { readonly pid: number; readonly processorMs: number } | null
}

export interface ProcessorTimeOptions {
  /** What the plan gives: percent of one core. More than 0. */
  readonly processorPercentMax: number
  readonly processorBurstFactor: number
  /** How long the base rate holds. */
  readonly processorBaseRateMs: number
  /** Queries a second; 0 where there is no base rate. */
  readonly queriesPerSecondMax: number
}

export interface ProcessorTimeDeps {
  readonly read: () => ProcessorReading
  readonly logger: Pick<Logger, 'warn'>
  /** Milliseconds of a clock that is never set back. */
  readonly now: () => number
}

const limit = 'processor_time'
const secondMs = 1_000
const minuteMs = 60_000
const lookMs = secondMs

/** Milliseconds of processor time in a minute, for so many percent of one core. */
export function processorMsPerMinute(percent: number): number {
  return (percent / 100) * minuteMs
}

interface Used {
  readonly atMs: number
  readonly usedMs: number
}

export class ProcessorTime implements Counted {
  /** Bursts included. */
  readonly maxMs: number
  readonly #allowedMs: number
  readonly #options: ProcessorTimeOptions
  readonly #deps: ProcessorTimeDeps
  /** Null where there is no base rate. */
  readonly #base: LimitedWindow | null
  #timer: NodeJS.Timeout | undefined
  /** Of the last minute, oldest first: one for each look at most. */
  #used: readonly Used[] = []
  #last: ProcessorReading
  /** Until when a look has seen more than the plan gives. */
  #overUntilMs = Number.NEGATIVE_INFINITY
  #baseUntilMs = Number.NEGATIVE_INFINITY

  constructor(options: ProcessorTimeOptions, deps: ProcessorTimeDeps) {
    const { processorPercentMax, processorBurstFactor, queriesPerSecondMax: max } = options
    this.#options = options
    this.#deps = deps
    this.#allowedMs = processorMsPerMinute(processorPercentMax)
    this.maxMs = this.#allowedMs * processorBurstFactor
    this.#base = max === 0 ? null : { limit, window: new ExactWindow({ max, windowMs: secondMs }) }
    this.#last = deps.read()
  }

  /** Looks once a second from now on; what was used before is nobody's. */
  start(): void {
    this.#last = this.#deps.read()
    this.#timer = setInterval(() => this.look(), lookMs).unref()
  }

  /** Counts what was used since it was looked at last. */
  look(): void {
    const atMs = this.#deps.now()
    const reading = this.#deps.read()
    const usedMs = usedBetween(this.#last, reading)
    this.#last = reading
    this.#used = [...this.#used.filter((one) => one.atMs + minuteMs > atMs), ...(usedMs > 0 ? [{ atMs, usedMs }] : [])]
    const minute = this.usedAt(atMs)
    if (minute > this.#allowedMs) this.#overUntilMs = atMs + minuteMs
    if (minute >= this.maxMs) this.#reach(atMs, minute)
  }

  /** Milliseconds within the last minute. */
  usedAt(nowMs: number): number {
    return Math.round(this.#used.reduce((sum, { atMs, usedMs }) => (atMs + minuteMs > nowMs ? sum + usedMs : sum), 0))
  }

  /** Until queries have more room than now. */
  resetMsAt(nowMs: number): number {
    if (this.#isAtBaseRate(nowMs)) return this.#baseUntilMs - nowMs
    const oldest = this.#used.find(({ atMs }) => atMs + minuteMs > nowMs)
    return oldest === undefined ? 0 : oldest.atMs + minuteMs - nowMs
  }

  standingAt(nowMs: number): Standing {
    if (this.#isReached(nowMs)) return 'reached'
    return nowMs < this.#overUntilMs ? 'warning' : 'ok'
  }

  /** The error (PROCESSOR_TIME_EXCEEDED, 429) of a query that may not go on for it; null for one that may. */
  refusal(): ApiError | null {
    const nowMs = this.#deps.now()
    if (!this.#isReached(nowMs)) return null
    const baseWindow = this.#base?.window
    if (baseWindow !== undefined && baseWindow.usedAt(nowMs) < baseWindow.max) return null
    const baseMs = baseWindow === undefined ? this.#roomMsAt(nowMs) : this.#baseUntilMs - nowMs
    const resetMs = baseWindow === undefined ? baseMs : Math.min(baseMs, baseWindow.resetMsAt(nowMs))
    return errors.PROCESSOR_TIME_EXCEEDED({
      maxMs: this.maxMs,
      baseRate: baseWindow?.max ?? 0,
      baseSeconds: Math.ceil(baseMs / secondMs),
      retryAfterSeconds: Math.max(1, Math.ceil(resetMs / secondMs)),
    })
  }

  /** Counts a query that goes on. */
  count(): void {
    const nowMs = this.#deps.now()
    // The window never has more than its maximum: while the base rate holds, `refusal` has said that there is room.
    const window = this.#base?.window
    if (window !== undefined && this.#isAtBaseRate(nowMs)) window.add(nowMs)
  }

  /** What the base rate has left while it holds; null while it does not. */
  facts(): WindowFacts | null {
    const nowMs = this.#deps.now()
    return this.#base !== null && this.#isAtBaseRate(nowMs) ? factsOf(this.#base, nowMs) : null
  }

  /** The window that holds now; null for none. */
  get baseRate(): LimitedWindow | null {
    return this.#isAtBaseRate(this.#deps.now()) ? this.#base : null
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #isReached(nowMs: number): boolean {
    return this.#base === null ? this.usedAt(nowMs) >= this.maxMs : this.#isAtBaseRate(nowMs)
  }

  #isAtBaseRate(nowMs: number): boolean {
    return this.#base !== null && nowMs < this.#baseUntilMs
  }

  /** Until the last minute has had less than it may. */
  #roomMsAt(nowMs: number): number {
    let leftMs = this.usedAt(nowMs)
    for (const { atMs, usedMs } of this.#used) {
      if (atMs + minuteMs <= nowMs) continue
      leftMs -= usedMs
      if (leftMs < this.maxMs) return atMs + minuteMs - nowMs
    }
    return 0
  }

  #reach(nowMs: number, usedMs: number): void {
    const wasReached = nowMs < this.#baseUntilMs
    const { processorBaseRateMs, queriesPerSecondMax } = this.#options
    this.#baseUntilMs = nowMs + processorBaseRateMs
    if (wasReached) return
    const fields = { usedMs, maxMs: this.maxMs, queriesPerSecondMax, durationMs: processorBaseRateMs }
    this.#deps.logger.warn(fields, 'Queries have used the processor time of a minute; they are limited.')
  }
}

function usedBetween(last: ProcessorReading, next: ProcessorReading): number {
  const threadMs = Math.max(0, next.threadMs - last.threadMs)
  if (next.engine === null) return threadMs
  const before = last.engine?.pid === next.engine.pid ? last.engine.processorMs : 0
  return Math.min(threadMs, Math.max(0, next.engine.processorMs - before))
}
