// The rates of the service: requests of some kinds, counted in windows that slide. Where a rate has no limit there is no object,
// so that the default plan does not even look at a clock.

import type { Logger } from '../observe/logger.ts'
import type { LimitName } from '../shared/limit-names.ts'
import type { Settings } from '../storage/settings.ts'
import { CountKeeper } from './count-keeper.ts'
import { ExactWindow } from './exact-window.ts'
import { KeptWindow } from './kept-window.ts'
import { isOverageCounted, type LimitOptions } from './limit-table.ts'
import { OverageDays } from './overage-days.ts'
import { type ProcessorReading, ProcessorTime } from './processor-time.ts'
import { QueryRate } from './query-rate.ts'
import { RateLimit } from './rate-limit.ts'

/** 0 sets no limit. */
export type RatesOptions = Pick<
  LimitOptions,
  | 'importsPerMinuteMax'
  | 'eventsPerSecondMax'
  | 'plan'
  | 'processorBaseRateMs'
  | 'processorBurstFactor'
  | 'processorPercentMax'
  | 'queriesBurstFactor'
  | 'queriesOverage'
  | 'queriesPerDayMax'
  | 'queriesPerSecondMax'
  | 'schemaCreatesPerMinuteMax'
  | 'variablesRequestsPerSecondMax'
>

export interface RatesDeps {
  /** Where windows of more than a minute, and overage, are kept over a restart. */
  readonly settings: Settings
  readonly logger: Pick<Logger, 'warn'>
  /** What queries have used of the processor. It is asked once a second where that is limited. */
  readonly processorUse: () => ProcessorReading
  /** Epoch milliseconds of a clock that is not set back while the process lives. */
  readonly now: () => number
}

/** Null where there is no limit. */
export interface Rates {
  readonly createsFromSchema: RateLimit | null
  readonly imports: RateLimit | null
  readonly events: RateLimit | null
  readonly secretRequests: RateLimit | null
  readonly queries: QueryRate | null
  /** From here on queries are those of callers: what the start itself has asked the engine does not count. */
  start(): void
  /** Writes down what is kept. */
  close(): Promise<void>
}

const secondMs = 1_000
const minuteMs = 60_000
const dayMs = 86_400_000

/** Opens the rates, with what earlier processes have counted. */
export function openRates(options: RatesOptions, deps: RatesDeps): Rates {
  const { now } = deps
  const single = (limit: LimitName, what: string, max: number, windowMs: number): RateLimit | null =>
    max === 0 ? null : new RateLimit({ what, windows: [{ limit, window: new ExactWindow({ max, windowMs }) }], now })
  const perDay =
    options.queriesPerDayMax === 0 ? null : new KeptWindow({ max: options.queriesPerDayMax, windowMs: dayMs })
  const overageDays = options.queriesPerSecondMax > 0 && isOverageCounted(options) ? new OverageDays() : null
  const queries = queryRate(options, { perDay, overageDays }, deps)
  const keepers = [
    ...(perDay === null ? [] : [new CountKeeper(deps, 'queries_per_day', perDay)]),
    ...(overageDays === null ? [] : [new CountKeeper(deps, 'overage_days', overageDays)]),
  ]
  return {
    createsFromSchema: single(
      'creates_from_schema',
      'Creations of Data Sources from a schema',
      options.schemaCreatesPerMinuteMax,
      minuteMs,
    ),
    imports: single(
      'imports',
      'Creations from files and URLs, appends and replaces, counted together,',
      options.importsPerMinuteMax,
      minuteMs,
    ),
    events: single('events', 'Requests with events', options.eventsPerSecondMax, secondMs),
    secretRequests: single(
      'secret_requests',
      'Requests about variables',
      options.variablesRequestsPerSecondMax,
      secondMs,
    ),
    queries,
    start: () => queries?.processorTime?.start(),
    async close() {
      queries?.processorTime?.close()
      for (const keeper of keepers) await keeper.close()
    },
  }
}

interface KeptQueries {
  readonly perDay: KeptWindow | null
  readonly overageDays: OverageDays | null
}

function queryRate(options: RatesOptions, kept: KeptQueries, deps: RatesDeps): QueryRate | null {
  const { queriesPerSecondMax: perSecondMax, queriesBurstFactor: burstFactor, processorPercentMax } = options
  if (perSecondMax === 0 && kept.perDay === null && processorPercentMax === 0) return null
  const processorTime =
    processorPercentMax === 0 ? null : new ProcessorTime(options, { ...deps, read: deps.processorUse })
  return new QueryRate({ perSecondMax, burstFactor, ...kept, processorTime, now: deps.now })
}
