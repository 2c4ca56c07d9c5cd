import t from 'tap'
import type { DataSource } from '../../../src/catalog/data-source.types.ts'
import { reportDefinitions } from '../../../src/datasources/recovery/report-definitions.ts'
import { parseSchema } from '../../../src/schema/columns/schema-parser.ts'
import { definitionFaults } from '../../../src/schema/definitions/definition-faults.ts'
import type { CheckedExpression } from '../../../src/schema/expressions/checked-text.types.ts'
import { TestLog } from '../../support/api/test-service.ts'
import { checked } from '../../support/checked-text.ts'
import { idOf } from '../../support/query/test-workspace.ts'

function dataSource(name: string, more: Partial<DataSource> = {}): DataSource {
  return {
    id: idOf(name),
    name,
    description: '',
    columns: parseSchema('a UInt8 DEFAULT 1 CODEC(ZSTD(1)), d Date, s String', { columnsMax: 10 }),
    engine: { name: 'MergeTree', options: { sorting_key: 'a, d DESC', ttl: 'd + INTERVAL 1 DAY', ver: 'a' } },
    indexes: [{ name: 'i', expression: 'lower(s)', typeText: 'bloom_filter(0.01)', granularity: 2 }],
    kafkaStoreRawValue: false,
    type: 'csv',
    createdAt: 0,
    updatedAt: 0,
    version: 0,
    ...more,
  }
}

const [a, d, s] = dataSource('x').columns

t.test('a definition of today has no fault', async (t) => {
  t.same(definitionFaults(dataSource('x')), [])
})

t.test('each part of a stored definition that would be refused now is named with its reason', async (t) => {
  if (a === undefined || d === undefined || s === undefined) throw new Error('there are three columns')
  const bad = dataSource('old', {
    columns: [
      { ...a, defaultExpression: checked<CheckedExpression>("length(arrayMap(file, ['/etc/passwd'])[1])") },
      { ...a, name: 'told', defaultExpression: checked<CheckedExpression>("concat(_database, '.', _table)") },
      { ...d, codec: 'ZSTD(hostName())' },
      { ...s, typeText: 'AggregateFunction(topK(getServerPort(1)), String)' },
    ],
    indexes: [
      { name: 'i', expression: 'lower(s)', typeText: "text(tokenizer = file('x'))", granularity: 2 },
      { name: 'j', expression: 's IN system.one', typeText: 'minmax', granularity: 1 },
    ],
    engine: {
      name: 'MergeTree',
      options: { sorting_key: 'a, sleep(1)', partition_key: 'd', ttl: 'd TO', settings: "disk = 'x'", ver: 'a' },
    },
  })
  t.same(definitionFaults(bad), [
    { place: "column 'a'", reason: 'DEFAULT cannot call file()' },
    {
      place: "column 'told'",
      reason: "DEFAULT cannot read '_database', a column of the engine's own that no incoming row has",
    },
    { place: "column 'd'", reason: 'Wrong CODEC' },
    { place: "column 's'", reason: 'expected a literal in a type, found "getServerPort"' },
    { place: "index 'i'", reason: "index 'i' cannot call file()" },
    { place: "index 'j'", reason: "index 'j' takes a list of constants after IN" },
    { place: 'engine_sorting_key', reason: 'engine_sorting_key cannot call sleep()' },
    { place: 'engine_ttl', reason: 'engine_ttl: expected the end of the expression, found "TO"' },
    {
      place: 'engine_settings',
      reason:
        "engine_settings cannot set 'disk': a table sets how its rows are laid out, merged and dropped, as with index_granularity or ttl_only_drop_parts",
    },
  ])
})

t.test('the start tells of them with the data source, and goes on to the next', async (t) => {
  if (a === undefined) throw new Error('there is a column')
  const log = new TestLog()
  const bad = { columns: [{ ...a, defaultExpression: checked<CheckedExpression>('toUInt8(hostName())') }] }
  reportDefinitions({ list: () => [dataSource('one', bad), dataSource('good'), dataSource('two', bad)] }, log, 500)
  t.match(log.entries, [
    { level: 'error', fields: { dataSource: 'one', place: "column 'a'", reason: 'DEFAULT cannot call hostName()' } },
    { level: 'error', fields: { dataSource: 'two', place: "column 'a'", reason: 'DEFAULT cannot call hostName()' } },
  ])
  t.equal(log.entries.length, 2)
})
