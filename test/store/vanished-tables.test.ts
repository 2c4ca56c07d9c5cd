// Whoever fails because the engine ended drops the tables that were for his work alone, while what the engine left is mended.

import { appendFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { dropOrphanRecords, type RepairStatements } from '../../src/store/embedded/deduplication-repair.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'

const directory = await createTestDirectory()
const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
t.teardown(async () => {
  await store.close()
  await directory.remove()
})

/** A table with the record of a part that never came to be. */
async function createOrphaned(name: string): Promise<void> {
  await store.command(
    `CREATE TABLE ws_0001.${name} (a Int32) ENGINE = MergeTree ORDER BY a SETTINGS non_replicated_deduplication_window = 10`,
  )
  await store.command(`INSERT INTO ws_0001.${name} VALUES (1)`)
  const [table] = await store.rows<{ path: string }>(
    `SELECT data_paths[1] AS path FROM system.tables WHERE database = 'ws_0001' AND name = '${name}'`,
  )
  const logs = join(table?.path ?? '', 'deduplication_logs')
  for (const file of await readdir(logs)) await appendFile(join(logs, file), '1\tall_9_9_0\tnever\n')
}

/** Drops the table just before the first statement that begins so. */
function droppingBefore(beginning: string, name: string): RepairStatements {
  let isThere = true
  const before = async (sql: string): Promise<void> => {
    if (!isThere || !sql.trimStart().startsWith(beginning)) return
    isThere = false
    await store.command(`DROP TABLE ws_0001.${name} SYNC`)
  }
  return {
    command: async (sql) => {
      await before(sql)
      await store.command(sql)
    },
    rows: async (sql) => {
      await before(sql)
      return await store.rows(sql)
    },
  }
}

for (const beginning of ['DETACH TABLE `ws_0001`.`gone`', 'SELECT table, groupArray']) {
  t.test(`a table that is dropped just before ${beginning} hinders no repair of the others`, async (t) => {
    for (const name of ['gone', 'also_there', 'there']) await createOrphaned(name)
    const repaired = await dropOrphanRecords(droppingBefore(beginning, 'gone'))
    t.same(repaired.map(({ table, orphanCount }) => [table, orphanCount]).sort(), [
      ['also_there', 1],
      ['there', 1],
    ])
    t.same(await dropOrphanRecords(store), [])
    t.same(await store.rows('SELECT a FROM ws_0001.there'), [{ a: 1 }])
    for (const name of ['also_there', 'there']) await store.command(`DROP TABLE ws_0001.${name} SYNC`)
  })
}
