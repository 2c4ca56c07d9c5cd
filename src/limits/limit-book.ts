import type { LimitName } from '../shared/limit-names.ts'
import type { LimitHits } from './limit-hits.ts'
import { type LimitOptions, type LimitRow, limitTable } from './limit-table.ts'
import { Overage, type OverageUse } from './overage.ts'
import type { Rates } from './rates.ts'
import type { Counted, Standing } from './window.types.ts'

/** How much of a limit is used. */
export interface LimitUse
  extends Pick<LimitRow, 'group' | 'name' | 'options' | 'scope' | 'unit' | 'what' | 'windowSeconds'> {
  /** Null where there is no limit. */
  readonly max: number | null
  /** Null where nothing adds up: sizes of a request, what each token has by itself. */
  readonly used: number | null
  /** Until there is more room; null without a window that counts. */
  readonly resetSeconds: number | null
  /** Refusals since the start of the service. */
  readonly refusedCount: number
  /** Where it stands, for a limit that knows more of it than `used` and `max` say; null for the others. */
  readonly standing: Standing | null
  /** What it is used by on each day, oldest first, where that is known; null for the others. */
  readonly days: readonly OverageUse[] | null
}

export interface LimitBookDeps {
  readonly rates: Rates
  readonly hits: Pick<LimitHits, 'countOf'>
  /** Milliseconds of the clock of the rates. */
  readonly now: () => number
}

/** What is limited, and how much of it is used. */
export class LimitBook {
  readonly plan: string
  readonly planVariant: string
  /** Null where queries over the rate are not counted. */
  readonly overage: Overage | null
  readonly #options: LimitOptions
  readonly #deps: LimitBookDeps
  readonly #counted: ReadonlyMap<LimitName, Counted>

  constructor(options: LimitOptions, deps: LimitBookDeps) {
    this.plan = options.plan
    this.planVariant = options.planVariant
    this.#options = options
    this.#deps = deps
    const { createsFromSchema, imports, events, secretRequests, queries } = deps.rates
    const rates = [createsFromSchema, imports, events, secretRequests, queries]
    const processorTime = queries?.processorTime ?? null
    const overageDays = queries?.overageDays ?? null
    this.overage = overageDays === null ? null : new Overage(options, overageDays)
    this.#counted = new Map<LimitName, Counted>([
      ...rates.flatMap((rate) => rate?.windows ?? []).map(({ limit, window }) => [limit, window] as const),
      ...(processorTime === null ? [] : [['processor_time', processorTime] as const]),
      ...(this.overage === null ? [] : [['overage_costs', this.overage] as const]),
    ])
  }

  /** Queries over the rate of the plan that passed, since the start of the service; null where they are not counted. */
  get overageCount(): number | null {
    return this.#deps.rates.queries?.overageCount ?? null
  }

  /** The month that is now. */
  get overageOfMonth(): OverageUse | null {
    return this.overage?.monthAt(this.#deps.now()) ?? null
  }

  /** All limits in the order of the table. @param counts what is there of that which the rates do not count. */
  uses(counts: ReadonlyMap<LimitName, number>): readonly LimitUse[] {
    const nowMs = this.#deps.now()
    return limitTable.map(({ max, ...row }) => {
      const counted = this.#counted.get(row.name)
      return {
        ...row,
        max: max(this.#options),
        used: counted?.usedAt(nowMs) ?? counts.get(row.name) ?? null,
        resetSeconds: counted === undefined ? null : Math.ceil(counted.resetMsAt(nowMs) / 1_000),
        refusedCount: this.#deps.hits.countOf(row.name),
        standing: counted?.standingAt?.(nowMs) ?? null,
        days: row.name === 'overage_costs' ? (this.overage?.daysInMonthOf(nowMs) ?? null) : null,
      }
    })
  }
}
