import t from 'tap'
import { widenType } from '../../src/guess/type-widening.ts'
import { parseColumnType } from '../../src/schema/types/column-type.ts'

const cases: readonly (readonly [string, readonly (string | null)[], string | null])[] = [
  ['Int32', ['3000000000'], 'Int64'],
  ['UInt8', ['-1', '256'], 'Int64'],
  ['UInt64', ['-1'], 'Int128'],
  ['UInt64', ['1.5'], 'String'],
  ['Int32', ['1.5', ' 2 '], 'Float64'],
  ['Int64', ['1.5'], 'String'],
  ['Int8', ['1', ''], 'Nullable(Int8)'],
  ['Int8', ['300', null], 'Nullable(Int64)'],
  ['Nullable(Int8)', ['300', null], 'Nullable(Int64)'],
  ['Int32', ['1', '2'], null],
  ['String', [null], 'Nullable(String)'],
  ['String', ['', 'x'], null],
  ['LowCardinality(String)', [null, 'x'], 'LowCardinality(Nullable(String))'],
  ['LowCardinality(Int8)', ['300'], 'Int64'],
  ['Float32', ['1e300'], 'Float64'],
  ['Decimal(4, 2)', ['12345.67'], 'Decimal(76, 2)'],
  ['Bool', ['2'], 'Int64'],
  ['Date', ['1890-01-01'], 'String'],
  ['Date', ['1950-01-01'], 'Date32'],
  ['DateTime', ['2200-01-01 00:00:00'], 'DateTime64(3)'],
  ["DateTime('Europe/Berlin')", ['2200-01-01 00:00:00'], 'String'],
  ["Enum8('a' = 1)", ['b'], 'String'],
  ['UUID', ['none', ''], 'String'],
  ['UUID', ['none', null], 'Nullable(String)'],
  ['Array(Int8)', ['[1, "x"]'], 'String'],
  ['Array(Int8)', [null], null],
  ['AggregateFunction(count)', ['1'], null],
  ['SimpleAggregateFunction(max, Int8)', ['300'], null],
]

for (const [type, texts, widened] of cases) {
  t.test(`${JSON.stringify(texts)} for ${type} needs ${widened ?? 'nothing that there is'}`, async (t) => {
    t.equal(widenType(parseColumnType(type), texts, true), widened)
  })
}

t.test('a column of a key is not made Nullable', async (t) => {
  t.equal(widenType(parseColumnType('Int8'), ['300', null], false), null)
  t.equal(widenType(parseColumnType('Int8'), ['300'], false), 'Int64')
})
