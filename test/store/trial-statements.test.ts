import t from 'tap'
import type { CheckedExpression, CheckedQuery } from '../../src/schema/expressions/checked-text.types.ts'
import { TrialStatements } from '../../src/store/sql/trial-statements.ts'
import type { Reads } from '../../src/store/store.types.ts'
import { StoreError, stoppedError } from '../../src/store/store-error.ts'

/** An engine that ends in its first answers, behind some of the text. */
function trialsOver(ends: readonly StoreError[]) {
  const left = [...ends]
  let asked = 0
  const reads: Pick<Reads, 'select'> = {
    select: async () => {
      asked += 1
      return (async function* () {
        yield Buffer.from('{"name":"a",')
        const end = left.shift()
        if (end !== undefined) throw end
        yield Buffer.from('"type":"UInt8"}\n')
      })()
    },
  }
  const trials = new TrialStatements({ command: async () => undefined }, reads)
  return { trials, asked: () => asked }
}

// No engine sees them.
const query = 'SELECT 1 AS a' as CheckedQuery
const tried = { table: 't', columns: ['a'], condition: '(a = 1)' as CheckedExpression }

t.test('a trial in whose middle the engine ends is made once more', async (t) => {
  const described = trialsOver([stoppedError()])
  t.same(await described.trials.describe(query), [{ name: 'a', typeText: 'UInt8' }])
  t.equal(described.asked(), 2)
  for (const verb of ['judgeCondition', 'computeCondition'] as const) {
    const { trials, asked } = trialsOver([stoppedError()])
    await trials[verb](tried)
    t.equal(asked(), 2, verb)
  }
})

t.test('a second end, and what the engine refuses, is told', async (t) => {
  const twice = trialsOver([stoppedError(), stoppedError()])
  await t.rejects(twice.trials.judgeCondition(tried), { name: 'StoreError', kind: 'stopped' })
  t.equal(twice.asked(), 2)
  const refused = trialsOver([new StoreError({ kind: 'engine', message: 'no' })])
  await t.rejects(refused.trials.computeCondition(tried), { name: 'StoreError', kind: 'engine' })
  t.equal(refused.asked(), 1)
})
