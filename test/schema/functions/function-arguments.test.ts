import t from 'tap'
import { textArguments } from '../../../src/schema/functions/function-arguments.ts'
import { isAllowedFunction } from '../../../src/schema/functions/function-policy.ts'
import { compileQuery } from '../../../src/sql/compile-query.ts'
import { openEmbeddedStore } from '../../../src/store/embedded/embedded-store.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../../support/store/test-store.ts'

const directory = await createTestDirectory()
const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
t.teardown(async () => {
  await store.close()
  await directory.remove()
})

function compile(sql: string): string {
  return compileQuery(sql, { scope: { find: () => undefined } }).sql
}

t.test('every function that takes such a text by the description of the engine is in the table', async (t) => {
  const described = await store.rows<{ readonly name: string }>(
    `SELECT lower(name) AS name FROM system.functions WHERE match(concat(syntax, ' ', parameters),
      '\\\\b(T|type|type_name|return_type|value_type|target_type|agg_f|aggregate_function|structure|codec|table|table_name|join_storage_table_name|dict_name|setting_name)\\\\b')
      OR name IN ('formatRow', 'formatRowNoNewline', 'groupFormat') ORDER BY name`,
  )
  t.ok(described.length > 15)
  for (const { name } of described) {
    if (!isAllowedFunction(name) || name.startsWith('joinget')) continue
    t.ok(textArguments.has(name), `${name}() is in the table`)
  }
  for (const name of textArguments.keys()) t.ok(isAllowedFunction(name), `${name}() is allowed`)
})

t.test('what real queries put there passes, and names are written out', async (t) => {
  const unchanged = [
    "SELECT CAST(1, 'Nullable(UInt8)'), CAST(1 AS String), 1::DateTime64(3, 'UTC'), accurateCastOrNull('1', 'UInt8')",
    "SELECT JSONExtract('{}', 'a', 'Array(Tuple(a String, b UInt8))'), JSONExtract('{}', 'String')",
    "SELECT JSONExtractKeysAndValues('{}', 'Int8'), JSONExtract('{}', 'a', toTypeName(number)) FROM numbers(1)",
    "SELECT arrayReduce('sum', [1]), arrayReduce('quantilesIf(0.5, 0.9)', [1], [1]), arrayReduceInRanges('max', [(1, 2)], [1])",
    "SELECT initializeAggregation('uniqState', 1), defaultValueOfTypeName(toTypeName(1)), reinterpret(1, 'FixedString(8)')",
    "SELECT formatRow('JSONEachRow', 1), formatRowNoNewline('CSV', 1), groupFormat('TSV')(1), groupFormatIf('TSV')(1, 1)",
    "SELECT dynamicElement(1::Dynamic, 'UInt8'), variantElement(1::Variant(UInt8, String), 'UInt8')",
    "SELECT estimateCompressionRatio('Delta, ZSTD(3)')(number), estimateCompressionRatio(number) FROM numbers(1)",
    'SELECT arraySum(tags), arraySort(tags), arrayMap(toString, tags), arrayPartialSort(limit, tags) FROM numbers(1)',
    "SELECT * APPLY(sum), * APPLY(quantile(0.5)), * APPLY(x -> CAST(x, 'String')) FROM numbers(1)",
  ]
  for (const sql of unchanged) t.equal(compile(sql), sql)
  t.equal(
    compile("WITH 'sum' AS f, ('UInt8') AS T SELECT arrayReduce(f, [1]), CAST(1, (T)), CAST(1, T)"),
    "WITH 'sum' AS f, ('UInt8') AS T SELECT arrayReduce('sum', [1]), CAST(1, 'UInt8'), CAST(1, 'UInt8')",
  )
})

