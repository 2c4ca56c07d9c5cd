import t from 'tap'
import { elementLines } from '../../../src/ingest/bodies/json-elements.ts'
import { SeededRandom, testSeed } from '../../support/seeded-random.ts'
import { byTier } from '../../support/tier.ts'

async function linesOf(text: string, random: SeededRandom, strictBytes = random.below(2_000)): Promise<string> {
  const bytes = Buffer.from(text)
  async function* cut(): AsyncGenerator<Uint8Array> {
    for (let start = 0; start < bytes.length; ) {
      const end = start + 1 + random.below(random.pick([1, 5, 200]))
      yield bytes.subarray(start, end)
      start = end
    }
  }
  const pieces: Uint8Array[] = []
  for await (const piece of elementLines(cut(), strictBytes)) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

function randomValue(random: SeededRandom, depth: number): unknown {
  const texts: readonly [string, ...string[]] = ['', '[', ']}', '"', '\\', '\\"', ',', 'é,\n', '{"x":[', '\u2028']
  const kind = random.below(depth > 3 ? 3 : 5)
  if (kind === 0) return random.pick(texts)
  if (kind === 1) return random.pick([0, -1.5, 1e30, null, true])
  if (kind === 2) return texts.join(random.pick(texts))
  const count = random.below(4)
  if (kind === 3) return Array.from({ length: count }, () => randomValue(random, depth + 1))
  return Object.fromEntries(
    Array.from({ length: count }, (_, key) => [random.pick(texts) + key, randomValue(random, depth + 1)]),
  )
}

t.test('the elements of an array become lines, wherever the body is cut', async (t) => {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const random = new SeededRandom(seed)
  for (let count = 0; count < byTier({ quick: 200, full: 1_200, soak: 30_000 }); count += 1) {
    const elements = Array.from({ length: 1 + random.below(6) }, () => ({ first: randomValue(random, 0) }))
    const text =
      random.pick(['', ' \n', '\ufeff']) +
      JSON.stringify(elements, null, random.pick([undefined, 1, '\t'])) +
      random.pick(['', '\n \n'])
    const lines = (await linesOf(text, random)).split('\n').slice(0, -1)
    t.same(
      lines.map((line) => JSON.parse(line)),
      elements,
      `array ${count}`,
    )
  }
})

t.test('what is no array of objects stays as it is', async (t) => {
  const random = new SeededRandom(testSeed())
  const others = [
    '',
    '  ',
    '[',
    '[ ',
    '[1,2]\n[3]\n',
    '{"a":[{"b":1}]}\n',
    '[]\n[]\n',
    '[],x\n',
    '"[{"\n',
    'a,b\n1,2\n',
  ]
  for (const text of others) t.equal(await linesOf(text, random), text, JSON.stringify(text))
  for (const text of ['[]', ' [ ]\n\n', '[\r\n]']) t.equal(await linesOf(text, random), '', JSON.stringify(text))
})

t.test('an array that does not end, and what stands behind one in its first bytes, is told', async (t) => {
  const random = new SeededRandom(testSeed())
  await t.rejects(linesOf('[{"a":1},{"a":2}', random), { code: 'BODY_CORRUPT', message: /array does not end/ })
  const behind = '[{"a":1}]\n[{"a":2}]\n{"a":3}'
  for (let strictBytes = 0; strictBytes <= behind.length; strictBytes += 1) {
    // The bracket behind the array is the eleventh byte.
    const refused = { code: 'BODY_CORRUPT', message: /follows its array/ }
    if (strictBytes > 10) await t.rejects(linesOf(behind, random, strictBytes), refused, `${strictBytes}`)
    else t.equal(await linesOf(behind, random, strictBytes), '{"a":1}\n[{"a":2}]\n{"a":3}', `${strictBytes}`)
  }
  t.equal(
    await linesOf('[{"a":1},,{"a":2},]', random),
    '{"a":1}\n{"a":2}\n',
    'commas too many are none of the elements',
  )
})
