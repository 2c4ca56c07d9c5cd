import process from 'node:process'

const tiers = ['quick', 'full', 'soak'] as const
type Tier = (typeof tiers)[number]

/** The tier that runs: `npm test` is quick, `npm run test:full` and `npm run test:soak` say theirs in `TEST_TIER`. */
function testTier(): Tier {
  const text = process.env['TEST_TIER'] ?? 'quick'
  const tier = tiers.find((name) => name === text)
  if (tier === undefined) throw new Error(`TEST_TIER is ${text}; it must be one of ${tiers.join(', ')}`)
  return tier
}

/**
 * How often a random test tries, or how much it makes, in each tier: what a newcomer waits for, what the CI can afford,
 * and the count that is promised. `npm run test:full` runs again just the files that use this.
 */
export function byTier(counts: Readonly<Record<Tier, number>>): number {
  return counts[testTier()]
}

/** Every `step`th of the items, another part of them for each `shift`: what a quick tier takes of a long list. */
export function everyNth<Item>(items: readonly Item[], step: number, shift = 0): readonly Item[] {
  return items.filter((_, index) => (index + shift) % step === 0)
}
