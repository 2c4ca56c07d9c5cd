import t from 'tap'
import { testSeed } from '../support/seeded-random.ts'
import { runKills } from './kill-run.ts'

// `npm run test:kill` does the same as often as it is told; the CI does it a hundred times.
t.test('a service that is killed under load stores each acknowledged row once, through three views', async (t) => {
  const seed = testSeed()
  const { acknowledged, stored, words } = await runKills({ kills: 10, producers: 4, seed, lifeMsMax: 700 })
  t.comment(`SEED=${seed}: ${JSON.stringify(acknowledged)}, ${words.repairs} orphan records dropped`)
  t.ok(acknowledged.failedTries > 0 && acknowledged.quarantined > 0, 'kills hit requests, and some rows are bad')
  t.same(words.errors, [])
  for (const { place, expected, rows, distinct } of stored) {
    t.strictSame({ rows, distinct }, { rows: expected, distinct: expected }, place)
  }
})
