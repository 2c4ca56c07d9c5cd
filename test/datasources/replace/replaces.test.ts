import t from 'tap'
import type { Catalog } from '../../../src/catalog/catalog.ts'
import type { DataSource } from '../../../src/catalog/data-source.types.ts'
import { JoinTargets } from '../../../src/datasources/join-targets.ts'
import type { Replaces } from '../../../src/datasources/replace/replace.types.ts'
import { openReplaces } from '../../../src/datasources/replace/replaces.ts'
import { createTables } from '../../../src/datasources/tables.ts'
import type { ImportOutcome } from '../../../src/ingest/ingest.types.ts'
import { openEmbeddedStore } from '../../../src/store/embedded/embedded-store.ts'
import type { Store } from '../../../src/store/store.types.ts'
import { StoreError } from '../../../src/store/store-error.ts'
import { testDataSource } from '../../support/ingest/fake-store.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../../support/store/test-store.ts'

const directory = await createTestDirectory()
const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
const source = testDataSource('n UInt64')
const behind = testDataSource('n UInt64')
const [target, far] = [behind.id, 'far_behind']
await createTables(store.tables, source)
for (const table of [target, far]) {
  await store.command(`CREATE TABLE ws_0001.${table} (n UInt64) ENGINE = SummingMergeTree ORDER BY tuple()`)
}
await store.command(
  `CREATE MATERIALIZED VIEW ws_0001.v_near TO ws_0001.${target} AS SELECT sum(n) AS n FROM ws_0001.${source.id}`,
)
await store.command(
  `CREATE MATERIALIZED VIEW ws_0001.v_far TO ws_0001.${far} AS SELECT sum(n) AS n FROM ws_0001.${target}`,
)
t.teardown(async () => {
  await store.close()
  await directory.remove()
})

/** What the catalog's storage would keep over a kill. */
const settings = new Map<string, string>()
const heldIds: string[][] = []

function open(
  over: Store = store,
  find: (id: string) => DataSource | undefined = (id) => (id === source.id ? source : undefined),
  unfinished: Catalog['unfinished'] = () => [],
) {
  return openReplaces(
    { closeTimeoutMs: 1_000 },
    {
      catalog: { find, unfinished, replayOf: () => null },
      settings: {
        read: (name) => settings.get(name),
        write: async (name, value) => {
          settings.set(name, value)
        },
      },
      store: over,
      ingest: {
        withHold: async (dataSources, change) => {
          heldIds.push(dataSources.map(({ id }) => id))
          return await change()
        },
      },
      logger: silentLogger,
    },
  )
}

/** The store with another way to exchange tables. */
function exchanging(exchange: Store['exchange']): Store {
  return new Proxy(store, {
    get: (real, name) => {
      if (name === 'exchange') return exchange
      const member: unknown = Reflect.get(real, name)
      return typeof member === 'function' ? member.bind(real) : member
    },
  })
}

function replaceBy(room: Replaces, n: number, condition: string | null = null): Promise<ImportOutcome> {
  return room.replace({
    dataSource: source,
    condition,
    importId: `import-${n}`,
    fill: async ({ landing }) => {
      await store.command(`INSERT INTO ws_0001.${landing} VALUES (${n})`)
      return { storedRows: 1, quarantinedRows: 0, invalidLines: 0, shortLines: 0, failure: null }
    },
  })
}

async function sums(): Promise<readonly number[]> {
  const tables = [source.id, target, far].map((table) => `(SELECT sum(n) FROM ws_0001.${table})`)
  const [row] = await store.rows<{ readonly sums: readonly number[] }>(`SELECT [${tables.join(', ')}] AS sums`)
  return row?.sums ?? []
}

async function staging(): Promise<readonly string[]> {
  const rows = await store.rows<{ readonly name: string }>("SELECT name FROM system.tables WHERE name LIKE '%staging'")
  return rows.map(({ name }) => name)
}

const fault = new StoreError({ kind: 'engine', message: 'No space left', clickhouseCode: 243 })

t.test('all tables get their new content, and what could bring rows to them is held', async (t) => {
  t.match(await replaceBy(await open(), 1), { storedRows: 1, failure: null })
  t.same(await sums(), [1, 1, 1])
  t.same(heldIds.splice(0), [[source.id]])
  t.same(await staging(), [])
  t.equal(settings.get('replace_swaps'), '[]')
})

t.test('an exchange that fails in its middle is undone', async (t) => {
  let count = 0
  const room = await open(
    exchanging(async (pairs) => {
      count += 1
      await store.exchange(count === 1 ? pairs.slice(0, 2) : pairs)
      if (count === 1) throw fault
    }),
  )
  await t.rejects(replaceBy(room, 2), { code: 'ENGINE_FAILED', status: 500 })
  t.same(await sums(), [1, 1, 1])
  t.same(await staging(), [])
  t.match(await replaceBy(room, 3), { storedRows: 1 })
  t.same(await sums(), [3, 3, 3])
})

