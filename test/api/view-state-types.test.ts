// States of another name than their column has: the engine makes none over LowCardinality, which data sources of projects name, and
// keeps those of `countIf` as those of `count`.

import t from 'tap'
import { openPipeService } from '../support/api/pipe-service.ts'
import { ViewCalls } from '../support/api/view-calls.ts'

const { service, call } = await openPipeService(t)
const views = new ViewCalls(service)
const schema =
  'day Date, action LowCardinality(String), maybe LowCardinality(Nullable(String)), words Array(LowCardinality(String)), counts Map(LowCardinality(String), UInt64), ts DateTime64(3)'
await service.create('acts', schema, { engine: 'MergeTree', engine_sorting_key: 'day' })

/** Of each column: its type in the data source, its state, what merges that, and what is then seen where it is not of the state's name. */
const states: readonly (readonly [type: string, state: string, merged: string, seen?: string])[] = [
  ['AggregateFunction(argMax, LowCardinality(String), DateTime64(3))', 'argMaxState(action, ts)', 'argMaxMerge'],
  ['AggregateFunction(uniq, LowCardinality(String))', 'uniqState(action)', 'uniqMerge'],
  ['AggregateFunction(uniq, LowCardinality(Nullable(String)))', 'uniqState(maybe)', 'uniqMerge'],
  ['AggregateFunction(anyLast, LowCardinality(Nullable(String)))', 'anyLastState(maybe)', 'anyLastMerge'],
  ['AggregateFunction(groupUniqArray, LowCardinality(String))', 'groupUniqArrayState(action)', 'groupUniqArrayMerge'],
  ['AggregateFunction(groupArray, LowCardinality(String))', 'groupArrayState(action)', 'groupArrayMerge'],
  [
    'AggregateFunction(groupUniqArrayArray, Array(LowCardinality(String)))',
    'groupUniqArrayArrayState(words)',
    'groupUniqArrayArrayMerge',
  ],
  ['AggregateFunction(topK(3), LowCardinality(String))', 'topKState(3)(action)', 'topKMerge(3)'],
  ['AggregateFunction(count)', 'countState(action)', 'countMerge'],
  ['AggregateFunction(count)', "countIfState(action = 'a1')", 'countMerge'],
  ['AggregateFunction(uniq, String)', "uniqIfState(action, counts['k1'] > 0)", 'uniqMerge'],
  ["AggregateFunction(max, DateTime64(3, 'UTC'))", 'maxState(ts)', 'maxMerge'],
  [
    'AggregateFunction(quantiles(0.5), UInt32)',
    'quantileState(0.5)(toUInt32(length(words)))',
    'quantilesMerge(0.5)',
    'quantiles(0.5)(toUInt32(length(words)))',
  ],
  ['AggregateFunction(sumMap, Map(LowCardinality(String), UInt64))', 'sumMapState(counts)', 'sumMapMerge'],
]
const rows = Array.from({ length: 60 }, (_, row) => ({
  day: '2026-01-01',
  action: `a${row % 7}`,
  maybe: row % 3 === 0 ? null : `m${row % 4}`,
  words: [`w${row % 5}`, 'x'],
  counts: { [`k${row % 3}`]: row },
  ts: `2026-01-01 00:00:${String(row).padStart(2, '0')}.000`,
}))

t.test('a column of states takes all that the engine keeps in the same form', async (t) => {
  await views.send('acts', rows.slice(0, 20))
  for (const [index, [type, state, merged]] of states.entries()) {
    const created = await service.create(`acts_${index}`, `day Date, state ${type}`, {
      engine: 'AggregatingMergeTree',
      engine_sorting_key: 'day',
    })
    t.equal(created.status, 200, `${type}: ${created.text}`)
    const made = await views.tryFill(`of_acts_${index}`, `SELECT day, ${state} AS state FROM acts GROUP BY day`, {
      datasource: `acts_${index}`,
      populate: 'true',
    })
    t.equal(made.status, 200, `${type}: ${made.text}`)
    const { job } = made.json as { readonly job?: { readonly job_id: string } } // As documented of a populate.
    await call('GET', `/v0/jobs/${job?.job_id}?progress=true`)
    t.equal(
      (await service.rows(`SELECT toString(arraySort([toString(${merged}(state))])) FROM acts_${index}`)).length,
      1,
    )
  }
  await views.send('acts', rows.slice(20))
  for (const [index, [type, state, merged, seen = state.replace('State', '')]] of states.entries()) {
    const sorted = (value: string): string => (/Array/.test(merged) ? `arraySort(${value})` : value)
    const [kept] = await service.rows(`SELECT toString(${sorted(`${merged}(state)`)}) FROM acts_${index}`)
    const [expected] = await service.rows(`SELECT toString(${sorted(seen)}) FROM acts`)
    t.same(kept, expected, type)
    const verified = await call('GET', `/v0/pipes/of_acts_${index}/nodes/of_acts_${index}_view/verify`)
    t.match(verified.json, { equal: true }, type)
  }
})

t.test('other states are refused, with the types that a query can give', async (t) => {
  await service.create('numbers', 'day Date, state AggregateFunction(uniq, LowCardinality(FixedString(2)))', {
    engine: 'AggregatingMergeTree',
    engine_sorting_key: 'day',
  })
  const made = await views.tryFill('of_numbers', 'SELECT day, uniqState(action) AS state FROM acts GROUP BY day', {
    datasource: 'numbers',
  })
  t.match(made, { status: 400, text: /uniqState\(…\) AS state over FixedString\(2\)/ })
})
