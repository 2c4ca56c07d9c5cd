import t from 'tap'
import { runDeletes } from '../support/kill/delete-run.ts'
import { testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'

t.test('a delete of rows that is killed is carried out once, and takes nothing else', async (t) => {
  const seed = testSeed()
  const rounds = byTier({ quick: 6, full: 6, soak: 200 })
  const report = await runDeletes({ rounds, rowsPerRound: byTier({ quick: 2_000, full: 5_000, soak: 50_000 }), seed })
  t.comment(`SEED=${seed}: ${JSON.stringify(report)}`)
  t.same(report.wrong, [])
  // A delete that the engine's end has met while it was judged is refused.
  t.same(
    report.words.errors.filter((line) => !line.includes('"code":"ENGINE_RESTARTED"')),
    [],
  )
  t.ok(report.done > 0)
})
