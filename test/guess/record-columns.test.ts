import t from 'tap'
import { LargeInteger } from '../../src/guess/large-integer.ts'
import { inferColumns, inferSchema } from '../../src/guess/record-columns.ts'
import { parseSchema } from '../../src/schema/columns/schema-parser.ts'

/** `name Type path` of each column that the records give. */
function columnsOf(...records: readonly Readonly<Record<string, unknown>>[]): readonly string[] {
  const schema = inferSchema(records, { columnsMax: 50 })
  if (schema === null) return []
  return parseSchema(schema, { columnsMax: 500 }).map(
    ({ name, typeText, jsonPathText }) => `${name} ${typeText} ${jsonPathText}`,
  )
}

t.test('each scalar has the type of its values, and two that differ have one that takes both', async (t) => {
  const cases: readonly (readonly [values: readonly unknown[], type: string])[] = [
    [[1, -2], 'Int64'],
    [[1, 1.5], 'Float64'],
    [[2 ** 63], 'UInt64'],
    [[1, 2 ** 63], 'UInt64'],
    [[-1, 2 ** 63], 'String'],
    [[1, 2 ** 64], 'UInt64'],
    [[-1, 2 ** 63, 1.5], 'Float64'],
    [[1e300], 'Float64'],
    [[1, new LargeInteger('18446744073709551616')], 'String'],
    [[1.5, new LargeInteger('18446744073709551616')], 'Float64'],
    [[[1, new LargeInteger('-9223372036854775809')]], 'Array(String)'],
    [[true, false], 'Bool'],
    [[true, 1], 'String'],
    [['a', 'b'], 'String'],
    [['2026-01-31'], 'Date'],
    [['2026-02-30'], 'String'],
    [['1899-01-01'], 'String'],
    [['2026-01-31T10:00:00Z'], 'DateTime'],
    [['2026-01-31 10:00:00', '2026-01-31 10:00:00.5'], 'DateTime64(3)'],
    [['2026-01-31T10:00:00.123456+02:00'], 'DateTime64(6)'],
    [['2026-01-31', '2026-01-31T10:00:00Z'], 'String'],
    [[null], 'Nullable(String)'],
    [[1, null], 'Nullable(Int64)'],
    [[['a'], []], 'Array(String)'],
    [[[1], [2.5]], 'Array(Float64)'],
    [[[]], 'Array(String)'],
    [[[1], 1], 'String'],
    [[[{ a: 1 }]], 'String'],
    [[{}], 'String'],
  ]
  for (const [values, type] of cases) {
    const path = type.startsWith('Array') ? '$.v[:]' : '$.v'
    t.same(columnsOf(...values.map((v) => ({ v }))), [`v ${type} ${path}`], JSON.stringify(values))
  }
})

t.test('objects become a column for each of their keys, unless something else stood in their place', async (t) => {
  t.same(columnsOf({ a: { b: 1, c: { d: 'x' } } }, { a: { b: 2 } }), [
    'a_b Int64 $.a.b',
    'a_c_d Nullable(String) $.a.c.d',
  ])
  t.same(columnsOf({ a: { b: 1 } }, { a: 1 }), ['a String $.a'])
  t.same(columnsOf({ a: { b: { c: { d: { e: { f: 1 } } } } } }), ['a_b_c_d_e String $.a.b.c.d.e'])
  t.same(columnsOf({ a_b: 1, a: { b: 2 } }), ['a_b Int64 $.a_b', 'a_b_2 Int64 $.a.b'])
})

t.test('keys that are no names of columns are renamed, and reached all the same', async (t) => {
  t.same(columnsOf({ 'user-agent': 'x', '1st': 1, 'ä b': true, c__error: 'x' }), [
    "user_agent String $['user-agent']",
    "_1st Int64 $['1st']",
    "__b Bool $['ä b']",
    '_c__error String $.c__error',
  ])
  t.same(columnsOf({ _: 1, '€': 2, __missing: 3, '__missing ': 4 }), [
    '_ Int64 $._',
    "___2 Int64 $['€']",
    '__missing Int64 $.__missing',
    "__missing_ Int64 $['__missing ']",
  ])
  t.same(columnsOf({ "it's": 1, '': 2, a: 3 }), ['a Int64 $.a'])
  t.equal(inferSchema([], { columnsMax: 50 }), null)
  t.equal(inferSchema([{}], { columnsMax: 50 }), null)
})

t.test('thousands of keys that give one name have a column each', async (t) => {
  const keys = Array.from({ length: 5_000 }, (_, index) => String.fromCodePoint(0x4e00 + index))
  const record = Object.fromEntries([...keys, '__2', '__4_2'].map((key) => [key, 1]))
  const columns = inferColumns([record], { columnsMax: 10_000 })
  t.equal(new Set(columns.map(({ name }) => name)).size, 5_002)
  t.same(
    columns.slice(0, 3).map(({ name }) => name),
    ['_', '___2', '___3'],
  )
})
