import { join } from 'node:path'
import { Int32 } from 'apache-arrow'
import t from 'tap'
import type { Catalog } from '../../src/catalog/catalog.ts'
import type { DataSource } from '../../src/catalog/data-source.types.ts'
import { createDataSourceId } from '../../src/catalog/data-source-id.ts'
import type { PartExpression } from '../../src/codec/arrow/part-expression.ts'
import { alterTables } from '../../src/datasources/alter/alter-tables.ts'
import { openDataSources } from '../../src/datasources/datasources.ts'
import type { CreateRequest, DataSources, PipeUsers } from '../../src/datasources/datasources.types.ts'
import { createTables } from '../../src/datasources/tables.ts'
import type { BarrierRequest, ReplayRowsOutcome } from '../../src/ingest/ingest.types.ts'
import type { EngineDefinition } from '../../src/schema/engines/engine-definition.types.ts'
import { errors } from '../../src/shared/errors/errors.ts'
import { openLmdbStorage } from '../../src/storage/lmdb-storage.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { TableStatements } from '../../src/store/sql/table-statements.ts'
import type { Store } from '../../src/store/store.types.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { catalogOver } from '../support/catalog/test-catalog.ts'
import { checked } from '../support/checked-text.ts'
import { arrowPart, numbers } from '../support/store/arrow-part.ts'
import { faultyStore } from '../support/store/faulty-store.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'

const directory = await createTestDirectory()
const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
const storage = await openLmdbStorage(join(directory.path, 'catalog.mdb'))
const catalog = await catalogOver(storage, { now: () => 1_000 })
const barriers: string[] = []
let nowMs = 1_000
const replayRows = async (): Promise<ReplayRowsOutcome> => ({ viewFailure: null })
const free = { isHeld: () => false, refuseHeld: () => undefined }
const dataSources = await open(store)
t.teardown(async () => {
  await storage.close()
  await store.close()
  await directory.remove()
})

function open(
  over: Store,
  entries: Catalog = catalog,
  missingDataSource: 'create' | 'refuse' = 'create',
): Promise<DataSources> {
  const options = roomOptions(missingDataSource)
  return openDataSources(options, {
    catalog: entries,
    store: over,
    ingest: { withBarrier, replayRows, withHold, ...free },
    logger: silentLogger,
  })
}

function roomOptions(missingDataSource: 'create' | 'refuse') {
  const limits = { queryTimeMaxMs: 10_000, resultBytesMax: 1_000_000 }
  return { columnsMax: 5, missingDataSource, eventsCreatesPerMinuteMax: 2, now: () => nowMs, ...limits } as const
}

/** Nobody sends events here: the change is made at once. */
async function withBarrier<Result>({ dataSource }: BarrierRequest, change: () => Promise<Result>): Promise<Result> {
  barriers.push(dataSource.name)
  return await change()
}

async function withHold<Result>(_: readonly DataSource[], change: () => Promise<Result>): Promise<Result> {
  return await change()
}

function request(name: string | undefined, schema: string, engine: EngineDefinition | null = null): CreateRequest {
  return { name, description: '', schema, engine, type: 'csv' }
}

async function tables(): Promise<readonly string[]> {
  const rows = await store.rows<{ name: string }>(
    "SELECT name FROM system.tables WHERE database = 'ws_0001' ORDER BY 1",
  )
  return rows.map(({ name }) => name)
}

/** The store, with a fault where the statement matches. */
function faulty(pattern: RegExp, fault: Error): Store {
  return faultyStore(store, pattern, fault)
}

