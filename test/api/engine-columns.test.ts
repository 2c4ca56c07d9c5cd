// A column called as one that the engine gives to its tables: no query may name it, and a replace takes it for the engine's.

import t from 'tap'
import type { DataSource } from '../../src/catalog/data-source.types.ts'
import { createDataSourceId } from '../../src/catalog/data-source-id.ts'
import { planAlteration } from '../../src/datasources/alter/alteration.ts'
import { parseSchema } from '../../src/schema/columns/schema-parser.ts'
import { partColumns } from '../../src/schema/syntax/engine-columns.ts'
import { type Answer, openTestService } from '../support/api/test-service.ts'

const service = await openTestService(t, { eventsFlushIdleMs: 5 })

function alter(name: string, schema: string): Promise<Answer> {
  const body = new URLSearchParams({ schema }).toString()
  return service.call('POST', `/v0/datasources/${name}/alter`, { body })
}

t.test('a schema takes no column of such a name, when it is made and when it is altered', async (t) => {
  await service.create('kept', 'a UInt8')
  for (const name of partColumns) {
    const error = new RegExp(
      `Column name '${name}' is reserved\\. Hint: use another name, the engine has a column of this`,
    )
    const asked = [
      service.create('vain', `a UInt8, ${name} String`),
      service.create('vain', `a UInt8, \`${name}\` String DEFAULT 'x'`),
      service.create('vain', `"${name}" UInt8`, { engine: 'Null' }),
      alter('kept', `a UInt8, ${name} String`),
      alter('kept', `a UInt8, \`${name}\` String DEFAULT 'x'`),
    ]
    for (const answer of await Promise.all(asked)) t.match(answer, { status: 400, json: { error } }, answer.text)
  }
  for (const name of ['a._table', 'n._part', 'x.y._database']) {
    t.match(await service.create('vain', `\`${name}\` String`), { status: 400, json: { error: /is reserved/ } }, name)
  }
  t.match(await service.call('GET', '/v0/datasources/vain'), { status: 404 })
})

const free: readonly string[] = [
  '_id',
  '_topic',
  '_distance',
  '_Part',
  '_parts',
  'part',
  '__part',
  '_table_',
  '_timestamp',
  '_partition',
  '_offset',
  '_key',
  '_row',
  '_block',
  '_version',
]

t.test('names that only look like those are taken, and queries and replaces read them', async (t) => {
  const schema = free.map((name) => `${name} String \`json:$.${name}\``).join(', ')
  const made = await service.create('free', schema, { engine: 'MergeTree', engine_partition_key: '_id' })
  t.match(made, { status: 200 }, made.text)
  const row = JSON.stringify(Object.fromEntries(free.map((name) => [name, name])))
  t.match(await service.events('free', row, { wait: 'true' }), { status: 200 })
  t.same(await service.rows(`SELECT ${free.join(', ')} FROM free`), [free])
  const parameters = {
    mode: 'replace',
    name: 'free',
    format: 'ndjson',
    replace_condition: "_id = '_id' AND _topic != ''",
  }
  const answer = await service.call('POST', `/v0/datasources?${new URLSearchParams(parameters)}`, { body: `${row}\n` })
  t.match(answer, { status: 200, json: { imported_rows: 1 } }, answer.text)
  t.same(await service.rows(`SELECT ${free.join(', ')} FROM free`), [free])
})

t.test('a schema that is guessed calls such columns otherwise', async (t) => {
  const csv = await service.append('guessed', 'csv', '_table,_part,a._database,_partition_id,b\nx,y,z,p,1\n')
  t.match(csv, { status: 200 }, csv.text)
  t.equal(await service.count('guessed'), 1)
  const columns = (await service.sql('SELECT * FROM guessed FORMAT TSVWithNames')).split('\n')[0]?.split('\t')
  t.match(columns, ['__table', '__part', /_database$/, '__partition_id', 'b'])
  t.same(await service.rows(`SELECT __table, __part FROM guessed`), [['x', 'y']])
  const ndjson = '{"_table":"x","n":{"_part":1},"_row_exists":1}\n'
  const analyzed = await service.call('POST', '/v0/analyze?format=ndjson', { body: ndjson })
  t.match(analyzed, { status: 200 }, analyzed.text)
  // The shape of the answer is what other tests check.
  const { analysis } = analyzed.json as { readonly analysis: { readonly schema: string } }
  const made = await service.create('analyzed', analysis.schema)
  t.match(made, { status: 200 }, `${analysis.schema}: ${made.text}`)
  t.match(await service.events('analyzed', ndjson, { wait: 'true' }), { status: 200, json: { quarantined_rows: 0 } })
})

t.test('a column that is stored under such a name goes on, and gets neighbours', async (t) => {
  const schema = 'a UInt8, _part String'
  const stored: DataSource = {
    id: createDataSourceId(),
    name: 'stored',
    description: '',
    columns: parseSchema(schema, { columnsMax: 10, kept: new Set(['_part']) }),
    engine: { name: 'MergeTree', options: { sorting_key: 'a' } },
    indexes: [],
    kafkaStoreRawValue: false,
    type: 'csv',
    createdAt: 0,
    updatedAt: 0,
    version: 0,
  }
  const request = {
    description: undefined,
    kafkaStoreRawValue: undefined,
    ttl: undefined,
    indexes: undefined,
    isDry: true,
  }
  const { operations } = planAlteration(stored, { ...request, schema: `${schema}, b UInt8` }, 10)
  t.same(operations, ['ADD COLUMN `b` UInt8'])
  const told = { code: 'SCHEMA_INVALID', message: /'_table' is reserved/ }
  t.throws(() => planAlteration(stored, { ...request, schema: `${schema}, _table UInt8` }, 10), told)
})
