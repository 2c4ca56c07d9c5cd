// Columns that keep something of all rows of a block, such as a dictionary: two tables with the same visible rows, and other
// hidden ones, must give the same answers to the byte, whatever is asked of such a column, and the same errors.

import t, { type Test } from 'tap'
import type { ReadScope } from '../../src/sql/read-scope.types.ts'
import { openFilteredQuery } from '../support/query/filtered-query.ts'
import { byTier } from '../support/tier.ts'

t.setTimeout(240_000)

const { store, workspace, ask: answerOf } = await openFilteredQuery(t, { responseCacheBytesMax: 0, queryThreadsMax: 1 })

/** By the column, its type, the value of a visible row and that of a hidden one. */
const columns: readonly (readonly [name: string, type: string, visible: string, hidden: string])[] = [
  ['s', 'LowCardinality(String)', "concat('vis', toString(number % 3))", "concat('SECRET', toString(number % 5))"],
  ['ln', 'LowCardinality(Nullable(String))', "'x'", "'SECRETN'"],
  ['num', 'LowCardinality(String)', 'toString(number % 3 + 1)', "'zzSECRET'"],
  ['lu', 'LowCardinality(UInt16)', 'number % 3 + 1', '0'],
  ['lf', 'LowCardinality(FixedString(6))', "'abcdef'", "'SECRET'"],
  ['a', 'Array(LowCardinality(String))', "['p', 'q']", "['SECRET', 'p', 'x1']"],
  ['m', 'Map(LowCardinality(String), LowCardinality(String))', "map('k', 'v')", "map('SECRET', 'SECRETV')"],
  ['t', 'Tuple(x LowCardinality(String), y Nullable(UInt8))', "('q', 1)", "('SECRET', 2)"],
  ['at', 'Array(Tuple(x LowCardinality(Nullable(String)), y UInt8))', "[('q', 1)]", "[('SECRET', 2)]"],
  ['f', 'SimpleAggregateFunction(any, LowCardinality(String))', "'first'", "'SECRET'"],
  ['`n.b`', 'Array(LowCardinality(String))', "['z']", "['SECRET']"],
  [
    'j',
    'JSON(max_dynamic_paths=4)',
    `'{"a": 1, "b": {"c": "x"}, "o": [{"i": 1}]}'`,
    `'{"a": [1], "pS": 1, "o": "SECRET"}'`,
  ],
  ['jt', 'JSON(w LowCardinality(String))', `'{"w": "x", "a": 1}'`, `'{"w": "SECRET", "a": "2020-01-01", "pS": 1}'`],
  ['aj', 'Array(JSON)', `['{"a": 1}']`, `['{"a": "SECRET", "pS": 2}', '{"a": [1]}']`],
  ['mj', 'Map(String, JSON)', `map('k', '{"a": 1}')`, `map('k', '{"a": [1], "pS": 2}')`],
  ['tj', 'Tuple(j JSON, l LowCardinality(String))', `('{"a": 1}', 'x')`, `('{"a": [1], "pS": 2}', 'SECRET')`],
  ['sp', 'UInt64', 'number + 1', '0'],
  ['st', 'String', "'set'", "''"],
  ['nn', 'Nullable(UInt64)', 'number + 1', 'NULL'],
]
const names = columns.map(([name]) => name)
const schema = ['id UInt64', 'tenant String', ...columns.map(([name, type]) => `${name} ${type}`)].join(', ')
const dataSources = ['rare', 'many'].map((name) => workspace.addDataSource(name, schema))

for (const { id, name } of dataSources) {
  await store.command(`CREATE TABLE ws_0001.${id} (${schema}) ENGINE = MergeTree ORDER BY (id, s)
    SETTINGS allow_suspicious_low_cardinality_types = 1, share_nested_offsets = 0`)
  const rows = (position: 2 | 3, from: string) =>
    `INSERT INTO ws_0001.${id} SELECT ${from}, ${columns.map((column) => `CAST(${column[position]} AS ${column[1]})`).join(', ')}
      FROM numbers(${position === 2 ? 60 : 4000})`
  await store.command(rows(2, "number * 3, 'a'"))
  if (name === 'many') await store.command(rows(3, "number * 3 + 1, 'hidden'"))
  await store.command(`OPTIMIZE TABLE ws_0001.${id} FINAL`)
}

/** The answer, or the error as the caller is told of it. */
async function ask(sql: string, readScope?: ReadScope): Promise<string> {
  try {
    return (await answerOf(sql, readScope)).toString('latin1')
  } catch (thrown) {
    return `failed: ${thrown}`
  }
}

/** Of names that are as near as each other the engine proposes any. */
function withoutProposal(answer: string): string {
  return answer.replace(/ Maybe you meant: \[.*?\]\./, '')
}

async function checkSame(t: Test, sql: (table: string) => string): Promise<boolean> {
  const [one, other] = [withoutProposal(await ask(sql('rare'))), withoutProposal(await ask(sql('many')))]
  const told = other.replaceAll('many', 'rare')
  // No assertion for each of thousands.
  if (told !== one || /SECRET|pS/.test(told.replaceAll(sql('rare'), ''))) t.equal(told, one, sql('many'))
  return !one.startsWith('failed: ')
}

