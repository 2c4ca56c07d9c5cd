import t from 'tap'
import { runRepairs } from '../support/kill/repair-run.ts'
import { testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'

t.test('a repair that is killed leaves each row in the view once, beside events', async (t) => {
  const seed = testSeed()
  const rounds = byTier({ quick: 2, full: 2, soak: 200 })
  const report = await runRepairs({ rounds, rows: byTier({ quick: 10_000, full: 10_000, soak: 100_000 }), seed })
  t.comment(`SEED=${seed}: ${JSON.stringify(report)}`)
  t.same(report.wrong, [])
  t.ok(report.done > 0)
  t.ok(report.partitions > 0)
})