t.test('a text that is more than its grammar has is refused, and so is one that is made', async (t) => {
  const file = "file(\\'/etc/passwd\\')"
  const cases: readonly (readonly [string, RegExp])[] = [
    [`SELECT arrayReduce('groupConcat(${file})', ['a', 'b'])`, /aggregate function of arrayReduce\(\) can not be used/],
    ["SELECT arrayReduce('groupConcat((SELECT 1))', ['a', 'b'])", /expected a literal/],
    ["SELECT arrayReduce('topK(hostName())', [1])", /expected a literal/],
    ["SELECT arrayReduce('topK(1 + 1)', [1])", /can not be used/],
    ["SELECT arrayReduce('file', ['x'])", /'file' is not a known aggregate function/],
    ["SELECT arrayReduce('sum) FROM x --', [1])", /"\)" closes nothing/],
    ["SELECT arrayReduce('sum' || '', [1])", /must be a text in quotes/],
    ["SELECT arrayReduce(concat('topK(', 'hostName())'), [1])", /must be a text in quotes/],
    ["SELECT arrayReduce(x'73756d', [1])", /not allowed here/],
    ["SELECT arrayReduce((SELECT 'sum'), [1])", /must be a text in quotes/],
    ["SELECT arrayReduce(['sum'][1], [1])", /must be a text in quotes/],
    ["SELECT arrayMap(x -> arrayReduce(x, [1]), ['topK(hostName())'])", /must be a text in quotes/],
    ["SELECT arrayMap(arrayReduce, ['topK(hostName())'], [[1]])", /can not be handed to another/],
    ['SELECT * APPLY(arrayReduce) FROM numbers(1)', /can not be handed to another/],
    ["SELECT arrayReduceInRanges('topK(hostName())', [(1, 2)], [1])", /expected a literal/],
    ["SELECT initializeAggregation('topKState((SELECT 1))', 1)", /can not be used/],
    ["WITH 'topK(hostName())' AS f SELECT arrayReduce(f, [1])", /expected a literal/],
    ["WITH 'sum' AS f SELECT (WITH 'max' AS f SELECT arrayReduce(f, [1]))", /must be a text in quotes/],
    [
      `SELECT CAST(1, 'AggregateFunction(topK(${file}), UInt8)')`,
      /type of CAST\(\) can not be used: expected a literal/,
    ],
    [`SELECT CAST(1 AS AggregateFunction(topK(${"file('/etc/passwd')"}), UInt8))`, /expected a literal in a type/],
    [`SELECT 1::AggregateFunction(topK(${"file('/etc/passwd')"}), UInt8)`, /expected a literal in a type/],
    ['SELECT 1::AggregateFunction(file, UInt8)', /'file' is not a known aggregate function/],
    ["SELECT CAST(1, 'UInt8 DEFAULT 1')", /expected the end of the type/],
    ["SELECT CAST(1, concat('U', 'Int8'))", /must be a text in quotes/],
    ["SELECT CAST(1, toTypeName(1) || ')')", /must be a text in quotes/],
    ["SELECT defaultValueOfTypeName('FixedString(joinGet(1))')", /expected a literal/],
    ["SELECT defaultValueOfTypeName(repeat('Array(', 100))", /must be a text in quotes/],
    ["SELECT JSONExtract('{}', 'Enum8(hostName() = 1)')", /expected a literal/],
    ["SELECT JSONExtract('{}', 'a', 'JSON(max_dynamic_paths = getServerPort(1))')", /expected a literal/],
    ["SELECT dynamicElement(1::Dynamic, 'DateTime(hostName())')", /expected a literal/],
    ['SELECT json.a.:`AggregateFunction(topK(hostName()), UInt8)` FROM numbers(1)', /expected a literal/],
    ["SELECT reinterpret(1, 'Foo')", /Unknown type 'Foo'/],
    ["SELECT formatRow('Template', 1)", /'Template' is not a known text format/],
    ["SELECT formatRow('Protobuf', 1)", /'Protobuf' is not a known text format/],
    ["SELECT formatRow(concat('C', 'SV'), 1)", /must be a text in quotes/],
    ["SELECT groupFormat('CapnProto')(1)", /'CapnProto' is not a known text format/],
    ["SELECT groupFormatIf('CapnProto')(1, 1)", /'CapnProto' is not a known text format/],
    ["SELECT * APPLY(groupFormat('Template')) FROM numbers(1)", /'Template' is not a known text format/],
    ["SELECT estimateCompressionRatio('ZSTD(length(hostName()))')(1)", /expected a literal/],
    ['SELECT arrayMap(notAFunction, [1])', /Function 'notAFunction' is not known/],
  ]
  for (const [sql, message] of cases) t.throws(() => compile(sql), { message, status: 400 }, sql)
})
