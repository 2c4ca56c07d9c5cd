import t from 'tap'
import { Agreement } from '../../src/query/agreement.ts'
import { compileQuery } from '../../src/sql/compile-query.ts'

const { signal } = new AbortController()

function fakeStore(answer: (sql: string) => string) {
  const asked: string[] = []
  const queryTree = async (sql: string) => {
    asked.push(sql)
    return answer(sql)
  }
  return { asked, queryTree }
}

const compile = (sql: string) => compileQuery(sql, { scope: { find: () => undefined } })

t.test('the engine is asked once for each shape', async (t) => {
  const store = fakeStore(() => 'QUERY id: 0')
  const agreement = new Agreement(store)
  const first = compile("SELECT 1, 'a'")
  const shape = await agreement.shapeOfAgreed(first, signal)
  t.equal(await agreement.shapeOfAgreed(first, signal), shape)
  t.equal(await agreement.shapeOfAgreed(compile("SELECT 2, 'b'"), signal), shape, 'literals make no shape')
  t.equal(store.asked.length, 1)
  t.not(await agreement.shapeOfAgreed(compile('SELECT 1'), signal), shape)
  t.equal(store.asked.length, 2)
})

t.test('what the engine reads otherwise is refused, and asked again', async (t) => {
  const store = fakeStore(() => 'QUERY id: 0\n  JOIN TREE\n    IDENTIFIER id: 1, identifier: system.users')
  const agreement = new Agreement(store)
  for (let round = 1; round <= 2; round += 1) {
    await t.rejects(agreement.shapeOfAgreed(compile('SELECT 1'), signal), {
      code: 'SQL_INVALID',
      message: /system\.users/,
    })
    t.equal(store.asked.length, round)
  }
})
