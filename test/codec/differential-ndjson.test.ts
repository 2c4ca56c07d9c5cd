import t from 'tap'
import { FrameParser } from '../../src/codec/parse-frame.ts'
import { firstDifference } from '../support/codec/reference/compare-outcomes.ts'
import { countExactRows } from '../support/codec/reference/exact-rows.ts'
import { frameTask } from '../support/codec/reference/frame-tasks.ts'
import { joinLines, randomLines } from '../support/codec/reference/random-records.ts'
import { randomSchema } from '../support/codec/reference/random-schema.ts'
import { ndjsonOutcomes, referenceColumns } from '../support/codec/reference/reference-rows.ts'
import { TestRandom } from '../support/codec/reference/test-random.ts'
import { testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'

const recordsMin = byTier({ quick: 5_000, full: 30_000, soak: 2_000_000 })
/** Plans are compiled anew for each schema and used for several frames. */
const framesPerSchema = 3

t.test('the scanner and JSON.parse with the coercion table agree cell by cell and reason by reason', (t) => {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const random = new TestRandom(seed)
  const exactRows = countExactRows()
  const parser = new FrameParser()
  const counts = { row: 0, quarantine: 0, invalid: 0 }
  const total = () => counts.row + counts.quarantine + counts.invalid
  for (let schema = 0; total() < recordsMin; schema += 1) {
    const columns = randomSchema(random, { columnsMax: 8, hasPaths: true })
    const reference = referenceColumns(columns)
    for (let frame = 0; frame < framesPerSchema; frame += 1) {
      const bodies = Array.from({ length: random.between(1, 3) }, () =>
        joinLines(random, randomLines(random, columns, random.between(0, 90))),
      ).filter((body) => body.length > 0)
      if (bodies.length === 0) continue
      const outcomes = bodies.map((body) => ndjsonOutcomes(body, reference))
      const padding = random.pick(['', '"', '12345', '\n{"a":1}\n', '}', 'null,'])
      const result = parser.parse(frameTask(columns, bodies, { planKey: `schema ${schema}`, padding }))
      const difference = firstDifference(result, { columns, bodies: outcomes })
      for (const { kind } of outcomes.flat()) counts[kind] += 1
      if (difference === null) continue
      t.fail(`frame ${frame} of schema ${schema}: ${difference}`, { columns, bodies: bodies.map(String) })
      t.end()
      return
    }
  }
  const fastRows = counts.row - exactRows.count
  t.comment(`${total()} records: ${JSON.stringify(counts)}; ${fastRows} rows without the exact path for records`)
  t.ok(counts.row > total() * 0.3, 'rows are well represented')
  t.ok(counts.quarantine > total() * 0.1, 'so are records set aside')
  t.ok(counts.invalid > total() * 0.02, 'and lines that are no records')
  t.ok(fastRows > counts.row * 0.3, 'the scanner itself has taken in more than 30 % of the rows')
  t.end()
})
