// Graphs of views at random, with what comes to data sources and is done to them, kills among it: each data source must have what the
// queries of the views into it give over all rows that they have seen since it was last computed. Those lie in shadow tables.

import t from 'tap'
import { runViewModel } from '../support/materialize/view-model-run.ts'
import { testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'

const seed = testSeed()
const graphCount = byTier({ quick: 1, full: 2, soak: 20 })
const steps = byTier({ quick: 15, full: 20, soak: 100 })
const killsMax = byTier({ quick: 1, full: 3, soak: 1_000 })
/** What a kill of the engine has refused is no fault. */
const refusals = /"code":"(?:ENGINE_RESTARTED|ENGINE_UNAVAILABLE)"/

for (let graph = 0; graph < graphCount; graph += 1) {
  // The first one has the longest ways.
  const depth = 4 - (graph % 4)
  t.test(`graph ${graph}, whose ways have up to ${depth + 1} views`, { timeout: 14_400_000 }, async (t) => {
    const options = { steps, depth, seed: seed + graph, checkEvery: 10, killsMax }
    const { wrong, words, ...report } = await runViewModel(options)
    t.comment(`SEED=${seed + graph}: ${JSON.stringify(report)}`)
    t.same(wrong, [], `SEED=${seed + graph}`)
    t.same(
      words.errors.filter((line) => !refusals.test(line)),
      [],
    )
    t.ok(report.compared > 0)
  })
}
