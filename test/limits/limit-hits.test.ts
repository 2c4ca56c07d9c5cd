import t from 'tap'
import { type LimitHit, LimitHits } from '../../src/limits/limit-hits.ts'

const hit: LimitHit = {
  limit: 'imports',
  code: 'RATE_EXCEEDED',
  status: 429,
  atMs: 1_000,
  requestId: 'r1',
  tokenId: 't1',
  tokenName: 'reader',
  resource: 'visits',
}

t.test('each refusal is counted by its limit and told to all who listen, as long as they do', async (t) => {
  const hits = new LimitHits({ error: () => t.fail('nothing fails') })
  const told: (readonly [string, LimitHit])[] = []
  const endFirst = hits.onLimitHit((one) => told.push(['first', one]))
  hits.onLimitHit((one) => told.push(['second', one]))
  hits.tell(hit)
  endFirst()
  hits.tell({ ...hit, limit: 'events' })
  t.same(told, [
    ['first', hit],
    ['second', hit],
    ['second', { ...hit, limit: 'events' }],
  ])
  t.equal(hits.countOf('imports'), 1)
  t.equal(hits.countOf('events'), 1)
  t.equal(hits.countOf('storage'), 0)
})

t.test('a listener that fails is logged, and neither the others nor the request hear of it', async (t) => {
  const logged: unknown[] = []
  const hits = new LimitHits({ error: (fields) => logged.push(fields) })
  const told: LimitHit[] = []
  const err = new Error('out of breath')
  hits.onLimitHit(() => {
    throw err
  })
  hits.onLimitHit((one) => told.push(one))
  hits.tell(hit)
  t.same(told, [hit])
  t.match(logged, [{ err, limit: 'imports' }])
})
