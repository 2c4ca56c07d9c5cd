import t from 'tap'
import { linesOfDocument } from '../../../src/ingest/parse/json-lines.ts'
import { SeededRandom, testSeed } from '../../support/seeded-random.ts'

function linesOf(text: string): readonly string[] | null {
  const lines = linesOfDocument(Buffer.from(text))
  if (lines === null) return null
  return Buffer.from(lines)
    .toString()
    .split('\n')
    .filter((line) => line.trim() !== '')
}

t.test('an object is one line, an array a line for each element, whatever stands in its strings', async (t) => {
  t.same(linesOf('{\r\n "a": 1\n}'), ['{   "a": 1 }'])
  t.same(linesOf('\ufeff {"a":"},]["}\n'), ['{"a":"},]["}'])
  t.same(linesOf('[{"a":"\\"]"},\n{"b":[1,2,{"c":[]}]} , 5]'), ['{"a":"\\"]"}', ' {"b":[1,2,{"c":[]}]} ', ' 5'])
  t.same(linesOf('[]'), [])
  t.same(linesOf(' \n'), [])
  t.same(linesOf(''), [])
})

t.test('what is no one document is not taken apart', async (t) => {
  for (const text of [
    'x',
    '"a"',
    '5',
    '{',
    '[',
    '[1',
    '[1,',
    '[1,]',
    '[,1]',
    '{} {}',
    '[] []',
    '{"a',
    '{"a\nb":1}',
    '[1]]',
    '[}',
    '{"a":"\\',
  ]) {
    t.equal(linesOf(text), null, text)
  }
})

t.test('documents of every shape keep their records', async (t) => {
  const random = new SeededRandom(testSeed())
  const value = (depth: number): unknown => {
    const kind = random.below(depth > 3 ? 4 : 6)
    if (kind === 0) return random.pick(['', '"', '\\', '],[', '{}', '\n', 'é\u2028', ' '])
    if (kind === 1) return random.below(1000)
    if (kind === 2) return null
    if (kind === 3) return true
    const items = Array.from({ length: random.below(4) }, () => value(depth + 1))
    return kind === 4 ? items : Object.fromEntries(items.map((item, index) => [`k${index}"[`, item]))
  }
  for (let round = 0; round < 300; round += 1) {
    const records = Array.from({ length: random.below(5) }, () => ({ v: value(0) }))
    const indent = random.pick([0, 1, '\t'])
    const found = linesOf(JSON.stringify(records, null, indent))
    t.same(
      found?.map((line) => JSON.parse(line)),
      records,
    )
    t.same(
      linesOf(JSON.stringify({ records }, null, indent))?.map((line) => JSON.parse(line)),
      [{ records }],
    )
  }
})
