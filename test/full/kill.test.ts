import t from 'tap'
import { runBarriers } from '../support/kill/barrier-run.ts'
import { runKills } from '../support/kill/kill-run.ts'
import { testSeed } from '../support/seeded-random.ts'

// `npm run test:full` does the same with ten kills, `npm run test:kill` as often as it is told.
t.test('a service that is killed under load stores each acknowledged row once, through three views', async (t) => {
  const seed = testSeed()
  const { acknowledged, stored, words } = await runKills({
    kills: 3,
    producers: 4,
    seed,
    lifeMsMax: 700,
  })
  t.comment(`SEED=${seed}: ${JSON.stringify(acknowledged)}, ${words.repairs} orphan records dropped`)
  t.ok(acknowledged.failedTries > 0 && acknowledged.quarantined > 0, 'kills hit requests, and some rows are bad')
  t.same(words.errors, [])
  t.ok(words.engineEnds > 0, 'the service outlives its engine')
  for (const { place, expected, rows, distinct } of stored) {
    t.strictSame({ rows, distinct }, { rows: expected, distinct: expected }, place)
  }
})

t.test(
  'a data source that is dropped under load and kills is gone or whole, and its namesake begins anew',
  async (t) => {
    const seed = testSeed()
    const rounds = 1
    const { checks, words, ...report } = await runBarriers({ rounds, producers: 4, seed, loadMsMax: 300 })
    t.comment(`SEED=${seed}: ${JSON.stringify(report)}`)
    t.equal(report.kills, 2 * rounds)
    t.equal(report.tablesLeft, 0)
    t.ok(report.rows > 0)
    t.same(words.errors, [])
    for (const { what, expected, stored } of checks) t.strictSame(stored, expected, what)
  },
)
