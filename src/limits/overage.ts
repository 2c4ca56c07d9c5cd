// What queries over the rate cost, by day and month. Prices are the operator's: without them there are counts and no costs.

import { monthStartOf, nextMonthOf, type OverageDays } from './overage-days.ts'
import type { Counted } from './window.types.ts'

/** In millionths of the unit of money that prices are in; 0 where it is not known. */
export interface OveragePrices {
  /** Of one query over the rate. */
  readonly overagePriceMicros: number
  /** Of the plan, a month. */
  readonly baseFeeMicros: number
  /** Share of the base fee that costs may have until they are told of. */
  readonly overageCostPercentMax: number
}

/** One day that had queries over the rate. */
export interface OverageUse {
  /** Epoch milliseconds of its beginning in UTC. */
  readonly startMs: number
  readonly queries: number
  /** In the unit of money; null without a price. */
  readonly cost: number | null
}

const microsInOne = 1_000_000

/** What queries over the rate may cost in a month until it is told of; null where a price is not known. */
export function overageCostMax(prices: OveragePrices): number | null {
  const { overagePriceMicros, baseFeeMicros, overageCostPercentMax } = prices
  if (overagePriceMicros === 0 || baseFeeMicros === 0) return null
  return Math.round((baseFeeMicros * overageCostPercentMax) / 100) / microsInOne
}

/** Queries over the rate in this month, with what they cost. */
export class Overage implements Counted {
  readonly #prices: OveragePrices
  readonly #days: Pick<OverageDays, 'days' | 'inMonthOf'>

  constructor(prices: OveragePrices, days: Pick<OverageDays, 'days' | 'inMonthOf'>) {
    this.#prices = prices
    this.#days = days
  }

  /** The days that are known, oldest first. */
  get days(): readonly OverageUse[] {
    return this.#days.days.map((day) => ({ ...day, cost: this.#costOf(day.queries) }))
  }

  /** Those of the month. */
  daysInMonthOf(nowMs: number): readonly OverageUse[] {
    const fromMs = monthStartOf(nowMs)
    return this.days.filter(({ startMs }) => startMs >= fromMs)
  }

  monthAt(nowMs: number): OverageUse {
    const queries = this.#days.inMonthOf(nowMs)
    return { startMs: monthStartOf(nowMs), queries, cost: this.#costOf(queries) }
  }

  /** Costs of the month. */
  usedAt(nowMs: number): number {
    return this.monthAt(nowMs).cost ?? 0
  }

  resetMsAt(nowMs: number): number {
    return nextMonthOf(nowMs) - nowMs
  }

  #costOf(queries: number): number | null {
    const { overagePriceMicros } = this.#prices
    return overagePriceMicros === 0 ? null : (queries * overagePriceMicros) / microsInOne
  }
}
