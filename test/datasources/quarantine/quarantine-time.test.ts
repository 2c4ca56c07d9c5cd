import t from 'tap'
import type { DataSource } from '../../../src/catalog/data-source.types.ts'
import { createDataSourceId } from '../../../src/catalog/data-source-id.ts'
import { type AlteredTables, alterTables, takeBackTables } from '../../../src/datasources/alter/alter-tables.ts'
import { createTables } from '../../../src/datasources/tables.ts'
import { parseSchema } from '../../../src/schema/columns/schema-parser.ts'
import { openEmbeddedStore } from '../../../src/store/embedded/embedded-store.ts'
import { TableStatements } from '../../../src/store/sql/table-statements.ts'
import type { Store } from '../../../src/store/store.types.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../../support/store/test-store.ts'

const directory = await createTestDirectory()
const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
t.teardown(async () => {
  await store.close()
  await directory.remove()
})

function dataSourceOf(id: DataSource['id'], schema: string): DataSource {
  return {
    id,
    name: 'dated',
    description: '',
    columns: parseSchema(schema, { columnsMax: 10, kept: new Set(['c__insertion_date']) }),
    engine: { name: 'MergeTree', options: {} },
    indexes: [],
    type: 'csv',
    kafkaStoreRawValue: false,
    createdAt: 0,
    updatedAt: 0,
    version: 1,
  }
}

class Killed extends Error {}

/** The store of a process that dies behind so many steps. */
function dyingStore(steps: number): AlteredTables {
  let done = 0
  const step = async (work: () => Promise<unknown>): Promise<void> => {
    if (done === steps) throw new Killed()
    done += 1
    await work()
  }
  const command = (sql: string): Promise<void> => step(() => store.command(sql))
  const statements = { definitionVersion: 0, command, rows: store.rows.bind(store) }
  return {
    tables: new TableStatements(statements),
    copy: (request: Parameters<Store['copy']>[0]) => step(() => store.copy(request)),
    exchange: (pairs: Parameters<Store['exchange']>[0]) => step(() => store.exchange(pairs)),
    sync: store.sync.bind(store),
  }
}

const changes = [
  ['a Int32, b String', 'a Int32, b String, insertion_date Date, d UInt8', 'insertion_date', 'c__insertion_date'],
  [
    'a Int32, c__insertion_date String',
    'a Int32, c__insertion_date String, insertion_date Date',
    'insertion_date',
    'c__c__insertion_date',
  ],
  [
    'a Int32, insertion_date Date',
    'a Int32, insertion_date Date, c__insertion_date String',
    'c__insertion_date',
    'c__c__insertion_date',
  ],
] as const

t.test('a quarantine whose time gives way has all its rows, at whichever step the process dies', async (t) => {
  for (const [schema, wider, timeBefore, timeAfter] of changes) {
    const id = createDataSourceId()
    const before = dataSourceOf(id, schema)
    const after = dataSourceOf(id, wider)
    await createTables(store.tables, before)
    const table = `ws_0001.${id}_quarantine`
    const rows = `SELECT toString(number % 3), '2026-01-02 03:04:05', ['a'], ['x'] FROM numbers(5)`
    await store.command(`INSERT INTO ${table} (a, ${timeBefore}, c__error_column, c__error) ${rows}`)
    const content = async (time: string): Promise<unknown> =>
      await store.rows(`SELECT a, toString(${time}) AS time, c__error FROM ${table} ORDER BY ALL`)
    const kept = await content(timeBefore)
    let isWhole = false
    for (let steps = 0; !isWhole; steps += 1) {
      isWhole = await alterTables(dyingStore(steps), before, after).then(
        () => true,
        (error: unknown) => {
          if (error instanceof Killed) return false
          throw error
        },
      )
      if (isWhole) break
      // The start after it may die too.
      for (let further = 0; further < 3; further += 1) {
        await takeBackTables(dyingStore(further), after, before).catch(() => undefined)
      }
      await takeBackTables(store, after, before)
      t.same(await content(timeBefore), kept, `taken back after ${steps} steps`)
    }
    t.same(await content(timeAfter), kept)
    const names = await store.rows<{ name: string }>(`SELECT name FROM system.tables WHERE startsWith(name, '${id}')`)
    t.same(names.map(({ name }) => name).sort(), [id, `${id}_quarantine`])
  }
})
