// The engine ends while an alter makes a quarantine anew, which copies rows: copies wait for what mends, and so nothing that
// mends may wait for them.

import { join } from 'node:path'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { DataSource } from '../../src/catalog/data-source.types.ts'
import { createDataSourceId } from '../../src/catalog/data-source-id.ts'
import type { AlteredTables } from '../../src/datasources/alter/alter-tables.ts'
import { Alterations } from '../../src/datasources/alter/alterations.ts'
import { createTables } from '../../src/datasources/tables.ts'
import { parseSchema } from '../../src/schema/columns/schema-parser.ts'
import { openLmdbStorage } from '../../src/storage/lmdb-storage.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { TableStatements } from '../../src/store/sql/table-statements.ts'
import type { Statements } from '../../src/store/statements.types.ts'
import type { Store } from '../../src/store/store.types.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { catalogOver } from '../support/catalog/test-catalog.ts'
import { untilEngine } from '../support/store/engine-pid.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'

const directory = await createTestDirectory()
const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
const storage = await openLmdbStorage(join(directory.path, 'catalog.mdb'))
const catalog = await catalogOver(storage, { now: () => 1_000 })
let room: Alterations | undefined
store.onRestart(async (engine) => await room?.mend(engine))
t.teardown(async () => {
  await storage.close()
  await store.close()
  await directory.remove()
})

/** Ends the engine; resolves when the service knows, and so before what mends begins to wait. */
async function endEngine(): Promise<void> {
  process.kill(await untilEngine(), 'SIGKILL')
  while (store.unreadyReason === null) await delay(1)
}

async function untilReady(): Promise<void> {
  while (store.unreadyReason !== null) await delay(1)
}

const ended = new StoreError({ kind: 'stopped', message: 'the engine ended' })

/** A data source with five rows in quarantine, before and behind the alter; `content` tells them, and what their time is called. */
async function fiveRows() {
  const base = { description: '', engine: { name: 'MergeTree', options: {} }, indexes: [], type: 'csv' } as const
  const id = createDataSourceId()
  const columns = parseSchema('a Int32', { columnsMax: 10 })
  const times = { createdAt: 0, updatedAt: 0, version: 1, kafkaStoreRawValue: false }
  const before: DataSource = { ...base, ...times, id, name: `dated_${catalog.list().length}`, columns }
  const changed: DataSource = { ...before, columns: parseSchema('a Int32, insertion_date Date', { columnsMax: 10 }) }
  await catalog.begin(before)
  await createTables(store.tables, before)
  await catalog.complete(id)
  const table = `ws_0001.${id}_quarantine`
  await store.command(`INSERT INTO ${table} (a, c__error) SELECT toString(number), ['x'] FROM numbers(5)`)
  const content = async (): Promise<unknown> => {
    const names = `arrayFilter(name -> name LIKE '%insertion_date', groupArray(name))`
    const where = `database = 'ws_0001' AND table = '${id}_quarantine'`
    const [row] = await store.rows<object>(
      `SELECT (SELECT toUInt32(count()) FROM ${table}) AS rows, ${names} AS names FROM system.columns WHERE ${where}`,
    )
    return row
  }
  return { before, changed, content }
}

/** The store with other ways to copy, exchange and change tables. */
function storeWith(over: Partial<AlteredTables>): AlteredTables {
  return {
    tables: store.tables,
    copy: (request) => store.copy(request),
    exchange: (pairs) => store.exchange(pairs),
    sync: () => store.sync(),
    ...over,
  }
}

function open(t: Test, over: Partial<AlteredTables>): Alterations {
  const atOnce = async <Result>(_: unknown, change: () => Promise<Result>): Promise<Result> => await change()
  const ingest = { withBarrier: atOnce, withHold: atOnce }
  const opened = new Alterations({ catalog, store: storeWith(over), ingest, logger: silentLogger })
  room = opened
  t.teardown(() => {
    room = undefined
  })
  return opened
}

const wider = { rows: 5, names: ['insertion_date', 'c__insertion_date'] }
const asBefore = { rows: 5, names: ['insertion_date'] }

t.test('an alter that is about to copy goes on in the next engine, which does not wait for it', async (t) => {
  const { before, changed, content } = await fiveRows()
  const copy: Store['copy'] = async (request) => {
    await endEngine()
    await store.copy(request)
  }
  await open(t, { copy }).make(before, { changed, hasTableChanges: true, operations: [] })
  await untilReady()
  t.same(await content(), wider)
  t.same(catalog.altering(), [])
})

t.test('an alter whose engine ends is taken back by a copy, and the next engine does not wait for that', async (t) => {
  const { before, changed, content } = await fiveRows()
  let exchanges = 0
  const exchange: Store['exchange'] = async (pairs) => {
    await store.exchange(pairs)
    exchanges += 1
    if (exchanges > 1) return
    await endEngine()
    throw ended
  }
  await t.rejects(open(t, { exchange }).make(before, { changed, hasTableChanges: true, operations: [] }))
  await untilReady()
  t.same(await content(), asBefore)
  t.same(catalog.altering(), [])
})

t.test('what could not be taken back when the engine ended is, before the next one is open to others', async (t) => {
  const { before, changed, content } = await fiveRows()
  let isCut = true
  const exchange: Store['exchange'] = async (pairs) => {
    await store.exchange(pairs)
    if (isCut) throw ended
  }
  const command: Statements['command'] = async (sql, nature) => {
    if (isCut && sql.includes('DROP COLUMN')) throw ended
    await store.command(sql, nature)
  }
  const tables = new TableStatements({ definitionVersion: 0, command, rows: store.rows.bind(store) })
  await t.rejects(open(t, { exchange, tables }).make(before, { changed, hasTableChanges: true, operations: [] }))
  t.equal(catalog.altering().length, 1)
  isCut = false
  await endEngine()
  await untilReady()
  t.same(catalog.altering(), [])
  t.same(await content(), asBefore)
})
