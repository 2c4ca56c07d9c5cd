import t from 'tap'
import { runViews } from '../support/kill/view-run.ts'
import { testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'

t.test('a view that is made or dropped when a kill comes is there or is not, and sees whole blocks', async (t) => {
  const seed = testSeed()
  const rounds = byTier({ quick: 6, full: 8, soak: 300 })
  const { faults, words, ...report } = await runViews({ rounds, seed })
  t.comment(`SEED=${seed}: ${JSON.stringify(report)}`)
  t.equal(report.kills, rounds)
  t.same(faults, [])
  // A request whose engine is killed says so.
  t.same(
    words.errors.filter((line) => !line.includes('"code":"ENGINE_RESTARTED"')),
    [],
  )
})
