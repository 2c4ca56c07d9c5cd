// Definitions that the engine takes and under which it would then take no row.

import t from 'tap'
import { type Answer, openTestService } from './test-service.ts'

const service = await openTestService(t, { eventsFlushIdleMs: 5 })

function post(path: string, values: Readonly<Record<string, string>>): Promise<Answer> {
  return service.call('POST', `/v0/datasources${path}?${new URLSearchParams(values)}`)
}

const base = 'x String `json:$.x`, t DateTime `json:$.t`, n UInt32 `json:$.n`'
const engineNames: readonly string[] = [
  '_table',
  '_database',
  '`_table`',
  '"_database"',
  "concat(_database, ' ', _table)",
  '_part',
  '_part_uuid',
  '_part_index',
  '_part_offset',
  '_part_starting_offset',
  '_part_granule_offset',
  '_part_data_version',
  '_partition_id',
  '_partition_value',
  '_sample_factor',
  '_disk_name',
  '_row_exists',
  '_block_number',
  '_block_offset',
  'arrayMap(a -> concat(a, _table), [x])[1]',
  'kept._table',
]

await service.create('kept', base, { engine_sorting_key: 'x' })
await service.events('kept', '{"x":"a","n":1,"t":"2026-01-01 00:00:00"}\n{"x":"b","n":"many"}', { wait: 'true' })

t.test("no definition, condition or fix reads a column of the engine's own", async (t) => {
  const told =
    /cannot read '[\w.]+', a column of the engine's own that no incoming row has|can not be read|invalid|Invalid/
  for (const [place, name] of engineNames.entries()) {
    const everywhere = [
      () => post('', { name: 'refused', schema: base, engine_sorting_key: `x, toString(${name})` }),
      () => post('', { name: 'refused', schema: base, engine_partition_key: `toString(${name})` }),
      () => post('', { name: 'refused', schema: base, engine_ttl: `t + toIntervalDay(length(toString(${name})))` }),
      () =>
        post('', {
          name: 'refused',
          schema: base,
          engine_ttl: `t + toIntervalDay(1) DELETE WHERE toString(${name}) = x`,
        }),
      () => post('', { name: 'refused', schema: base, indexes: `i toString(${name}) TYPE minmax GRANULARITY 1` }),
      () => post('/kept/alter', { ttl: `t + toIntervalDay(length(toString(${name})))` }),
    ]
    const asked = [
      () => post('', { name: 'refused', schema: `${base}, d String DEFAULT ${name}` }),
      () => post('/kept/alter', { schema: `${base}, d String DEFAULT ${name}` }),
      () => post('/kept/quarantine/replay', { condition: `toString(${name}) != ''` }),
      () => post('/kept/quarantine/replay', { 'fixes.n': `concat('1', toString(${name}))` }),
      ...(place < 5 ? everywhere : []),
    ]
    for (const [index, answer] of (await Promise.all(asked.map((ask) => ask()))).entries()) {
      t.match(answer, { status: 400, json: { error: told } }, `${name} at ${index}: ${answer.text}`)
      t.notMatch(answer.text, /ws_0001|\bt_[0-9a-f]{32}/)
    }
  }
  t.match(await service.events('kept', '{"x":"c","n":1,"t":"2026-01-01 00:00:00"}', { wait: 'true' }), { status: 200 })
})

t.test('a column of the caller that only looks like one of them is read', async (t) => {
  const schema = '_id String `json:$._id`, _row_id String DEFAULT lower(_id), _distance UInt8 DEFAULT length(_row_id)'
  t.match(await service.create('lookalike', schema), { status: 200 })
  t.match(await service.events('lookalike', '{"_id":"A"}', { wait: 'true' }), { status: 200 })
  t.same(await service.rows('SELECT * FROM lookalike'), [['A', 'a', '1']])
})
