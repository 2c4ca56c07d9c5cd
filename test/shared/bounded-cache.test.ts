import t from 'tap'
import { BoundedCache } from '../../src/shared/bounded-cache.ts'

t.test('what was not used for longest goes first, by number and by weight', async (t) => {
  const cache = new BoundedCache<number>({ entriesMax: 3, weightMax: 10 })
  const kept = () => ['a', 'b', 'c', 'd'].filter((key) => cache.get(key) !== undefined)
  for (const [index, key] of ['a', 'b', 'c'].entries()) cache.set(key, index, 2)
  cache.get('a')
  cache.set('d', 3, 2)
  t.strictSame(kept(), ['a', 'c', 'd'])
  cache.set('a', 9, 8)
  t.strictSame(kept(), ['a', 'd'], 'ten in all')
  t.equal(cache.get('a'), 9)
  cache.set('b', 1, 1)
  t.strictSame(kept(), ['a', 'b'])
  t.equal(cache.size, 2)
})

t.test('what is too heavy is not kept, and takes what it would replace with it', async (t) => {
  const cache = new BoundedCache<number>({ entriesMax: 3, weightMax: 10 })
  cache.set('a', 1, 10)
  t.equal(cache.get('a'), 1)
  cache.set('a', 2, 11)
  t.equal(cache.get('a'), undefined)
  t.equal(cache.size, 0)
  const none = new BoundedCache<number>({ entriesMax: 0, weightMax: 10 })
  none.set('a', 1, 0)
  t.equal(none.size, 0)
})
