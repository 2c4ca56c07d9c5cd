import t from 'tap'
import { runChanges } from '../support/kill/change-run.ts'
import { testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'

t.test('an alter and a replay that are killed are whole or were not, and no row is lost or doubled', async (t) => {
  const seed = testSeed()
  const rounds = byTier({ quick: 3, full: 3, soak: 100 })
  const rowsPerRound = byTier({ quick: 20_000, full: 20_000, soak: 60_000 })
  const { checks, words, ...report } = await runChanges({ rounds, rowsPerRound, seed })
  t.comment(`SEED=${seed}: ${JSON.stringify(report)}`)
  t.equal(report.kills, 2 * rounds)
  t.ok(report.done > 0)
  t.same(words.errors, [])
  for (const { what, expected, found } of checks) t.strictSame(found, expected, what)
})
