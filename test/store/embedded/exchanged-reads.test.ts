import t from 'tap'
import { ExchangedReads, ReadMixed } from '../../../src/store/embedded/exchanged-reads.ts'

const ofTwo = 'SELECT (SELECT count() FROM `ws_0001`.`t_a`), (SELECT count() FROM `ws_0001`.`t_c`)'
const ofOneTwice = 'SELECT count() FROM `ws_0001`.`t_a` AS x JOIN `ws_0001`.`t_a` AS y USING (id)'
const ofOne = 'SELECT count() FROM `ws_0001`.`t_a`'
const pairs = [
  ['t_a', 't_b'],
  ['t_c', 't_d'],
] as const

function createReads() {
  let nowMs = 0
  const reads = new ExchangedReads(() => nowMs)
  const isMixed = (check: () => void): boolean => {
    try {
      check()
      return false
    } catch (thrown) {
      if (thrown instanceof ReadMixed) return true
      throw thrown
    }
  }
  return {
    reads,
    isMixed,
    pass: (timeMs: number) => {
      nowMs += timeMs
    },
  }
}

t.test('a query is in doubt that names exchanged tables twice, and runs since a moment', async (t) => {
  const { reads, isMixed, pass } = createReads()
  const old = reads.begin(ofTwo)
  pass(5_000)
  const [two, twice, one] = [ofTwo, ofOneTwice, ofOne].map((sql) => reads.begin(sql))
  t.ok(two !== undefined && twice !== undefined && one !== undefined)
  const ended = reads.begin(ofTwo)
  ended.end()
  pass(250)
  await reads.during(pairs, async () => undefined)
  for (const [read, expected] of [
    [old, false],
    [two, true],
    [twice, true],
    [one, false],
    [ended, false],
  ] as const)
    t.equal(
      isMixed(() => read?.check()),
      expected,
    )
  const later = reads.begin(ofTwo)
  t.notOk(
    isMixed(() => later.check()),
    'one that begins behind the exchange is not',
  )
})

t.test('so is one that begins in the middle of an exchange, also of one that fails', async (t) => {
  const { reads, isMixed } = createReads()
  const failure = new Error('no such table')
  const exchange = reads.during(pairs, async () => {
    t.ok(isMixed(() => reads.begin(ofTwo).check()))
    t.notOk(isMixed(() => reads.begin(ofOne).check()))
    throw failure
  })
  t.equal(await exchange.catch((thrown: unknown) => thrown), failure)
  t.notOk(isMixed(() => reads.begin(ofTwo).check()))
})
