import t from 'tap'
import { engineWarnings } from '../../src/materialize/engine-warnings.ts'

const columns = [
  { name: 'day', typeText: 'Date' },
  { name: 'status', typeText: 'String' },
  { name: 'c', typeText: 'UInt64' },
  { name: 's', typeText: 'AggregateFunction(uniq, String)' },
  { name: 'm', typeText: 'Float64' },
]
const aggregates = new Map<string, string | null>([
  ['c', 'count'],
  ['s', 'uniqstate'],
  ['m', null],
])
const query = { aggregates, groups: ['day'] }
const engine = (name: string, options: Readonly<Record<string, string>> = { sorting_key: 'day' }) => ({ name, options })

t.test('what a merge of the target drops or adds up wrongly is told', async (t) => {
  t.same(engineWarnings(columns, query, engine('MergeTree')), [])
  const [first, second, ...others] = engineWarnings(columns, query, engine('AggregatingMergeTree'))
  t.match(first, /^column 'c' is no state: .*use a -State or a -SimpleState function$/)
  t.match(second, /^column 'm' is no state: .*use a -State or a -SimpleState function$/)
  t.same(others, [])
  const averages = {
    ...query,
    aggregates: new Map([
      ['c', 'count'],
      ['m', 'avg'],
    ]),
  }
  t.match(engineWarnings(columns, averages, engine('SummingMergeTree')), [/adds up column 'm', which comes of avg/])
  t.same(engineWarnings(columns, averages, engine('SummingMergeTree', { sorting_key: 'day', columns: 'c' })), [])
})

t.test('groups that are not in the sorting key are told, unless an item is made of them', async (t) => {
  const grouped = { aggregates: new Map([['s', 'uniqstate']]), groups: ['day', 'status'] }
  t.match(engineWarnings(columns, grouped, engine('AggregatingMergeTree')), [/merges groups of different 'status'/])
  for (const sorting_key of ['day, status', 'day, lower(status)']) {
    t.same(engineWarnings(columns, grouped, engine('AggregatingMergeTree', { sorting_key })), [])
  }
  t.same(engineWarnings(columns, grouped, engine('ReplacingMergeTree')), [], 'the last of a key is meant')
})

t.test('without a sorting key one row is left', async (t) => {
  for (const name of ['ReplacingMergeTree', 'SummingMergeTree', 'AggregatingMergeTree']) {
    t.match(engineWarnings(columns, query, engine(name, {})), [/keeps one row of all that it merges/])
  }
})
