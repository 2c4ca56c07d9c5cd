import t from 'tap'
import { didYouMean, nearestName } from '../../src/shared/nearest-name.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'

t.test('a name is near by few letters, by swapped ones, or but for its case', async (t) => {
  const known = ['visits', 'page_views', 'ID', 'count', 'toStartOfMinute']
  const cases: readonly (readonly [name: string, nearest: string | undefined])[] = [
    ['vists', 'visits'],
    ['visitss', 'visits'],
    ['viists', 'visits'],
    ['VISITS', 'visits'],
    ['id', 'ID'],
    ['cuont', 'count'],
    ['page_vews', 'page_views'],
    ['pageviews', 'page_views'],
    ['xx', undefined],
    ['', undefined],
    ['something_else', undefined],
    ['visits', 'visits'],
  ]
  for (const [name, nearest] of cases) t.equal(nearestName(name, known), nearest, name)
  t.equal(didYouMean('vists', known), "Did you mean 'visits'?")
  t.equal(didYouMean('visits', known), undefined, 'the name itself is no advice')
})

t.test('the nearest is that of the least edits, for random words', async (t) => {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const random = new SeededRandom(seed)
  const word = () => Array.from({ length: 3 + random.below(5) }, () => random.pick(['a', 'b', 'c'])).join('')
  for (let round = 0; round < 500; round += 1) {
    const name = word()
    const known = Array.from({ length: 5 }, word)
    const bound = Math.min(3, Math.floor(name.length / 3)) + 1
    const distances = known.map((one) => editDistance(name, one))
    const least = Math.min(...distances)
    const nearest = nearestName(name, known)
    if (least >= bound) t.equal(nearest, undefined, `${name}: ${known}`)
    else t.equal(nearest, known[distances.indexOf(least)], `${name}: ${known}`)
  }
})

/** Written down as it is defined. */
function editDistance(left: string, right: string): number {
  if (left === '' || right === '') return left.length + right.length
  const [a, b] = [left.slice(1), right.slice(1)]
  const costs = [editDistance(a, right) + 1, editDistance(left, b) + 1]
  costs.push(editDistance(a, b) + (left[0] === right[0] ? 0 : 1))
  if (left[0] === right[1] && left[1] === right[0] && left.length > 1 && right.length > 1) {
    costs.push(editDistance(a.slice(1), b.slice(1)) + 1)
  }
  return Math.min(...costs)
}

t.test('many long names are looked at as far as the bound goes, and longer ones not at all', async (t) => {
  let lookedAt = 0
  function* names(): Generator<string> {
    for (;;) {
      lookedAt += 1
      yield `${'a'.repeat(90)}${lookedAt}`
    }
  }
  t.equal(nearestName('b'.repeat(93), names()), undefined)
  t.ok(lookedAt <= 20_001, `${lookedAt}`)
  lookedAt = 0
  t.equal(nearestName(`${'a'.repeat(87)}bbbbbb`, names()), undefined, 'all of them alike to their ends')
  t.ok(lookedAt < 2_000, `${lookedAt}`)
  t.equal(nearestName('a'.repeat(101), ['a'.repeat(101)]), undefined)
})
