import t from 'tap'
import { runViews } from '../support/kill/view-run.ts'
import { testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'

t.test('a view that is made or dropped when a kill comes is there or is not, and sees whole blocks', async (t) => {
  const seed = testSeed()
  const rounds = byTier({ quick: 5, full: 5, soak: 300 })
  const { faults, words, ...report } = await runViews({ rounds, seed })
  t.comment(`SEED=${seed}: ${JSON.stringify(report)}`)
  t.equal(report.kills, rounds)
  t.same(faults, [])
  // What the engine's end has met is refused.
  t.same(
    words.errors.filter((line) => !/"code":"ENGINE_(?:RESTARTED|UNAVAILABLE)"/.test(line)),
    [],
  )
})