t.test('a process that dies in the middle of an exchange finds all of it done at the next start', async (t) => {
  for (const doneCount of [0, 1, 2, 3]) {
    const dying = await open(
      exchanging(async (pairs) => {
        if (doneCount > 0) await store.exchange(pairs.slice(0, doneCount))
        // Nothing more happens in a process that is dead.
        await new Promise(() => undefined)
      }),
    )
    const before = await sums()
    void replaceBy(dying, 10 + doneCount)
    while (!/staging/.test(settings.get('replace_swaps') ?? '')) await sums()
    while ((await sums()).filter((sum, index) => sum !== before[index]).length < doneCount);
    await open()
    t.same(await sums(), [10 + doneCount, 10 + doneCount, 10 + doneCount])
    t.same(await staging(), [])
    t.equal(settings.get('replace_swaps'), '[]')
  }
})

t.test('a process that dies before an exchange finds the old content at the next start', async (t) => {
  const dying = await open()
  const before = await sums()
  const begun = new Promise<void>((resolve) => {
    void dying.replace({
      dataSource: source,
      condition: null,
      importId: 'dead',
      fill: async ({ landing }) => {
        await store.command(`INSERT INTO ws_0001.${landing} VALUES (99)`)
        resolve()
        return await new Promise(() => undefined)
      },
    })
  })
  await begun
  t.same((await staging()).length, 2)
  await open()
  t.same(await sums(), before)
  t.same(await staging(), [])
})

t.test('what can neither be done nor undone is ended before the next replace begins', async (t) => {
  let isBroken = true
  const room = await open(
    exchanging(async (pairs) => {
      if (!isBroken) return await store.exchange(pairs)
      // The first time a pair is exchanged, then nothing works any more.
      if ((await sums())[0] !== 20) await store.exchange(pairs.slice(0, 1))
      throw fault
    }),
  )
  await t.rejects(replaceBy(room, 20), { code: 'ENGINE_FAILED' })
  isBroken = false
  await t.rejects(
    room.replace({ dataSource: source, condition: null, importId: 'x', fill: () => Promise.reject(fault) }),
    { code: 'ENGINE_FAILED' },
  )
  t.same(await sums(), [20, 20, 20])
  t.same(await staging(), [])
})

t.test('a replace is refused when its data source is gone, or the room closes', async (t) => {
  await t.rejects(replaceBy(await open(store, () => undefined), 30), { code: 'DATASOURCE_NOT_FOUND', status: 404 })
  const room = await open()
  await t.rejects(replaceBy(room, 30, 'n = 1'), { code: 'REPLACE_CONDITION_INVALID', message: /no partition key/ })
  await room.close()
  await t.rejects(replaceBy(room, 30), { code: 'SHUTTING_DOWN', status: 503 })
  t.same(await sums(), [20, 20, 20])
})

t.test('a replace is refused while a data source that it would fill is half gone', async (t) => {
  const going = {
    dataSource: behind,
    state: 'dropping',
    sequence: 1,
    pending: null,
    remake: null,
    replay: null,
  } as const
  const room = await open(store, undefined, () => [going])
  await t.rejects(replaceBy(room, 31), { code: 'DATASOURCE_BUSY', status: 409 })
  t.same(await sums(), [20, 20, 20])
  t.same(await staging(), [])
})

t.test('a Join data source behind views, at any depth, is found as soon as there is one', async (t) => {
  const [first, middle] = [testDataSource('a Int32'), testDataSource('a Int32')]
  const engine = { name: 'Join', options: { join_strictness: 'ANY', join_type: 'LEFT', key_columns: 'a' } }
  const last = { ...testDataSource('a Int32'), name: 'last', engine }
  for (const dataSource of [first, middle, last]) await createTables(store.tables, dataSource)
  const targets = new JoinTargets({ catalog: { list: () => [first, middle, last] }, store })
  const view = (name: string, from: DataSource, to: DataSource): Promise<void> =>
    store.command(`CREATE MATERIALIZED VIEW ws_0001.${name} TO ws_0001.${to.id} AS SELECT a FROM ws_0001.${from.id}`)
  t.equal(await targets.behind(first.id), null)
  await view('v_join_1', first, middle)
  t.equal(await targets.behind(first.id), null)
  await view('v_join_2', middle, last)
  t.equal(await targets.behind(first.id), 'last')
  t.equal(targets.behind(first.id), 'last', 'the second time without a question to the engine')
  t.equal(targets.behind(middle.id), 'last')
  t.equal(targets.behind(last.id), null)
  await store.command(`TRUNCATE TABLE ws_0001.${first.id}`)
  t.equal(targets.behind(first.id), 'last', 'rows that go change no views')
  await store.command('DROP TABLE ws_0001.v_join_1')
  t.equal(await targets.behind(first.id), null)
  t.equal(await targets.behind(middle.id), 'last')
})
