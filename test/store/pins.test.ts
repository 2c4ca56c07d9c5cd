// Pins on an engine: what they tell of their parts, and what is remembered of definitions while they come and go.

import t from 'tap'
import type { CheckedQuery } from '../../src/schema/expressions/checked-text.types.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'

const directory = await createTestDirectory()
const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
t.teardown(async () => {
  await store.close()
  await directory.remove()
})
const { pins, tables, views } = store

/** A table with one part of 1,000 rows. */
async function createSource(name: string, settings: string): Promise<void> {
  await store.command(
    `CREATE TABLE ws_0001.${name} (id UInt64, text String, n Nested(a UInt32, b UInt32)) ENGINE = MergeTree ORDER BY id SETTINGS ${settings}`,
  )
  await store.command(`INSERT INTO ws_0001.${name} SELECT number, repeat('x', 99), [1, 2], [3, 4] FROM numbers(1000)`)
}

t.test('the bytes of the columns that are read count, where the engine tells those of columns', async (t) => {
  await createSource('t_wide', 'min_bytes_for_wide_part = 0')
  await createSource('t_compact', 'min_bytes_for_wide_part = 1000000000')
  await pins.make(await pins.prepare('p_wide', 't_wide'))
  await pins.make(await pins.prepare('p_compact', 't_compact'))
  const bytesOf = async (pin: string, read: readonly string[] | null): Promise<number | undefined> => {
    const [part, ...others] = await pins.parts(pin, read)
    t.match(part, { rowCount: 1_000, partition: 'all' })
    t.same(others, [])
    return part?.byteCount
  }
  const all = (await bytesOf('p_wide', null)) ?? 0
  t.ok(all > 123_000 && all < 145_000, `${all} bytes`)
  t.equal(await bytesOf('p_wide', ['SELECT', 'id', 'unknown']), 8_000)
  const text = (await bytesOf('p_wide', ['text'])) ?? 0
  t.ok(text >= 99_000 && text < 110_000, `${text} bytes with the lengths`)
  const nested = (await bytesOf('p_wide', ['n'])) ?? 0
  t.ok(nested >= 16_000 && nested < 26_000, `${nested} bytes of the lists of both columns`)
  t.equal(await bytesOf('p_wide', ['n.a', 'n']), nested)
  t.equal(await bytesOf('p_wide', []), 0)
  const compact = await bytesOf('p_compact', null)
  t.equal(await bytesOf('p_compact', ['id']), compact, 'one file has all columns of such a part')
})

t.test('pins come and go, and what is known of tables and views is still known', async (t) => {
  await createSource('t_source', 'min_bytes_for_wide_part = 0')
  const graph = await views.graph()
  t.ok(graph.tables.has('t_source'))
  await pins.make(await pins.prepare('p_source', 't_source'))
  t.ok((await tables.list(['p_source'])).has('p_source'))
  t.equal(await views.graph(), graph)
  await pins.drop('p_source')
  await pins.drop('p_source')
  t.notOk((await tables.list(['p_source'])).has('p_source'))
  t.equal(await views.graph(), graph, 'nothing was asked again')
  await views.create({ name: 'v_ids', target: 't_wide', query: 'SELECT id FROM ws_0001.t_source' as CheckedQuery })
  t.match((await views.graph()).views, [{ name: 'v_ids', source: 't_source' }])
  await store.exchange([['t_source', 't_wide']])
  t.equal((await views.graph()).tables.get('t_wide')?.uuid, graph.tables.get('t_source')?.uuid)
})

t.test('a table whose engine adds to its sorting key is pinned too', async (t) => {
  const columns = 'g UInt64, s UInt8, sign Int8, ver UInt64, at DateTime'
  const keys = [
    'ORDER BY g',
    'ORDER BY (g, s)',
    'ORDER BY (g, ver)',
    'ORDER BY (ver, g)',
    'PARTITION BY s PRIMARY KEY g ORDER BY (g, cityHash64(s)) TTL at + toIntervalDay(9)',
    'ORDER BY cityHash64(g, s) SAMPLE BY cityHash64(g, s) TTL at + toIntervalDay(9)',
  ]
  for (const [index, key] of keys.entries()) {
    const [source, pin, plain] = [`t_versioned_${index}`, `p_versioned_${index}`, `t_plain_${index}`]
    await store.command(
      `CREATE TABLE ws_0001.${source} (${columns}) ENGINE = VersionedCollapsingMergeTree(sign, ver) ${key}`,
    )
    await store.command(`INSERT INTO ws_0001.${source} SELECT number, number % 3, 1, 7, now() FROM numbers(100)`)
    await pins.make(await pins.prepare(pin, source))
    t.match(await pins.parts(pin, null), [{ rowCount: key.startsWith('PARTITION') ? 34 : 100 }], key)
    await pins.makePlain(plain, source)
    await store.command(`INSERT INTO ws_0001.${plain} SELECT * FROM ws_0001.${source}`)
    await store.command(`ALTER TABLE ws_0001.${source} ATTACH PARTITION ALL FROM ws_0001.${plain}`)
  }
})
