import t from 'tap'
import { runBehind } from '../support/kill/behind-run.ts'
import { testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'

t.test('a view that is parked and catches up has each event once, whenever a kill comes', async (t) => {
  const rounds = byTier({ quick: 2, full: 4, soak: 300 })
  const seed = testSeed()
  const { faults, words, ...report } = await runBehind({ rounds, seed })
  t.comment(`SEED=${seed}: ${JSON.stringify({ ...report, repairs: words.repairs, engineEnds: words.engineEnds })}`)
  t.same(faults, [])
  t.same(words.errors, [])
  t.equal(report.kills, rounds)
})
