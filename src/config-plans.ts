// The plans: named sets of defaults. An option that is given goes before its plan.

import type { DefaultBasis, DerivedDefault, OptionDefinition, PlanName, PlanVariant, Unit } from './config.types.ts'
import { formatBytes } from './shared/bytes.ts'

/** Set before all options whose default they choose. */
export const planOptions = {
  plan: {
    kind: 'choice',
    choices: ['unlimited', 'free', 'developer', 'saas', 'enterprise', 'enterprise-dedicated'],
    default: 'unlimited',
    sentence:
      'Set of defaults for [limits](limits.md), named as the hosted service names its plans. `unlimited` has no rates and keeps the limits that protect the service. A limit whose own option is given has that value in every plan.',
  },
  planVariant: {
    kind: 'choice',
    choices: ['a', 'b'],
    default: 'a',
    sentence:
      'Which of two published values a plan has: `a` is the newer edition with values by plan, `b` the older one with the same for all.',
  },
} as const satisfies Readonly<Record<string, OptionDefinition>>

/** What a limit is in each plan but `unlimited`. */
type PlanValues = Readonly<Record<Exclude<PlanName, 'unlimited'>, number>>

/** The same in all plans, but for those that are named. */
export function inPlans(value: number, others: Partial<PlanValues> = {}): PlanValues {
  const all = { free: value, developer: value, saas: value, enterprise: value, 'enterprise-dedicated': value }
  return { ...all, ...others }
}

interface Planned {
  readonly unit: Unit | null
  readonly unlimited: number
  /** Of the newer edition. */
  readonly a: PlanValues
  /** Of the older one, where it has other values. */
  readonly b?: PlanValues
}

/** A default that the plan chooses. */
export function byPlan({ unit, unlimited, a, b }: Planned): DerivedDefault {
  const of = (variant: PlanVariant): PlanValues => (variant === 'b' ? (b ?? a) : a)
  const other = b === undefined ? '' : `; variant b: ${textOf(b, unit)}`
  return {
    text: `${shown(unlimited, unit)}; ${textOf(a, unit)}${other}`,
    from: ({ plan, planVariant }: DefaultBasis) => (plan === 'unlimited' ? unlimited : of(planVariant)[plan]),
  }
}

function textOf(values: PlanValues, unit: Unit | null): string {
  const distinct = new Set(Object.values(values))
  const [only] = distinct
  if (distinct.size === 1 && only !== undefined) return `${shown(only, unit)} in every other plan`
  return Object.entries(values)
    .map(([plan, value]) => `${plan} ${shown(value, unit)}`)
    .join(', ')
}

function shown(value: number, unit: Unit | null): string {
  return unit === 'bytes' && value > 0 ? formatBytes(value) : String(value)
}
