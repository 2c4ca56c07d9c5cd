import t from 'tap'
import type { DataSource } from '../../../src/catalog/data-source.types.ts'
import { groupsMaxOf, mannerOf } from '../../../src/materialize/populate/populate-manner.ts'
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

// As far as it is looked at.
const source = {
  columns: [{ name: 'id' }, { name: 'kind' }],
  engine: { name: 'MergeTree', options: { sorting_key: 'id' } },
} as unknown as DataSource

function manner(sql: string, { isOrdered = false, key = 'id', rowBytes = 20 } = {}) {
  const select = sql.replaceAll('{from}', 'ws_0001.t_rows') as CheckedQuery
  const sorted = { ...source, engine: { ...source.engine, options: { sorting_key: key } } }
  const parts = [{ rowCount: 100_000, byteCount: 100_000 * rowBytes }]
  return mannerOf([{ view: { select }, source: sorted, parts }], { isOrdered, rowsMax: 1_000 })
}

const common = { rowsMax: 1_000, isByKey: false, threads: 1 }
const grouped = { ...common, bytesMax: 128 * mebibyte }
const byKind = 'SELECT kind, count() AS n FROM {from} GROUP BY kind'

function wideOf({ times, groupsMax }: { readonly times: number; readonly groupsMax: number }) {
  const wide = { groupsMax, groupsShare: groupsMax / 1_000, common: { rowsMax: 1_000, bytesMax: 128 * mebibyte } }
  return { rowsMax: times * 1_000, bytesMax: times * 64 * mebibyte, isByKey: false, threads: 2, wide }
}

t.test('chunks are wide, and have all threads, where groups are all that they give', async (t) => {
  const wide = wideOf({ times: 10, groupsMax: 500 })
  for (const sql of [
    byKind,
    `SELECT kind, n + 1 AS n FROM (${byKind}) WHERE n > 3`,
    'SELECT kind, tag, sumState(n) AS n FROM {from} ARRAY JOIN [1, 2] AS tag GROUP BY kind, tag',
    'SELECT kind, maxSimpleState(tag) AS n FROM (SELECT kind, arrayJoin([1, 2]) AS tag FROM {from}) GROUP BY kind',
  ])
    t.same(manner(sql), wide, sql)
  t.equal(manner(byKind, { rowBytes: mebibyte }).wide?.groupsMax, 64, 'groups take as much memory as long rows')
})

t.test('they are less wide, and may have fewer groups, where what is kept of a group may grow', async (t) => {
  const wide = wideOf({ times: 4, groupsMax: 25 })
  for (const name of [
    'uniqExact',
    'uniqHLL12State',
    'quantile',
    'sumDistinct',
    'sumMap',
    'countForEach',
    'groupUniqArray',
  ])
    t.same(manner(`SELECT kind, ${name}(other) AS n, count() AS c FROM {from} GROUP BY kind`), wide, name)
})

t.test('a chunk of larger rows than there are on average may have fewer groups', async (t) => {
  const { wide } = manner(byKind)
  t.ok(wide)
  if (wide === undefined) return
  const part = (rowBytes: number) => ({ rowCount: 1_000, byteCount: 1_000 * rowBytes })
  t.equal(groupsMaxOf(wide, [part(1), part(100)]), 500)
  t.equal(groupsMaxOf(wide, [part(1), part(2 * mebibyte)]), 32)
  t.equal(groupsMaxOf(wide, [part(1_000 * mebibyte)]), 1)
  const { groupsShare: _, ...earlier } = wide
  t.equal(groupsMaxOf(earlier, [part(2 * mebibyte)]), 500, 'what an earlier release has stored is refused to none')
})

t.test('all else has chunks of common size, two at once', async (t) => {
  t.same(manner('SELECT id, kind FROM {from}'), { ...common, bytesMax: 64 * mebibyte })
  t.same(manner('SELECT kind, groupArray(kind) AS ks FROM {from} GROUP BY kind'), grouped, 'rows in their order')
  t.same(manner(byKind, { isOrdered: true }), grouped, 'chunks in their order')
  t.same(
    manner('SELECT id, count() AS n FROM {from} GROUP BY id'),
    { ...grouped, isByKey: true },
    'ranges of the sorting key',
  )
})

t.test('nor are they wide where what they give may be more than groups, or other ones the next time', async (t) => {
  for (const sql of [
    'SELECT kind, 1 AS n FROM {from} WHERE kind IN (SELECT kind FROM {from} GROUP BY kind)',
    `SELECT kind, n FROM (${byKind}) AS g JOIN ws_0001.t_others AS o ON o.kind = g.kind`,
    'SELECT kind, arrayJoin(groupUniqArray(other)) AS one FROM {from} GROUP BY kind',
    'SELECT kind, groupUniqArray(other) AS all, unnest(all) AS one FROM {from} GROUP BY kind',
    'SELECT kind, one FROM (SELECT kind, groupUniqArray(other) AS all FROM {from} GROUP BY kind) ARRAY JOIN all AS one',
    `${byKind} ORDER BY kind WITH FILL FROM 0 TO 1000000`,
    'SELECT kind, count(DISTINCT other) AS n FROM {from} GROUP BY kind',
    'SELECT rand() % 7 AS kind, count() AS n FROM {from} GROUP BY kind',
    'SELECT kind, count() AS n FROM (SELECT DISTINCT kind, other FROM {from}) GROUP BY kind',
    'SELECT kind, count() AS n FROM (SELECT kind FROM {from} ORDER BY other) GROUP BY kind',
    'SELECT one, count() AS n FROM (SELECT arrayJoin(groupUniqArray(3)(other)) AS one FROM {from} GROUP BY kind) GROUP BY one',
    'SELECT mean, count() AS n FROM (SELECT avg(other) AS mean FROM {from} GROUP BY kind) GROUP BY mean',
  ])
    t.same(manner(sql), grouped, sql)
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
