import t from 'tap'
import { runPopulates } from '../support/kill/populate-run.ts'
import { testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'

t.test('a populate that is killed fills each row once, beside events and through a cascade', async (t) => {
  const seed = testSeed()
  const rounds = byTier({ quick: 2, full: 2, soak: 200 })
  const report = await runPopulates({ rounds, rows: byTier({ quick: 5_000, full: 5_000, soak: 1_000_000 }), seed })
  t.comment(`SEED=${seed}: ${JSON.stringify(report)}`)
  t.same(report.wrong, [])
  t.ok(report.done > 0)
})
