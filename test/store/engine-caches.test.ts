// What the engine keeps of one statement must never change the answer of another.

import t from 'tap'
import type { CheckedExpression } from '../../src/schema/expressions/checked-text.types.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { checked } from '../support/checked-text.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'

const directory = await createTestDirectory()
const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
t.teardown(async () => {
  await store.close()
  await directory.remove()
})

async function read(sql: string): Promise<string> {
  const chunks: Uint8Array[] = []
  const { signal } = new AbortController()
  for await (const chunk of await store.select({ sql: checked(sql), format: 'TSV', settings: {}, signal }))
    chunks.push(chunk)
  return Buffer.concat(chunks).toString().trimEnd()
}

/** A table with 60,000 rows of tenant a, and 20,000 rows of tenant b whose ids are far above. */
async function createTenants(name: string): Promise<string> {
  const table = `ws_0001.${name}`
  await store.command(`CREATE TABLE ${table} (id UInt64, tenant String) ENGINE = MergeTree ORDER BY id`)
  await store.command(
    `INSERT INTO ${table} SELECT number, 'a' FROM numbers(60000) UNION ALL SELECT 5000000 + number, 'b' FROM numbers(20000)`,
  )
  await store.command(`OPTIMIZE TABLE ${table} FINAL`)
  return table
}

const poison = (table: string): string =>
  `SELECT count() FROM (SELECT id FROM ${table} PREWHERE tenant = 'a' ORDER BY id DESC LIMIT 5) WHERE id > 4000000`
const counting = (table: string): string => `SELECT count() AS n FROM ${table} WHERE tenant = 'a'`

t.test('a query with a limit behind PREWHERE changes no count of another query', async (t) => {
  const table = await createTenants('t_readers')
  t.equal(await read(counting(table)), '60000')
  t.equal(await read(poison(table)), '0')
  t.equal(await read(counting(table)), '60000')
})

t.test('it changes no count when it comes first', async (t) => {
  const table = await createTenants('t_first')
  await read(poison(table))
  t.equal(await read(counting(table)), '60000')
})

t.test('it changes none of our own statements, copies, views and mutations, nor do they poison readers', async (t) => {
  const table = await createTenants('t_own')
  await read(poison(table))
  t.strictSame(await store.rows(counting(table)), [{ n: 60_000 }])
  await store.command('CREATE TABLE ws_0001.t_copy (id UInt64, tenant String) ENGINE = MergeTree ORDER BY id')
  await store.copy({
    table: 't_copy',
    from: 't_own',
    columns: [{ name: 'id' }, { name: 'tenant' }],
    // As `sql` gives it.
    rows: { kind: 'matching', condition: "(tenant = 'a')" as CheckedExpression },
  })
  t.equal(await read('SELECT count() FROM ws_0001.t_copy'), '60000')
  await store.command(`CREATE VIEW ws_0001.v_own AS SELECT id FROM ${table} WHERE tenant = 'a'`)
  t.strictSame(await store.rows('SELECT count() AS n FROM ws_0001.v_own'), [{ n: 60_000 }])
  await store.rows(poison('ws_0001.t_copy'))
  t.equal(await read(counting('ws_0001.t_copy')), '60000')
  await store.command(`ALTER TABLE ${table} DELETE WHERE tenant = 'a' SETTINGS mutations_sync = 2`)
  t.equal(await read(`SELECT count() FROM ${table}`), '20000')
})

t.test('a view that reads the table inside of an insert takes all of its rows', async (t) => {
  const table = await createTenants('t_source')
  await store.command('CREATE TABLE ws_0001.t_signal (x UInt8) ENGINE = Null')
  await store.command('CREATE TABLE ws_0001.t_target (n UInt64) ENGINE = MergeTree ORDER BY n')
  await store.command(
    `CREATE MATERIALIZED VIEW ws_0001.t_view TO ws_0001.t_target AS
     SELECT (SELECT count() FROM ${table} WHERE tenant = 'a') AS n FROM ws_0001.t_signal`,
  )
  await read(poison(table))
  await store.command('INSERT INTO ws_0001.t_signal VALUES (1)')
  t.equal(await read('SELECT n FROM ws_0001.t_target'), '60000')
})

t.test('nobody can turn the caches on again', async (t) => {
  for (const name of ['use_query_condition_cache', 'use_query_cache']) {
    await t.rejects(read(`SELECT 1 SETTINGS ${name} = 1`), /should not be changed/, name)
    t.equal(await read(`SELECT getSetting('${name}')`), 'false', `${name} of readers`)
    t.strictSame(await store.rows(`SELECT toUInt8(getSetting('${name}')) AS on`), [{ on: 0 }], `${name} of our own`)
  }
  // The engine holds no constraint against a subquery, but has no room for what it would keep.
  const table = await createTenants('t_forced')
  const forced = poison(table).replace('LIMIT 5', 'LIMIT 5 SETTINGS use_query_condition_cache = 1')
  t.equal(await read(`${forced} SETTINGS max_threads = 1`), '0')
  t.equal(await read(`SELECT * FROM (${counting(table)} SETTINGS use_query_condition_cache = 1) AS forced`), '60000')
})
