import t from 'tap'
import type { DataSource } from '../../../src/catalog/data-source.types.ts'
import { mannerOf } from '../../../src/materialize/populate/populate-manner.ts'
import { dependsOnOrder } from '../../../src/materialize/populate/populate-query.ts'
import type { CheckedQuery } from '../../../src/schema/expressions/checked-text.types.ts'
import { mebibyte } from '../../../src/shared/bytes.ts'
import { openEmbeddedStore } from '../../../src/store/embedded/embedded-store.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../../support/store/test-store.ts'

const directory = await createTestDirectory()
const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
t.teardown(async () => {
  await store.close()
  await directory.remove()
})

await store.command('CREATE TABLE ws_0001.t_rows (id UInt64, kind UInt8) ENGINE = MergeTree ORDER BY id')
await store.command('INSERT INTO ws_0001.t_rows SELECT number, number % 100 FROM numbers(300000)')
await store.pins.make('p_rows', 't_rows')

// As far as it is looked at.
const source = {
  columns: [{ name: 'id' }, { name: 'kind' }],
  engine: { name: 'MergeTree', options: { sorting_key: 'id' } },
} as unknown as DataSource

async function manner(sql: string, { isOrdered = false, key = 'id' } = {}) {
  const select = sql.replaceAll('{from}', 'ws_0001.t_rows') as CheckedQuery
  const sorted = { ...source, engine: { ...source.engine, options: { sorting_key: key } } }
  const parts = await store.pins.parts('p_rows', null)
  const branch = { view: { id: 'v_1', sourceId: 't_rows', select }, source: sorted, pin: 'p_rows', parts }
  return await mannerOf([branch], { store, graph: await store.views.graph(), isOrdered, rowsMax: 1_000 })
}

const common = { rowsMax: 1_000, isByKey: false, threads: 1 }
const byKind = 'SELECT kind, count() AS n FROM {from} GROUP BY kind'

t.test('chunks are large, and have all threads, where many rows come to few groups', async (t) => {
  t.same(await manner(byKind), { rowsMax: 4_000, bytesMax: 256 * mebibyte, isByKey: false, threads: 2 })
})

t.test('all else has chunks of common size, two at once', async (t) => {
  t.same(await manner('SELECT id, kind FROM {from}'), { ...common, bytesMax: 64 * mebibyte })
  const grouped = { ...common, bytesMax: 128 * mebibyte }
  t.same(
    await manner('SELECT intDiv(id, 2) AS half, count() AS n FROM {from} GROUP BY half', { key: 'kind' }),
    grouped,
    'many groups',
  )
  t.same(await manner('SELECT kind, groupArray(kind) AS ks FROM {from} GROUP BY kind'), grouped, 'rows in their order')
  t.same(await manner(byKind, { isOrdered: true }), grouped, 'chunks in their order')
  t.same(await manner(`${byKind} HAVING kind IN (SELECT 1)`), grouped, 'another query would be computed for the sample')
  t.same(
    await manner('SELECT kind + throwIf(kind = 7) AS k, count() AS n FROM {from} GROUP BY k'),
    grouped,
    'it fails, which is not told here',
  )
  t.same(
    await manner('SELECT id, count() AS n FROM {from} GROUP BY id'),
    { ...grouped, isByKey: true },
    'ranges of the sorting key',
  )
})

t.test('a function counts as dependent on the order under each of the names that the engine has for it', async (t) => {
  const depends = (name: string): boolean =>
    dependsOnOrder(`SELECT kind, ${name}(id) FROM t GROUP BY kind` as CheckedQuery)
  const aliases = await store.rows<{ readonly name: string; readonly of: string }>(
    "SELECT name, alias_to AS of FROM system.functions WHERE is_aggregate AND alias_to != ''",
  )
  const ordered = aliases.filter(({ of }) => depends(of))
  t.ok(ordered.length > 5)
  for (const { name, of } of ordered) t.ok(depends(name), `${name}, which is ${of}`)
  for (const name of ['groupArray', 'groupConcat', 'array_agg', 'string_agg', 'anyLast', 'argMax'])
    t.ok(depends(name), name)
  for (const name of ['count', 'sumState', 'uniqExact', 'max']) t.notOk(depends(name), name)
})
