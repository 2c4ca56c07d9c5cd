// Values of variables are looked for by these in each text of a caller that is kept.

import t from 'tap'
import { Beginnings } from '../../src/observe/beginnings.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'

t.test('a beginning is found wherever it stands in a text, and what is no more than like it is not', async (t) => {
  const beginnings = new Beginnings(['hidden-1', 'hidden-2-longer', 'hidden-2', 'another one'])
  for (const text of ['hidden-1', 'a hidden-1', 'hidden-1 b', 'hidden-hidden-2', 'hidden-2-', 'not another one'])
    t.ok(beginnings.areIn(text), text)
  for (const text of ['', 'hidden-', 'hidden-3', 'idden-1', 'HIDDEN-1', 'another on', 'another  one'])
    t.notOk(beginnings.areIn(text), text)
})

t.test('texts of fewer than 8 characters are passed over, and 64 characters are enough of a longer one', async (t) => {
  t.equal(new Beginnings([]).areIn('anything at all'), false)
  t.equal(new Beginnings(['seven77', '']).areIn('seven77'), false)
  t.equal(new Beginnings(['eight888']).areIn('seven77 eight888'), true)
  const long = Array.from({ length: 20 }, (_, at) => `part${at}`).join('')
  t.equal(new Beginnings([long]).areIn(`x${long.slice(0, 64)}y`), true)
  t.equal(new Beginnings([long]).areIn(`x${long.slice(0, 63)}y`), false)
})

t.test('a text has a beginning of many just where it includes one', async (t) => {
  const random = new SeededRandom(testSeed())
  // Few characters, so that many beginnings are alike and some are beginnings of others.
  const textOf = (charCount: number): string =>
    Array.from({ length: charCount }, () => random.pick(['a', 'b'])).join('')
  let found = 0
  const tries = byTier({ quick: 300, full: 5_000, soak: 100_000 })
  for (let count = 0; count < tries; count += 1) {
    const texts = Array.from({ length: 1 + random.below(40) }, () => textOf(8 + random.below(8)))
    const beginnings = new Beginnings(texts)
    const text = textOf(random.below(40))
    const expected = texts.some((one) => text.includes(one))
    if (expected) found += 1
    if (beginnings.areIn(text) !== expected) t.fail(`${text} in ${texts.join(' ')}: SEED=${testSeed()}`)
  }
  t.ok(found > tries / 10 && found < tries, `${found} of ${tries} have one`)
})
