import t from 'tap'
import { runBehind } from '../support/kill/behind-run.ts'
import { testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'

for (const hasImports of [false, true]) {
  const sent = hasImports ? 'row of imports and events' : 'event'
  t.test(`a view that is parked and catches up has each ${sent} once, whenever a kill comes`, async (t) => {
    const rounds = byTier({ quick: 2, full: 4, soak: 300 })
    const seed = testSeed()
    const { faults, words, ...report } = await runBehind({ rounds, seed, hasImports })
    t.comment(`SEED=${seed}: ${JSON.stringify({ ...report, repairs: words.repairs, engineEnds: words.engineEnds })}`)
    t.same(faults, [])
    t.same(words.errors, [])
    t.equal(report.kills, rounds)
  })
}
