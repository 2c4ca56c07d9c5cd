import { statSync } from 'node:fs'
import { join } from 'node:path'
import { open } from 'lmdb'
import t from 'tap'
import type { Catalog } from '../../src/catalog/catalog.ts'
import { decodeEntry, encodeEntry } from '../../src/catalog/catalog-record.ts'
import type { DataSource } from '../../src/catalog/data-source.types.ts'
import { createDataSourceId, findDataSourceId, parseDataSourceId } from '../../src/catalog/data-source-id.ts'
import { checkDataSourceName } from '../../src/catalog/data-source-name.ts'
import { parseSchema } from '../../src/schema/columns/schema-parser.ts'
import { openLmdbStorage } from '../../src/storage/lmdb-storage.ts'
import { openSettings } from '../../src/storage/settings.ts'
import {
  catalogOver,
  dataSource,
  killedWriter,
  openTestCatalog,
  temporaryDirectory,
} from '../support/catalog/test-catalog.ts'
import { MemoryStorage } from '../support/storage/memory-storage.ts'

// Run as a program of its own, this file creates data sources until it is killed.
const writerPath = process.argv[2] === 'write' ? process.argv[3] : undefined
if (writerPath === undefined) runTests()
else await writeUntilKilled(writerPath)

function runTests(): void {
  t.test('a data source shows when it is complete, and goes by steps', async (t) => {
    const { catalog } = await openTestCatalog(t)
    const orders = dataSource('orders')
    await catalog.begin(orders)
    t.equal(catalog.find('orders'), undefined, 'its tables may be missing')
    t.same(catalog.list(), [])
    t.match(catalog.unfinished(), [{ state: 'creating', dataSource: { name: 'orders' } }])
    await t.rejects(
      catalog.begin(dataSource('orders')),
      { code: 'DATASOURCE_EXISTS', status: 409 },
      'its name is taken',
    )

    await catalog.complete(orders.id)
    t.equal(catalog.find('orders'), orders)
    t.equal(catalog.find(orders.id), orders, 'by id too')
    t.equal(catalog.find(`t_.orders.eu.${orders.id.slice(2)}`), orders, 'and by an id with a label')
    t.equal(catalog.find('Orders'), undefined, 'capitals count')
    t.same(catalog.unfinished(), [])

    await catalog.retire(orders.id)
    t.equal(catalog.find('orders'), undefined)
    t.match(catalog.unfinished(), [{ state: 'dropping' }])
    const next = dataSource('orders')
    await catalog.begin(next)
    await catalog.complete(next.id)
    await catalog.remove(orders.id)
    t.equal(catalog.find('orders'), next, 'its name was free before its tables were gone')
    await catalog.remove(orders.id)
    t.same(catalog.list(), [next], 'what is gone can be removed again')
    const gone = { code: 'DATASOURCE_NOT_FOUND', message: /"orders" does not exist/ }
    await t.rejects(catalog.revise(orders.id, { description: '' }), gone, 'what is gone has its name in errors')
    t.equal(catalog.lastNameOf(orders.id), 'orders')
  })

  t.test('ids survive a rename, and names go to who has them now', async (t) => {
    const { catalog } = await openTestCatalog(t)
    const [first, second] = [dataSource('first'), dataSource('second')]
    await create(catalog, first)
    await create(catalog, second)
    const renamed = await catalog.revise(first.id, { name: 'third' })
    t.match(renamed, { id: first.id, name: 'third', updatedAt: 2_000, createdAt: 1_000 })
    t.equal(catalog.find('first'), undefined)
    t.equal(catalog.find('third'), renamed)
    t.equal(catalog.find(first.id), renamed)
    await t.rejects(catalog.revise(second.id, { name: 'third' }), { code: 'DATASOURCE_EXISTS' })
    await t.rejects(catalog.revise(second.id, { name: 'a-b' }), { code: 'NAME_INVALID', status: 400 })
    await t.rejects(catalog.revise(createDataSourceId(), { name: 'fourth' }), {
      code: 'DATASOURCE_NOT_FOUND',
      status: 404,
    })
    t.equal((await catalog.revise(second.id, { name: 'second' })).name, 'second', 'its own name is free')
    await create(catalog, dataSource('first'))
    t.same(
      catalog.list().map(({ name }) => name),
      ['third', 'second', 'first'],
      'the order is that of creation',
    )
  })

  t.test(
    'a name with a version is what has the name, unless that has the name itself or another version',
    async (t) => {
      const { catalog, path, close } = await openTestCatalog(t)
      const views = dataSource('views')
      const clicks: DataSource = { ...dataSource('clicks'), declaredVersion: 3 }
      await create(catalog, views)
      await create(catalog, clicks)
      const found = (from: Catalog, ...names: readonly string[]) => names.map((name) => from.find(name)?.name)
      t.same(found(catalog, 'views__v0', 'views__v77', 'views__v03'), ['views', 'views', 'views'])
      t.same(found(catalog, 'clicks', 'clicks__v3', 'clicks__v2', 'clicks__v33'), [
        'clicks',
        'clicks',
        undefined,
        undefined,
      ])
      const others = [
        'views__v',
        'views__vx',
        'views__V3',
        'views_v3',
        '__v3',
        'views__v3__v2',
        'views__v1.5',
        'views__v9999999999',
      ]
      t.same(found(catalog, ...others, `${views.id}__v3`), [...others.map(() => undefined), undefined])
      t.match(catalog.unversioned('clicks__v2'), { kind: 'data source', id: clicks.id, name: 'clicks' })
      const exact = dataSource('views__v3')
      await catalog.begin(exact)
      t.same(
        found(catalog, 'views__v3', 'views__v2'),
        [undefined, 'views'],
        'one that is half made is nothing else meanwhile',
      )
      t.equal(catalog.unversioned('views__v3'), undefined)
      await catalog.complete(exact.id)
      t.same(found(catalog, 'views__v3', 'views__v3__v1'), ['views__v3', 'views__v3'])
      await catalog.beginAlter({ ...clicks, description: 'altered' })
      await catalog.revise(clicks.id, { declaredVersion: 4 })
      await catalog.completeAlter(clicks.id)
      t.match(catalog.find('clicks__v4'), { description: 'altered', declaredVersion: 4 })
      await close()
      const again = (await openTestCatalog(t, { path })).catalog
      t.same(found(again, 'clicks__v4', 'clicks__v3', 'views__v3', 'views__v2'), [
        'clicks',
        undefined,
        'views__v3',
        'views',
      ])
      await again.retire(exact.id)
      t.same(found(again, 'views__v3'), ['views'])
    },
  )

  t.test('a change replaces the definition, but neither id, name nor time of creation', async (t) => {
    const { catalog } = await openTestCatalog(t)
    const orders = dataSource('orders')
    await create(catalog, orders)
    const columns = parseSchema('a UInt8, b String', { columnsMax: 2 })
    await catalog.beginAlter({ ...orders, name: 'other', createdAt: 5, columns, version: 2 })
    t.equal(catalog.find('orders')?.version, 1, 'what is only noted is not shown')
    t.match(catalog.altering(), [{ dataSource: { version: 1 }, pending: { version: 2 } }])
    const updated = await catalog.completeAlter(orders.id)
    t.match(updated, { name: 'orders', createdAt: 1_000, updatedAt: 2_000, version: 2 })
    t.equal(catalog.find('orders'), updated)
    t.same(catalog.altering(), [])
    await t.rejects(catalog.beginAlter(dataSource('x')), { code: 'DATASOURCE_NOT_FOUND' })
  })

  t.test('a change that was noted outlives a restart, until it is shown or forgotten', async (t) => {
    const { catalog, path, close } = await openTestCatalog(t)
    const orders = dataSource('orders')
    await create(catalog, orders)
    const indexes = [{ name: 'i', expression: 'id', typeText: 'minmax', granularity: 2 }]
    await catalog.beginAlter({ ...orders, indexes, kafkaStoreRawValue: true, version: 2 })
    await close()
    const again = (await openTestCatalog(t, { path })).catalog
    t.match(again.altering(), [{ dataSource: { version: 1, indexes: [] }, pending: { version: 2, indexes } }])
    await again.abandonAlter(orders.id)
    t.same(again.altering(), [])
    t.match(again.find('orders'), { version: 1, indexes: [], kafkaStoreRawValue: false })
  })

  t.test('every change gives the catalog another version, also across a restart', async (t) => {
    const { catalog, path, close } = await openTestCatalog(t)
    const versions = [catalog.catalogVersion]
    const orders = dataSource('orders')
    await catalog.begin(orders)
    versions.push(catalog.catalogVersion)
    await catalog.complete(orders.id)
    versions.push(catalog.catalogVersion)
    await catalog.revise(orders.id, { name: 'sales' })
    versions.push(catalog.catalogVersion)
    await t.rejects(catalog.begin(dataSource('sales')))
    versions.push(catalog.catalogVersion)
    await catalog.retire(orders.id)
    await catalog.remove(orders.id)
    await catalog.remove(orders.id)
    versions.push(catalog.catalogVersion)
    t.same(versions, [0, 1, 2, 3, 3, 5], 'a change that was not made changes no version')
    await close()
    t.equal((await openTestCatalog(t, { path })).catalog.catalogVersion, 5)
  })

  t.test('everything is there after a restart', async (t) => {
    const { catalog, path, close } = await openTestCatalog(t)
    const columns = parseSchema(
      "`a b` Array(Tuple(x Nullable(Int64), y LowCardinality(String))) `json:$.[\"a b\"][:]`, c Enum('é', 'y') DEFAULT 'y' CODEC(ZSTD(1))",
      { columnsMax: 3 },
    )
    const engine = { name: 'ReplacingMergeTree', options: { sorting_key: 'c', ttl: 'now()' } }
    const names = ['zebra', 'apple', 'mango']
    for (const name of names) await create(catalog, { ...dataSource(name), columns, engine, type: 'csv' })
    await catalog.begin(dataSource('unfinished'))
    const [zebra] = catalog.list()
    t.ok(zebra)
    await close()
    const again = (await openTestCatalog(t, { path })).catalog
    t.same(
      again.list().map(({ name }) => name),
      names,
    )
    t.same(again.find('zebra'), zebra)
    t.match(again.unfinished(), [{ state: 'creating', dataSource: { name: 'unfinished' } }])
    await create(again, dataSource('last'))
    t.equal(again.list().at(-1)?.name, 'last')
  })

  t.test('changes that are asked for at once are made one after the other', async (t) => {
    const { catalog } = await openTestCatalog(t)
    const results = await Promise.allSettled(Array.from({ length: 20 }, () => catalog.begin(dataSource('orders'))))
    t.equal(results.filter(({ status }) => status === 'fulfilled').length, 1, 'one of twenty gets the name')
    const [entry] = catalog.unfinished()
    t.ok(entry)
    if (entry === undefined) return
    const { id } = entry.dataSource
    const order: string[] = []
    await Promise.all([
      catalog.complete(id).then(() => order.push('complete')),
      catalog.revise(id, { name: 'b' }).then(() => order.push('b')),
      catalog.revise(id, { name: 'c' }).then(() => order.push('c')),
      catalog.close().then(() => order.push('close')),
    ])
    t.same(order.slice(0, 3), ['complete', 'b', 'c'])
    t.equal(catalog.find(id)?.name, 'c')
  })

  t.test('a change that the storage fails at was not made, and the next one is', async (t) => {
    const storage = new MemoryStorage()
    const catalog = await catalogOver(storage)
    storage.failure = new Error('no space left on device')
    await t.rejects(catalog.begin(dataSource('orders')), { message: 'no space left on device' })
    t.same(catalog.unfinished(), [])
    t.equal(catalog.catalogVersion, 0)
    storage.failure = null
    await catalog.begin(dataSource('orders'))
    t.equal(catalog.unfinished().length, 1)
    t.equal(catalog.catalogVersion, 1)
  })

  t.test('the number of data sources and of waiting changes has a maximum', async (t) => {
    const { catalog } = await openTestCatalog(t, { dataSourcesMax: 2 })
    const first = dataSource('a')
    await create(catalog, first)
    await create(catalog, dataSource('b'))
    await t.rejects(catalog.begin(dataSource('c')), {
      code: 'DATASOURCES_TOO_MANY',
      message: 'There are already 2 Data Sources, the most a workspace can have; drop one first',
    })
    await catalog.remove(first.id)
    await catalog.begin(dataSource('c'))
    const changes = Array.from({ length: 1_000 }, () => catalog.remove(first.id))
    await t.rejects(catalog.remove(first.id), { code: 'CHANGES_TOO_MANY', status: 503, retryAfterSeconds: 1 })
    await Promise.all(changes)
  })

  t.test('names are letters, digits and underscores', async (t) => {
    for (const name of ['a', 'A1', '_a', 'events_2024', 'x'.repeat(256), 't_0123', 'quarantine', 'a_quarantine_x']) {
      t.doesNotThrow(() => checkDataSourceName(name), name)
    }
    const hex = '0123456789abcdef0123456789abcdef'
    for (const [name, reason] of [
      ['', /begin with a letter/],
      ['1a', /begin with a letter/],
      ['a-b', /only letters, digits and underscores/],
      ['a.b', /only letters/],
      ['a b', /only letters/],
      ['año', /only letters/],
      ['a\n', /only letters/],
      ['_', /stands for a pipe/],
      [`t_${hex}`, /looks like an id/],
      ['orders_quarantine', /those of quarantine tables/],
      ['x'.repeat(257), /longer than 256 characters/],
    ] as const) {
      t.throws(() => checkDataSourceName(name), { code: 'NAME_INVALID', status: 400, message: reason }, name)
    }
  })

  t.test('ids are t_ and 32 hex digits, with or without a label', async (t) => {
    const id = createDataSourceId()
    t.match(id, /^t_[0-9a-f]{32}$/)
    t.not(createDataSourceId(), id)
    t.equal(findDataSourceId(id), id)
    t.equal(findDataSourceId(`t_.my.label.${id.slice(2)}`), id)
    t.equal(findDataSourceId(`t_label.${id.slice(2)}`), id)
    for (const text of ['', 't_', id.slice(0, -1), `${id}0`, id.toUpperCase(), `x${id}`, `t_label${id.slice(2)}`]) {
      t.equal(findDataSourceId(text), undefined, text)
    }
    t.throws(() => parseDataSourceId('orders'), /not the id of a data source/)
    t.throws(() => parseDataSourceId(`t_a.${id.slice(2)}`), /not the id of a data source/)
  })

  t.test('a record that cannot be read is named, and nothing is opened over it', async (t) => {
    const good = encodeEntry({
      dataSource: dataSource('orders'),
      state: 'ready',
      sequence: 1,
      pending: null,
      remake: null,
      replay: null,
    })
    const id = createDataSourceId()
    t.equal(decodeEntry(id, good).dataSource.name, 'orders')
    const broken: readonly (readonly [unknown, RegExp])[] = [
      [null, /'record' is not an object/],
      [[], /'record' is not an object/],
      [{ ...good, format: 2 }, /its format is 2, not 1/],
      [{ ...good, name: 7 }, /'name' is not a text/],
      [{ ...good, columns: {} }, /'columns' is not an array/],
      [{ ...good, columns: [] }, /it has no columns/],
      [{ ...good, columns: [{ name: 'a', typeText: 'Strng' }] }, /'jsonPathText' is not a text/],
      [{ ...good, columns: [{ name: 'a', typeText: 'Strng', jsonPathText: null }] }, /Unknown type 'Strng'/],
      [{ ...good, engine: { name: 'MergeTree', options: { ttl: 1 } } }, /'ttl' is not a text/],
      [{ ...good, state: 'gone' }, /'state' is not one of creating, ready, dropping/],
      [{ ...good, createdAt: '1' }, /'createdAt' is not an integer/],
      [{ ...good, sequence: 1.5 }, /'sequence' is not an integer/],
    ]
    for (const [record, reason] of broken) {
      t.throws(() => decodeEntry(id, record), { name: 'CatalogRecordError', message: reason }, String(reason))
    }
    const storage = new MemoryStorage()
    await storage.commit([{ kind: 'data_sources', key: id, value: { format: 9 }, version: null }])
    await t.rejects(catalogOver(storage), {
      message: new RegExp(id),
    })
  })

  t.test('settings outlive a restart', async (t) => {
    const path = join(temporaryDirectory(t), 'catalog.lmdb')
    const storage = await openLmdbStorage(path)
    const settings = await openSettings(storage)
    t.equal(settings.read('admin_token'), undefined)
    t.equal(statSync(path).mode & 0o777, 0o600, 'for no other user to read')
    await settings.write('admin_token', 'p.secret')
    t.equal(settings.read('admin_token'), 'p.secret')
    await storage.close()
    const again = await openLmdbStorage(path)
    t.teardown(() => again.close())
    t.equal((await openSettings(again)).read('admin_token'), 'p.secret')
  })

  t.test('a file of a later release is refused', async (t) => {
    const path = join(temporaryDirectory(t), 'catalog.lmdb')
    const root = open<number>({ path, noSubdir: true, encoding: 'json', maxDbs: 4 })
    await root.openDB<number>({ name: 'meta', encoding: 'json' }).put('layout', 2)
    await root.close()
    await t.rejects(openLmdbStorage(path), {
      name: 'StorageLayoutError',
      message: /layout 2, but this release knows only 1/,
    })
  })

  t.test('what a promise said is on disk survives kill -9', { timeout: 60_000 }, async (t) => {
    const path = join(temporaryDirectory(t), 'catalog.lmdb')
    for (let round = 0; round < 3; round += 1) {
      const confirmed = await killedWriter(import.meta.url, path)
      const { catalog, close } = await openTestCatalog(t, { path })
      const found = new Set(catalog.list().map(({ name }) => name))
      t.same(
        confirmed.filter((name) => !found.has(name)),
        [],
        `all ${confirmed.length} of round ${round} are there`,
      )
      t.ok(catalog.unfinished().length <= 1 + round, 'and at most one a round is half made')
      await close()
    }
  })
}

async function writeUntilKilled(path: string): Promise<void> {
  const catalog = await catalogOver(await openLmdbStorage(path), { dataSourcesMax: 100_000 })
  for (let count = 0; ; count += 1) {
    const source = dataSource(`d_${process.pid}_${count}`)
    await create(catalog, source)
    process.stdout.write(`${source.name}\n`)
  }
}

/** The names that a writer said it had created before it was killed. */

async function create(catalog: Catalog, source: DataSource): Promise<void> {
  await catalog.begin(source)
  await catalog.complete(source.id)
}
