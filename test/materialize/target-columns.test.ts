import t from 'tap'
import { fitColumns, otherStates, type TakesStates } from '../../src/materialize/target-columns.ts'
import { parseSchema } from '../../src/schema/columns/schema-parser.ts'

const none = () => false

function faultsOf(from: string, to: string, takesStates: TakesStates = none): readonly string[] {
  const columns = parseSchema(`c ${to}`, { columnsMax: 10 })
  return fitColumns([{ name: 'c', typeText: from }], columns, takesStates).faults
}

t.test('a type fits itself, and one that holds each of its values', async (t) => {
  const pairs: readonly (readonly [from: string, to: string])[] = [
    ['UInt8', 'UInt8'],
    ['UInt8', 'UInt64'],
    ['UInt8', 'Int16'],
    ['Bool', 'UInt8'],
    ['String', 'Nullable(String)'],
    ['String', 'LowCardinality(String)'],
    ['LowCardinality(String)', 'String'],
    ['LowCardinality(Nullable(String))', 'Nullable(String)'],
    ["DateTime('UTC')", 'DateTime'],
    ['DateTime', 'DateTime64(3)'],
    ['Date', 'Date32'],
    ['Float32', 'Float64'],
    ['Decimal(9, 2)', 'Decimal(18, 4)'],
    ['Array(UInt8)', 'Array(UInt16)'],
    ['UInt64', 'SimpleAggregateFunction(sum, UInt64)'],
    ['SimpleAggregateFunction(sum, UInt64)', 'UInt64'],
    ['AggregateFunction(sum, UInt32)', 'AggregateFunction(sum,UInt32)'],
    ["Enum8('a' = 1)", 'String'],
  ]
  for (const [from, to] of pairs) t.same(faultsOf(from, to), [], `${from} into ${to}`)
})

t.test('of states that say something else the engine is asked', async (t) => {
  const [given, column] = [
    'AggregateFunction(uniqIf, String, UInt8)',
    'AggregateFunction(uniq, LowCardinality(String))',
  ]
  const columns = parseSchema(`c ${column}, n UInt8`, { columnsMax: 10 })
  const named = [given, 'UInt64', column].map((typeText) => ({ name: 'c', typeText }))
  t.same(
    named.map((one) => otherStates([one], columns)),
    [[[given, column]], [], []],
  )
  t.same(otherStates([{ name: 'n', typeText: given }], columns), [])
  t.same(
    faultsOf(given, column, (...asked) => asked.join() === [given, column].join()),
    [],
  )
  t.equal(faultsOf(given, column).length, 1)
})

t.test('what would lose something is refused, with SQL that would fit', async (t) => {
  const pairs: readonly (readonly [from: string, to: string, remedy: RegExp])[] = [
    ['UInt16', 'UInt8', /write toUInt8\(…\) AS c$/],
    ['UInt64', 'Int64', /write toInt64\(…\) AS c$/],
    ['Int8', 'UInt64', /write toUInt64/],
    ['Nullable(UInt8)', 'UInt8', /write ifNull\(…, <value>\) AS c/],
    ['String', "DateTime('UTC')", /write CAST\(…, 'DateTime\(\\'UTC\\'\)'\) AS c/],
    ['DateTime64(6)', 'DateTime64(3)', /CAST/],
    ['UInt64', 'AggregateFunction(count)', /write countState\(…\) AS c/],
    ['AggregateFunction(uniq, String)', 'AggregateFunction(uniq, UInt64)', /write uniqState\(…\) AS c over UInt64/],
    [
      'AggregateFunction(uniq, String)',
      'AggregateFunction(uniq, LowCardinality(FixedString(2)))',
      /write uniqState\(…\) AS c over FixedString\(2\)/,
    ],
    ['AggregateFunction(quantiles(0.5), UInt8)', 'AggregateFunction(quantiles(0.9), UInt8)', /quantilesState\(0\.9\)/],
    ['AggregateFunction(sum, UInt8)', 'UInt64', /without -State/],
    ['Decimal(18, 4)', 'Decimal(9, 2)', /CAST/],
  ]
  for (const [from, to, remedy] of pairs) {
    const [fault = '', ...others] = faultsOf(from, to)
    t.same(others, [])
    t.match(fault, /^column 'c' is .* in the query and .* in the Data Source; /)
    t.match(fault, remedy, `${from} into ${to}`)
  }
})

t.test('columns that one of the two does not have are told', async (t) => {
  const columns = parseSchema("a UInt8, b String DEFAULT 'x', created Date", { columnsMax: 10 })
  const { faults, warnings } = fitColumns(
    [
      { name: 'a', typeText: 'UInt8' },
      { name: 'createdd', typeText: 'Date' },
    ],
    columns,
    none,
  )
  t.match(faults, [/column 'createdd' of the query is not in the Data Source; write AS created after it/])
  t.match(warnings, [/no column 'b', .* its DEFAULT, 'x'/, /no column 'created', .* the empty value of its type/])
})