/** The quick tier asks one of so many, another for each column. */
const step = byTier({ quick: 14, full: 4, soak: 1 })

/** Of any column, of texts and numbers, and of what has parts. */
const general: readonly string[] = [
  ...[
    'X',
    'byteSize(X)',
    'cityHash64(X)',
    'min(X)',
    'hex(anyState(X))',
    'groupUniqArray(X)',
    'uniqExact(X)',
    'isNull(X)',
  ],
  ...['toJSONString(X)', "formatRow('RowBinary', X)", 'X::String', 'if(id > 3, X, X)', 'dumpColumnStructure(tuple(X))'],
  ...['estimateCompressionRatioIf(X, 1)', 'toTypeName(X)'],
]
const scalar: readonly string[] = [
  ...[
    'upper(X)',
    'length(X)',
    'toFixedString(X, 1)',
    'toFixedString(X, 4)',
    'toUInt8(X)',
    'X::Float64',
    'intDiv(1, X)',
  ],
  ...[
    "toFixedString(replaceRegexpAll(X, '^SECRET3$', 'aaaaaaaaaa'), 7)",
    'parseDateTimeBestEffort(X)',
    'toDecimal32(X, 8)',
  ],
  ...["throwIf(startsWith(X, 'SECRET'))", 'throwIf(X = 0)', "throwIf(X = '')", 'assumeNotNull(X)', "X = 'vis1'"],
  ...['CAST(X AS LowCardinality(String))', 'lowCardinalityIndices(X)', 'lowCardinalityKeys(X)'],
]
const nested: readonly string[] = [
  ...[
    'X[1]',
    "X['k']",
    'X.1',
    'X.x',
    'length(X)',
    'mapKeys(X)',
    'arrayJoin(X)',
    'arrayStringConcat(X)',
    'toFixedString(X[1], 1)',
  ],
  ...['arrayMap(x -> toFixedString(x, 1), X)', 'arrayMap(x -> x.a::UInt64, X)', "X['k'].a::UInt64", 'X.1.a::UInt64'],
  ...['toFixedString(mapKeys(X)[1], 1)', 'toFixedString(X.x, 1)', 'toFixedString(X.1, 1)', 'toFixedString(X.2, 1)'],
]
const paths: readonly string[] = [
  ...['X.a', 'X.b.c', 'X.w', 'X.o', 'X.o[]', 'X.^b', 'X.a.:Int64', 'X.pS', 'X.a::UInt64', 'toInt64(X.a)', 'X.a::Date'],
  ...[
    'X.a + 1',
    'dynamicType(X.a)',
    'X.a::JSON',
    'sum(toUInt64(X.a))',
    'toFixedString(X.w, 1)',
    'JSONAllPaths(X)',
    'X::JSON',
  ],
  ...['JSONAllPathsWithTypes(X)', 'distinctJSONPaths(X)', 'distinctDynamicTypes(X.a)', 'JSONDynamicPaths(X)'],
  ...['JSONSharedDataPathsWithTypes(X)', 'distinctJSONPathsAndTypes(X)', 'any(X)'],
]

function expressionsOf(type: string): readonly string[] {
  if (type.startsWith('JSON')) return [...general, ...paths]
  return [...general, ...(/^(?:Array|Map|Tuple)/.test(type) ? nested : scalar)]
}

t.test('no expression over a column tells of the values of hidden rows', async (t) => {
  let answered = 0
  for (const [index, [name, type]] of columns.entries()) {
    for (const expression of expressionsOf(type).filter((_, position) => position % step === index % step)) {
      const text = expression.replaceAll('X', name)
      if (await checkSame(t, (table) => `SELECT ${text} FROM ${table} ORDER BY ALL LIMIT 3 FORMAT CSV`)) answered += 1
    }
  }
  t.ok(answered > 250 / step, `${answered}`)
})

t.test('no condition does', async (t) => {
  for (const [name, type] of columns.filter(([, type]) => type.startsWith('LowC'))) {
    for (const expression of scalar.slice(0, 18 / step + 6)) {
      const text = expression.replaceAll('X', name)
      await checkSame(t, (table) => `SELECT count() FROM ${table} WHERE ignore(${text}) = 0 AND id < 100 FORMAT CSV`)
    }
    t.ok(type)
  }
})

t.test('no format does', async (t) => {
  for (const format of [
    'Native',
    'RowBinaryWithNamesAndTypes',
    'Arrow',
    'Parquet',
    'JSONCompactEachRowWithNamesAndTypes',
  ]) {
    for (const expression of [...(step === 1 ? names.flatMap((name) => [name, `[${name}]`]) : []), '*', '(j, s)']) {
      await checkSame(t, (table) => `SELECT ${expression} FROM ${table} LIMIT 2 FORMAT ${format}`)
    }
    await checkSame(t, (table) => `SELECT s, a, m, sp FROM ${table} FORMAT ${format}`)
  }
})
