import type { LimitBook, LimitUse } from '../../limits/limit-book.ts'

/** What `GET /v0/limits` tells. */
export function limitsShape({ plan, planVariant, overageCount }: LimitBook, uses: readonly LimitUse[]): object {
  return {
    plan,
    plan_variant: planVariant,
    queries_over_rate: overageCount,
    limits: uses.map(limitShape),
  }
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