t.test('a data source is created with its quarantine and dropped with it', async (t) => {
  const engine = { name: 'MergeTree', options: { sorting_key: 'a', ttl: 'd + INTERVAL 1 YEAR' } }
  const schema = "a Int32, `b c` LowCardinality(String) DEFAULT 'x' CODEC(ZSTD(1)), d Date, e Array(Nullable(Float32))"
  const created = await dataSources.create(request('orders', schema, engine))
  t.match(created.id, /^t_[0-9a-f]{32}$/)
  t.match(created, { name: 'orders', version: 1, createdAt: 1_000, engine })
  t.same(await tables(), [created.id, `${created.id}_quarantine`])
  t.same(dataSources.get(created.id), created)
  t.same(dataSources.list(), [created])
  const columns = await store.rows<{ name: string; type: string }>(
    `SELECT name, type FROM system.columns WHERE table = '${created.id}_quarantine' ORDER BY position`,
  )
  t.same(
    columns.map(({ name, type }) => `${name} ${type}`),
    [
      ...['a', 'b c', 'd', 'e'].map((name) => `${name} Nullable(String)`),
      'c__error_column Array(String)',
      'c__error Array(String)',
      'c__import_id Nullable(String)',
      'insertion_date DateTime',
    ],
  )
  await dataSources.drop('orders')
  t.same(await tables(), [])
  t.same(dataSources.list(), [])
  t.throws(() => dataSources.get('orders'), { code: 'DATASOURCE_NOT_FOUND', status: 404 })
  await t.rejects(dataSources.drop('orders'), { code: 'DATASOURCE_NOT_FOUND' })
})

t.test('every engine of the API makes a table, and none at all makes MergeTree', async (t) => {
  const schema = 'a Int32, s Int8, v UInt32, n Float64'
  const engines: readonly (EngineDefinition | null)[] = [
    null,
    { name: 'MergeTree', options: {} },
    { name: 'ReplacingMergeTree', options: { sorting_key: 'a', ver: 'v' } },
    { name: 'SummingMergeTree', options: { sorting_key: 'a', columns: 'n' } },
    { name: 'AggregatingMergeTree', options: { sorting_key: 'a' } },
    { name: 'CollapsingMergeTree', options: { sorting_key: 'a', sign: 's' } },
    { name: 'VersionedCollapsingMergeTree', options: { sorting_key: 'a', sign: 's', version: 'v' } },
    { name: 'Join', options: { join_strictness: 'ANY', join_type: 'LEFT', key_columns: 'a' } },
    { name: 'Null', options: {} },
  ]
  for (const engine of engines) {
    const { id } = await dataSources.create(request(undefined, schema, engine))
    const rows = await store.rows<{ engine: string }>(`SELECT engine FROM system.tables WHERE name = '${id}'`)
    t.same(rows, [{ engine: engine?.name ?? 'MergeTree' }])
    await dataSources.drop(id)
  }
})

t.test('a name that is not given is made, and differs each time', async (t) => {
  const created = await Promise.all([1, 2].map(() => dataSources.create(request(undefined, 'a Int32'))))
  for (const { name } of created) t.match(name, /^ds_[0-9a-f]{16}$/)
  t.not(created[0]?.name, created[1]?.name)
  for (const { id } of created) await dataSources.drop(id)
})

