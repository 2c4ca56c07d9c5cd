import t from 'tap'
import { runTargets } from '../support/kill/target-run.ts'
import { testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'

t.test(
  'a data source that is made anew, or a view that is linked again, is so or is not, whenever a kill comes',
  async (t) => {
    const rounds = byTier({ quick: 3, full: 3, soak: 300 })
    const seed = testSeed()
    const { faults, words, ...report } = await runTargets({ rounds, seed })
    t.comment(`SEED=${seed}: ${JSON.stringify({ ...report, repairs: words.repairs, engineEnds: words.engineEnds })}`)
    t.same(faults, [])
    t.same(words.errors, [])
    t.equal(report.kills, rounds)
  },
)
