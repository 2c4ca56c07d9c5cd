import t from 'tap'
import { testSeed } from '../support/seeded-random.ts'
import { runChanges } from './change-run.ts'

t.test('an alter and a replay that are killed are whole or were not, and no row is lost or doubled', async (t) => {
  const seed = testSeed()
  const { checks, words, ...report } = await runChanges({ rounds: 4, rowsPerRound: 60_000, seed })
  t.comment(`SEED=${seed}: ${JSON.stringify(report)}`)
  t.equal(report.kills, 8)
  t.ok(report.done > 0)
  t.same(words.errors, [])
  for (const { what, expected, found } of checks) t.strictSame(found, expected, what)
})
