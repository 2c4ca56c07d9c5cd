import t from 'tap'
import { testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'
import { runReplaces } from './replace-run.ts'

// `npm run test:kill -- --replaces 50 --readers 8 --replace-kills 20` does the same as often as it is told.
t.test(
  'readers see old or new content in all tables of a cascade, whenever they ask and whatever is killed',
  async (t) => {
    const seed = testSeed()
    const report = await runReplaces({
      readers: 4,
      replaces: byTier({ quick: 5, full: 15, soak: 50 }),
      kills: byTier({ quick: 2, full: 5, soak: 20 }),
      seed,
    })
    t.comment(`SEED=${seed}: ${JSON.stringify(report)}`)
    t.same(report.wrong, [])
    t.same(report.stagingLeft, [])
    t.same(report.words.errors, [])
    t.ok(report.reads > 20)
  },
)