t.test('of two creations under one name at once, one wins', async (t) => {
  const outcomes = await Promise.allSettled([1, 2].map(() => dataSources.create(request('twin', 'a Int32'))))
  t.same(outcomes.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  const refused = outcomes.find((outcome) => outcome.status === 'rejected')
  t.match(refused?.reason, { code: 'DATASOURCE_EXISTS', status: 409 })
  await dataSources.drop('twin')
  t.same(await tables(), [])
})

t.test('what the schema or the engine has wrong is told, and nothing stays', async (t) => {
  const key = (sortingKey: string, ttl?: string): EngineDefinition => {
    return { name: 'MergeTree', options: { sorting_key: sortingKey, ...(ttl === undefined ? {} : { ttl }) } }
  }
  const cases: readonly (readonly [string, EngineDefinition | null, string, RegExp])[] = [
    ['a Int3', null, 'SCHEMA_INVALID', /^Wrong schema at line 1, column 3: /],
    ['a Int8, b Int8, c Int8, d Int8, e Int8, f Int8', null, 'SCHEMA_INVALID', /more than 5 columns/],
    [
      "x Int8,\n a Int32 DEFAULT 'x'",
      null,
      'SCHEMA_INVALID',
      /^Wrong schema at line 2, column 2: column 'a' cannot have DEFAULT 'x': Cannot parse string 'x'/,
    ],
    [
      'x Int8, a Int32 DEFAULT zz',
      null,
      'SCHEMA_INVALID',
      /line 1, column 9: column 'a' cannot have DEFAULT zz: there is no column 'zz'$/,
    ],
    ['a Int32', key('zz'), 'ENGINE_INVALID', /zz/],
    ['a Int32, b String', key('a + b'), 'ENGINE_INVALID', /^Wrong engine: .*\(\w+\)$/],
    ['a Int32', key('a', "'x'"), 'ENGINE_INVALID', /TTL/],
    ['a Int32', { name: 'Memory', options: {} }, 'ENGINE_INVALID', /Memory/],
  ]
  for (const [schema, engine, code, message] of cases) {
    const error: unknown = await dataSources.create(request('bad', schema, engine)).catch((err: unknown) => err)
    t.match(error, { code, status: 400, message }, schema)
    t.notMatch(error instanceof Error ? error.message : '', /DB::|ws_0001|t_[0-9a-f]{32}/)
  }
  await t.rejects(dataSources.create(request('no name', 'a Int32')), { code: 'NAME_INVALID' })
  t.same(await tables(), [])
  t.same(catalog.unfinished(), [])
})

t.test('faults of the engine are not told as faults of the request', async (t) => {
  const cases = [
    [new StoreError({ kind: 'engine', message: 'full', clickhouseCode: 243 }), 'ENGINE_FAILED'],
    [new StoreError({ kind: 'busy', message: 'busy' }), 'CHANGES_TOO_MANY'],
    [new StoreError({ kind: 'closed', message: 'closed' }), 'SHUTTING_DOWN'],
  ] as const
  for (const [fault, code] of cases) {
    const room = await open(faulty(/^CREATE TABLE.*_quarantine/s, fault))
    await t.rejects(room.create(request('unlucky', 'a Int32')), { code })
    t.same(await tables(), [], 'the table that stood already is gone again')
  }
  t.same(catalog.unfinished(), [])
})

t.test('rows and bytes are told by data source, those of the quarantine apart', async (t) => {
  const { id } = await dataSources.create(request('counted', 'a Int32'))
  t.teardown(() => dataSources.drop(id))
  const layout = {
    fields: [{ name: 'a', engineType: 'Int32' }],
    targets: [{ column: 'a', expression: checked<PartExpression>('a') }],
  }
  const parts = [arrowPart([{ name: 'a', data: numbers(new Int32(), new Int32Array([1, 2, 3])) }])]
  await store.append({ table: id, layout, parts, rowCount: 3, blockId: 'b' })
  await store.append({ table: `${id}_quarantine`, layout, parts, rowCount: 3, blockId: 'b' })
  const statistics = (await dataSources.statistics()).get(id)
  t.match(statistics, { landing: { rowCount: 3 }, quarantine: { rowCount: 3 } })
  t.ok((statistics?.landing.byteCount ?? 0) > 0)
})

/** A data source that nobody has heard of yet. */
function undefinedYet(name: string): DataSource {
  const [template] = dataSources.list()
  if (template === undefined) throw new Error('there is a data source to copy')
  return { ...template, id: createDataSourceId(), name }
}

t.test('a start takes back a creation and a removal that died halfway, at whichever step', async (t) => {
  const { id } = await dataSources.create(request('template', 'a Int32'))
  const unmade = undefinedYet('unmade')
  await catalog.begin(unmade)
  const halfMade = undefinedYet('half_made')
  await catalog.begin(halfMade)
  await store.command(`CREATE TABLE ws_0001.${halfMade.id} (a Int32) ENGINE = Null`)
  const made = undefinedYet('made')
  await catalog.begin(made)
  await createTables(store.tables, made)
  const whole = await dataSources.create(request('whole', 'a Int32'))
  await catalog.retire(whole.id)
  const halfGone = await dataSources.create(request('half_gone', 'a Int32'))
  await catalog.retire(halfGone.id)
  await store.command(`DROP TABLE ws_0001.${halfGone.id}`)
  const room = await open(store)
  t.same(await tables(), [id, `${id}_quarantine`])
  t.same(catalog.unfinished(), [])
  t.same(
    room.list().map(({ name }) => name),
    ['template'],
  )
  for (const name of ['unmade', 'half_made', 'made', 'whole', 'half_gone']) {
    await room.drop((await room.create(request(name, 'a Int32'))).id)
  }
  await room.drop(id)
})

t.test('a removal whose tables cannot be dropped is done for callers, and finished at the next start', async (t) => {
  const fault = new StoreError({ kind: 'engine', message: 'no', clickhouseCode: 1 })
  const { id } = await dataSources.create(request('sticky', 'a Int32'))
  const room = await open(faulty(/^DROP/, fault))
  await room.drop('sticky')
  t.equal(room.find(id), undefined)
  t.same(await tables(), [id, `${id}_quarantine`])
  await open(store)
  t.same(await tables(), [])
})

t.test('a start makes a lost table again, and drops a table without an entry only when it is empty', async (t) => {
  const { id } = await dataSources.create(request('lost', 'a Int32'))
  await store.command(`DROP TABLE ws_0001.${id}_quarantine`)
  const [empty, filled] = [createDataSourceId(), createDataSourceId()]
  for (const name of [empty, filled, 'other']) {
    await store.command(`CREATE TABLE ws_0001.${name} (a Int32) ENGINE = MergeTree ORDER BY a`)
  }
  await store.command(`INSERT INTO ws_0001.${filled} VALUES (1)`)
  await open(store)
  t.same([...(await tables())].sort(), [id, `${id}_quarantine`, filled, 'other'].sort())
  await dataSources.drop(id)
})

t.test('events create so many data sources a minute, each name once, or none where that is refused', async (t) => {
  const sample = (name: string) => ({ name, body: Buffer.from('{"n":1}'), framing: 'lines' }) as const
  const [one, same] = await Promise.all([1, 2].map(() => dataSources.createFromEvents(sample('made_1'))))
  t.equal(one?.id, same?.id)
  t.equal((await dataSources.createFromEvents(sample('made_1'))).id, one?.id)
  await dataSources.createFromEvents(sample('made_2'))
  await t.rejects(dataSources.createFromEvents(sample('made_3')), { code: 'CREATES_TOO_MANY', retryAfterSeconds: 60 })
  nowMs += 59_999
  await t.rejects(dataSources.createFromEvents(sample('made_3')), { code: 'CREATES_TOO_MANY', retryAfterSeconds: 1 })
  nowMs += 1
  t.match(await dataSources.createFromEvents(sample('made_3')), { name: 'made_3', columns: [{ name: 'n' }] })
  nowMs += 60_000
  const burst = ['made_5', 'made_6', 'made_7', 'made_8'].map((name) => dataSources.createFromEvents(sample(name)))
  const outcomes = await Promise.allSettled(burst)
  t.same(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected', 'rejected'],
    'those that are begun at once count as well',
  )
  t.equal(dataSources.findForEvents('made_4'), undefined)
  t.throws(() => dataSources.findForEvents(`t_${'0'.repeat(32)}`), { code: 'DATASOURCE_NOT_FOUND' }, 'an id is no name')
  await t.rejects(dataSources.createFromEvents({ ...sample('made_4'), body: Buffer.from('[]') }), {
    code: 'SCHEMA_UNKNOWN',
  })
  await dataSources.drop('made_1')
  t.equal(barriers.at(-1), 'made_1', 'a drop passes a barrier')
  const refusing = await open(store, catalog, 'refuse')
  t.throws(() => refusing.findForEvents('made_4'), { code: 'DATASOURCE_NOT_FOUND' })
  await t.rejects(async () => refusing.createFromEvents(sample('made_4')), { code: 'DATASOURCE_NOT_FOUND' })
  for (const name of ['made_2', 'made_3', 'made_5', 'made_6']) await dataSources.drop(name)
})

t.test('views over a data source refuse its drop with their names, and a forced drop takes them along', async (t) => {
  const there = (await tables()).length
  const from = await dataSources.create(request('from', 'a Int32'))
  const to = await dataSources.create(request('to', 'a Int32'))
  await store.command(
    `CREATE MATERIALIZED VIEW ws_0001.daily TO ws_0001.${to.id} AS SELECT a FROM ws_0001.${from.id} WHERE a > 0`,
  )
  await store.command(`CREATE VIEW ws_0001.bad_rows AS SELECT * FROM ws_0001.${from.id}_quarantine`)
  // That of a populate, which is named to nobody.
  await store.command(`CREATE VIEW ws_0001.p_${'0'.repeat(32)}_view AS SELECT * FROM ws_0001.${from.id}`)
  const message = (name: string, users: string) =>
    `Data Source "${name}" is used by ${users}; drop those first, or use force=true: views go too, pipes stay and fail`
  const refusal = { code: 'DATASOURCE_USED', status: 409 }
  await t.rejects(dataSources.drop('from'), { ...refusal, message: message('from', 'bad_rows, daily') })
  await t.rejects(dataSources.drop('to'), { ...refusal, message: message('to', 'daily') }, 'it is written into')
  t.same(await dataSources.dependents('from'), ['bad_rows', 'daily'])
  t.equal((await tables()).length, there + 7, 'a refusal drops nothing')
  await dataSources.drop('from', { isForced: true })
  t.equal((await tables()).length, there + 2)
  t.equal(dataSources.get('to').id, to.id, 'what the view wrote into stays')
  await dataSources.drop('to')
})

t.test('a pipe that uses a data source refuses its drop and its rename', async (t) => {
  const { id } = await dataSources.create(request('piped', 'a Int32'))
  const opened: { room?: DataSources } = {}
  const pipeUsers: PipeUsers = {
    using: () => [{ id: 't_1', name: 'top' }],
    possiblyUsing: () => [],
    readNames: async () => undefined,
    checkTaken: () => undefined,
    checkFreed: () => undefined,
    checkVersion: () => undefined,
    // Whoever changes pipes may wait for the turn of the data source meanwhile.
    repeated: async (change) => {
      await opened.room?.truncate('piped')
      return await change()
    },
    rename: async ({ oldName }) => {
      throw errors.DATASOURCE_USED({ name: oldName, users: ['top'], advice: 'let them read something else first' })
    },
  }
  const room = await openDataSources(roomOptions('create'), {
    ...{ catalog, store, ingest: { withBarrier, replayRows, withHold, ...free }, logger: silentLogger },
    pipeUsers,
  })
  opened.room = room
  t.same(room.usedBy(id), [{ id: 't_1', name: 'top' }])
  await t.rejects(room.drop('piped'), { code: 'DATASOURCE_USED', message: /is used by top; drop those first/ })
  await t.rejects(room.revise('piped', { name: 'other', description: undefined }), {
    ...{ code: 'DATASOURCE_USED', message: /is used by top; let them read something else first/ },
  })
  t.match(await room.revise('piped', { name: undefined, description: 'x' }), { name: 'piped', description: 'x' })
  await room.drop('piped', { isForced: true })
})

const noChange = {
  schema: undefined,
  description: undefined,
  kafkaStoreRawValue: undefined,
  ttl: undefined,
  indexes: undefined,
  isDry: false,
}

const hasParts = (text: string, other: string): boolean => String(parts(text)) === String(parts(other))
const parts = (text: string): readonly string[] => text.split(/, |[()]/).sort()

/** How the tables of a data source are defined, both of them, without their names. */
async function definitions(id: string): Promise<readonly string[]> {
  const rows = await store.rows<{ text: string }>(
    `SELECT replaceAll(create_table_query, '${id}', '') AS text FROM system.tables WHERE startsWith(name, '${id}') ORDER BY name`,
  )
  return rows.map(({ text }) => text)
}

t.test('a start takes back an alter that died halfway, at whichever step', async (t) => {
  const engine = { name: 'MergeTree', options: { sorting_key: 'a', ttl: 'd' } }
  const before = await dataSources.create({
    ...request('halfway', 'a Int32, d Date', engine),
    indexes: 'i a TYPE minmax, j a TYPE minmax',
  })
  const { id } = before
  const defined = await definitions(id)
  const { columns } = await dataSources.create(request('template', 'a Int32, d Date, e String DEFAULT d, f Date'))
  const { i = null, j = null } = Object.fromEntries(before.indexes.map((index) => [index.name, index]))
  if (i === null || j === null) throw new Error('there are two indexes')
  const indexes = [
    { ...i, typeText: 'set(3)' },
    { ...j, name: 'k', expression: 'e' },
  ]
  const pendings = [
    { ...before, columns, indexes, engine: { ...engine, options: { sorting_key: 'a', ttl: 'f' } }, version: 2 },
    { ...before, columns, engine: { ...engine, options: { sorting_key: 'a' } }, version: 2 },
  ]
  for (const pending of pendings) {
    for (const steps of [0, 1, 2]) {
      await catalog.beginAlter(pending)
      let done = 0
      const command = async (sql: string) => void (done++ < steps && (await store.command(sql)))
      const { copy, exchange, sync } = store
      const tables = new TableStatements({ definitionVersion: 0, command, rows: store.rows.bind(store) })
      const stopping = { tables, copy, exchange, sync }
      await alterTables(stopping, before, pending)
      // Indexes may stand in another order.
      const changed = (await definitions(id)).map((text, index) => !hasParts(text, defined[index] ?? ''))
      t.same(changed, [steps > 1, steps > 0], 'it is half done')
      await open(store)
      const takenBack = (await definitions(id)).map(parts)
      t.same(takenBack, defined.map(parts), `taken back after ${steps} statements`)
      t.same(catalog.altering(), [])
    }
  }
  const plain = await dataSources.create(request('plain', 'a Int32, d Date'))
  const withTtl = { ...plain, engine: { name: 'MergeTree', options: { ttl: 'd' } } }
  for (const steps of [0, 1]) {
    await catalog.beginAlter(withTtl)
    if (steps > 0) await alterTables(store, plain, withTtl)
    await open(store)
    t.notMatch((await definitions(plain.id))[0], /TTL/)
  }
  for (const name of ['halfway', 'template', 'plain']) await dataSources.drop(name)
})

t.test('an alter that the engine or the catalog fails at is taken back at once', async (t) => {
  const { id } = await dataSources.create(request('whole', 'a Int32'))
  const defined = await definitions(id)
  const alter = { ...noChange, schema: 'a Int32, b Int32' }
  const fault = new StoreError({ kind: 'engine', message: 'no', clickhouseCode: 243 })
  const isLanding = new RegExp(`ALTER TABLE .*${id}. ADD COLUMN`)
  await t.rejects((await open(faulty(isLanding, fault))).alter('whole', alter), { code: 'ENGINE_FAILED' })
  t.same(await definitions(id), defined)
  const failing = new Proxy(catalog, {
    get: (target, name) => {
      if (name === 'completeAlter') return () => Promise.reject(new Error('the disk is full'))
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  await t.rejects((await open(store, failing)).alter('whole', alter), { message: 'the disk is full' })
  t.same(await definitions(id), defined)
  t.same(catalog.altering(), [])
  t.match(dataSources.get('whole'), { version: 1 })
  const stuck = faulty(new RegExp(`ALTER TABLE .*${id}. (ADD|DROP) COLUMN`), fault)
  await t.rejects((await open(stuck)).alter('whole', alter), { code: 'ENGINE_FAILED' })
  t.equal(catalog.altering().length, 1, 'what could not be taken back is noted')
  t.match(dataSources.get('whole'), { version: 1 })
  barriers.splice(0)
  await dataSources.alter('whole', alter)
  await dataSources.alter('whole', { ...noChange, description: 'x' })
  await dataSources.truncate('whole')
  await dataSources.truncate('whole_quarantine')
  t.same(barriers, ['whole', 'whole', 'whole'], 'all but the description passed a barrier')
  t.match(dataSources.get('whole'), { version: 2, description: 'x', columns: { length: 2 } })
  await dataSources.drop('whole')
})

t.test(
  'however many ask for sizes at once, the engine is asked twice at most, and all see what was before',
  async (t) => {
    const { id } = await dataSources.create(request('sized', 'a Int32'))
    let asked = 0
    class CountingTables extends TableStatements {
      override list(names?: readonly string[]) {
        if (names === undefined) asked += 1
        return super.list(names)
      }
    }
    const counting: Store = { ...faulty(/^never$/, new Error()), tables: new CountingTables(store) }
    const room = await open(counting)
    asked = 0
    const first = Array.from({ length: 20 }, () => room.statistics())
    await store.command(`INSERT INTO ws_0001.${id} VALUES (1), (2)`)
    const later = room.statistics()
    await Promise.all(first)
    t.match((await later).get(id), { landing: { rowCount: 2 }, quarantine: { rowCount: 0 } })
    t.ok(asked <= 3, `asked ${asked} times`)
    t.match(await room.statisticsOf(id), { landing: { rowCount: 2 } })
    class BusyTables extends TableStatements {
      isBusy = false
      override async list(names?: readonly string[]) {
        if (this.isBusy) throw new StoreError({ kind: 'busy', message: '' })
        return await super.list(names)
      }
    }
    const tables = new BusyTables(store)
    const failing = await open({ ...counting, tables })
    tables.isBusy = true
    await t.rejects(failing.statistics(), { code: 'QUERIES_TOO_MANY' })
    await room.drop('sized')
  },
)
