// Definitions that the engine takes and under which it would then take no row.

import t from 'tap'
import { type Answer, openTestService } from '../support/api/test-service.ts'

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

const variable: readonly string[] = [
  'formatDateTime(now(), x)',
  "convertCharset(x, 'utf-8', x)",
  'toString(dateDiff(x, now(), now()))',
  "format(x, 'a')",
  "toString(multiSearchAny('a', [x]))",
  "toString(hasToken('a', x))",
  "translate('a', x, x)",
]

t.test(
  'a definition that takes no row at all is refused with its place, when it is made and when it comes',
  async (t) => {
    const wide = "x String `json:$.x`, y String `json:$.y` DEFAULT 'a', t DateTime `json:$.t`"
    await service.create('fixed', wide)
    for (const expression of variable) {
      const told = { status: 400, json: { error: /column 'd' cannot have DEFAULT .*(?:constant|Illegal)/s } }
      const made = await service.create('vain', `${wide}, d String DEFAULT ${expression}`)
      t.match(made, told, made.text)
      // The column that it is over may have a constant for its own DEFAULT, and another value in a row.
      const over = await service.create('vain', `${wide}, d String DEFAULT ${expression.replaceAll('x', 'y')}`)
      t.match(over, { status: 400 }, over.text)
      t.match(await post('/fixed/alter', { schema: `${wide}, d String DEFAULT ${expression}` }), told)
    }
    const keyed = await service.create('vain', wide, { engine_sorting_key: 'x, formatDateTime(t, x)' })
    t.match(keyed, { status: 400, json: { error: /constant/ } }, keyed.text)
    t.match(await service.call('GET', '/v0/datasources/vain'), { status: 404 })
  },
)

t.test('a definition that only refuses an empty row is taken, with types of every kind', async (t) => {
  const types = `a Array(UInt8), m Map(String, UInt8), e Enum8('a' = 1), u UUID, n Nullable(String), i IPv4,
    l LowCardinality(String), f FixedString(3), d Decimal(9, 2), z DateTime64(3), j JSON, s SimpleAggregateFunction(sum, UInt64),
    g AggregateFunction(sum, UInt8), t Tuple(a UInt8, b String)`
  const schema = `x String, ${types}, q UInt8 DEFAULT intDiv(1, toUInt8OrZero(x)), w Date DEFAULT toDate(x), k UInt8 DEFAULT 1`
  const made = await service.create('strict', schema, {
    engine_sorting_key: 'lower(x)',
    engine: 'AggregatingMergeTree',
  })
  t.match(made, { status: 200 }, made.text)
  const computed =
    'a UInt8 DEFAULT 1, b UInt16 DEFAULT a + 1, c String DEFAULT concat(toString(a), toString(b)), now DateTime DEFAULT now()'
  t.match(await service.create('all_computed', computed), { status: 200 })
})
