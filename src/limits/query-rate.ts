import type { RateFacts } from '../shared/errors/definition.ts'
import { ExactWindow } from './exact-window.ts'
import type { OverageDays } from './overage-days.ts'
import type { ProcessorTime } from './processor-time.ts'
import { type LimitedWindow, leastOf, policyOf, RateLimit } from './rate-limit.ts'
import type { Window } from './window.types.ts'

export interface QueryRateOptions {
  /** The rate that a plan gives; 0 sets no limit. */
  readonly perSecondMax: number
  /** How many times that one second may bring. */
  readonly burstFactor: number
  /** Where queries over the rate and within its bursts are counted, which are never refused then; null where they are. */
  readonly overageDays: OverageDays | null
  /** Null sets no limit. */
  readonly perDay: Window | null
  /** Null sets no limit. */
  readonly processorTime: ProcessorTime | null
  /** Milliseconds of a clock that is never set back. */
  readonly now: () => number
}

/**
 * The rate of queries: bursts within one second, the rate itself on the average of a minute, and so many a day. Where
 * overage is billed, the average refuses nothing, and each query over the rate counts as overage. Once the processor time of a minute is
 * used up, the rate itself holds for each second.
 */
export class QueryRate extends RateLimit {
  /** Queries over the rate that passed, since the start of the service. */
  overageCount = 0
  readonly processorTime: ProcessorTime | null
  readonly overageDays: OverageDays | null
  readonly #rate: Window | null
  readonly #nowMs: () => number

  constructor(options: QueryRateOptions) {
    super({ what: 'Queries', windows: windowsOf(options), now: options.now })
    const { perSecondMax: max, overageDays, processorTime, now } = options
    this.overageDays = overageDays
    this.processorTime = processorTime
    this.#rate = overageDays !== null && max > 0 ? new ExactWindow({ max, windowMs: secondMs }) : null
    this.#nowMs = now
  }

  override take(): ReturnType<RateLimit['take']> {
    const refusal = this.processorTime?.refusal() ?? super.take()
    if (refusal !== null) return refusal
    this.processorTime?.count()
    if (this.#rate !== null) this.#countOverage(this.#rate, this.#nowMs())
    return null
  }

  override facts(): RateFacts | null {
    return leastOf([this.processorTime?.facts() ?? [], super.facts() ?? []].flat())
  }

  override get policy(): string {
    const baseRate = this.processorTime?.baseRate ?? null
    return [...(baseRate === null ? [] : [policyOf(baseRate)]), ...(super.policy === '' ? [] : [super.policy])].join(
      ', ',
    )
  }

  #countOverage(rate: Window, nowMs: number): void {
    if (rate.usedAt(nowMs) < rate.max) {
      rate.add(nowMs)
      return
    }
    this.overageCount += 1
    this.overageDays?.add(nowMs)
  }
}

const secondMs = 1_000
const minuteMs = 60_000

function windowsOf({ perSecondMax, burstFactor, overageDays, perDay }: QueryRateOptions): readonly LimitedWindow[] {
  const windows: LimitedWindow[] = []
  if (perSecondMax > 0) {
    const window = new ExactWindow({ max: perSecondMax * burstFactor, windowMs: secondMs })
    windows.push({ limit: 'queries_per_second', window })
  }
  if (perSecondMax > 0 && overageDays === null) {
    const window = new ExactWindow({ max: perSecondMax * (minuteMs / secondMs), windowMs: minuteMs })
    windows.push({ limit: 'queries_per_minute', window })
  }
  if (perDay !== null) windows.push({ limit: 'queries_per_day', window: perDay })
  return windows
}
