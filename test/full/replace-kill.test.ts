import t from 'tap'
import { runReplaces } from '../support/kill/replace-run.ts'
import { testSeed } from '../support/seeded-random.ts'

// `npm run test:full` does the same with five replaces and two kills, `npm run test:kill` as often as it is told.
t.test(
  'readers see old or new content in all tables of a cascade, whenever they ask and whatever is killed',
  async (t) => {
    const seed = testSeed()
    const report = await runReplaces({
      readers: 4,
      replaces: 4,
      kills: 1,
      seed,
    })
    t.comment(`SEED=${seed}: ${JSON.stringify(report)}`)
    t.same(report.wrong, [])
    t.same(report.stagingLeft, [])
    t.same(report.words.errors, [])
    t.ok(report.reads > 20)
  },
)
