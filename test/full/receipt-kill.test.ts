import t from 'tap'
import { runReceipts } from '../support/kill/receipt-run.ts'
import { testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'

t.test(
  'a read with the receipt of a write that was just acknowledged sees it, under load and over kills',
  async (t) => {
    const writes = byTier({ quick: 100, full: 300, soak: 10_000 })
    const kills = byTier({ quick: 2, full: 3, soak: 30 })
    const seed = testSeed()
    const { misses, words, ...report } = await runReceipts({ writes, kills, seed })
    t.comment(`SEED=${seed}: ${JSON.stringify({ ...report, repairs: words.repairs, engineEnds: words.engineEnds })}`)
    t.same(misses, [])
    // Reads that were under way when the engine alone was killed; they were repeated.
    t.same(
      words.errors.filter((line) => !line.includes('"code":"ENGINE_RESTARTED"')),
      [],
    )
    t.match(report, { reads: writes, kills })
  },
)
