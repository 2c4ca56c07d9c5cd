import type { LimitBook, LimitUse } from '../../limits/limit-book.ts'
import type { OverageUse } from '../../limits/overage.ts'

/** What `GET /v0/limits` tells. */
export function limitsShape(limitBook: LimitBook, uses: readonly LimitUse[]): object {
  return {
    plan: limitBook.plan,
    plan_variant: limitBook.planVariant,
    queries_over_rate: limitBook.overageCount,
    overage: overageShape(limitBook),
    limits: uses.map(limitShape),
  }
}

/** Null where queries over the rate are not counted. */
function overageShape({ overage, overageOfMonth: month }: LimitBook): object | null {
  return overage === null || month === null
    ? null
    : { month: overageUseShape(month), days: overage.days.map(overageUseShape) }
}

function overageUseShape({ startMs, queries, cost }: OverageUse): object {
  return { from: dateText(startMs), queries, cost }
}

function limitShape(use: LimitUse): object {
  const { name, group, what, scope, unit, max, used, windowSeconds, resetSeconds, refusedCount, options } = use
  return {
    name,
    group,
    description: what,
    scope,
    unit,
    max,
    used,
    remaining: max === null || used === null ? null : Math.max(0, max - used),
    window_seconds: windowSeconds,
    reset_seconds: resetSeconds,
    refused: refusedCount,
    status: statusOf(use),
    options,
  }
}

/** The specification warns at three quarters. */
const warningShare = 0.75

function statusOf({ group, max, used, standing }: LimitUse): string {
  if (group === 'no object yet') return 'no_object_yet'
  if (max === null) return 'unlimited'
  if (standing !== null) return standing
  if (used === null) return 'limited'
  if (used >= max) return 'reached'
  return used > max * warningShare ? 'warning' : 'ok'
}

function dateText(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 10)
}
