// The verbs of a store that are statements, on an engine: names and conditions that need care, and what is left behind.

import t from 'tap'
import { parseSchema } from '../../src/schema/columns/schema-parser.ts'
import { columnClause, tableDefinition, ttlOf } from '../../src/schema/definitions/table-definition.ts'
import type { CheckedExpression } from '../../src/schema/expressions/checked-text.types.ts'
import { readCondition } from '../../src/sql/condition.ts'
import { retargetTables } from '../../src/sql/retarget-tables.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { quarantineDefinition } from '../../src/store/sql/quarantine-table.ts'
import { replayTables } from '../../src/store/sql/replay-tables.ts'
import { sourceText } from '../../src/store/sql/table-source.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'

const directory = await createTestDirectory()
const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
t.teardown(async () => {
  await store.close()
  await directory.remove()
})
const { tables, partitions, parts, views, trials, quarantines, replays } = store

const columns = parseSchema("n Int32, `d``ay` Date, s String DEFAULT 'x'", { columnsMax: 10 })
const daily = {
  columns,
  indexes: [],
  engine: { name: 'MergeTree', options: { partition_key: '`d``ay`', sorting_key: 'n' } },
}

function conditionOf(text: string): CheckedExpression {
  return readCondition(text, 'condition', { columns: ['n', 'd`ay', 's'], seconds: 0 }).sql
}

/** A table with two rows on each of two days. */
async function createDaily(name: string): Promise<void> {
  await tables.recreate(name, tableDefinition(daily))
  const rows = "(1, '2026-01-01'), (2, '2026-01-01'), (3, '2026-01-02'), (4, '2026-01-02')"
  await store.command(`INSERT INTO ws_0001.\`${name}\` (n, \`d\\\`ay\`) VALUES ${rows}`)
}

async function numbers(table: string): Promise<unknown> {
  const [row] = await store.rows<{ readonly all: unknown }>(
    `SELECT arraySort(groupArray(n)) AS all FROM ws_0001.\`${table}\``,
  )
  return row?.all
}

t.test('a table is made once, made anew empty, and dropped however often', async (t) => {
  await createDaily('t_made')
  await tables.create('t_made', tableDefinition(daily))
  t.equal(await tables.countRows('t_made'), 4, 'it stands already')
  await tables.recreate('t_made', tableDefinition(daily))
  t.equal(await tables.countRows('t_made'), 0)
  await tables.drop('t_made')
  await tables.drop('t_made')
  t.notOk((await tables.list()).has('t_made'))
})

t.test('a table like another has its columns, and keeps of rows what was asked for', async (t) => {
  await createDaily('t_like')
  const insert = (table: string): Promise<void> => trials.insertBlankRow(table, columns)
  for (const [keeps, rowCount] of [
    ['same', 1],
    ['nothing', 0],
    ['pieces', 1],
  ] as const) {
    await tables.recreateLike('t_like_other', { like: 't_like', keeps })
    await insert('t_like_other')
    t.equal(await tables.countRows('t_like_other'), rowCount, keeps)
  }
  await tables.recreateLike('t_like_rowless', { like: 't_like', keeps: 'nothing' })
  await tables.recreateLike('t_like_all', { like: 't_like_rowless', keeps: 'everything' })
  await insert('t_like_all')
  t.equal(await tables.countRows('t_like_all'), 1)
  t.equal(await tables.columnType('t_like_all', 'd`ay'), 'Date')
  t.equal(await tables.columnType('t_like_all', 'day'), null)
})

t.test('a table is truncated, also one that keeps no rows', async (t) => {
  await createDaily('t_emptied')
  await tables.truncate('t_emptied')
  t.equal(await tables.countRows('t_emptied'), 0)
  await tables.recreateLike('t_emptied_null', { like: 't_emptied', keeps: 'nothing' })
  await tables.truncate('t_emptied_null')
  await t.rejects(tables.truncate('t_not_there'), { name: 'StoreError', clickhouseCode: 60 })
})

t.test('changes of a table are made at once, and may be repeated', async (t) => {
  await createDaily('t_changed')
  const [column] = parseSchema('`a``b` UInt8 DEFAULT n + 1', { columnsMax: 1 })
  const ttl = ttlOf({ name: 'MergeTree', options: { ttl: '`d``ay` + INTERVAL 90 YEAR' } })
  if (column === undefined || ttl === undefined) throw new Error('both are there')
  const changes = [
    { kind: 'add-column', column: columnClause(column) },
    { kind: 'add-text-column', name: 'te`xt', after: 'n' },
    { kind: 'set-ttl', ttl },
  ] as const
  for (let times = 0; times < 2; times += 1) await tables.alter('t_changed', changes)
  t.equal(await tables.columnType('t_changed', 'a`b'), 'UInt8')
  t.equal(await tables.columnType('t_changed', 'te`xt'), 'Nullable(String)')
  const back = [{ kind: 'drop-column', name: 'a`b' }, { kind: 'remove-ttl' }] as const
  await tables.alter('t_changed', back)
  t.equal(await tables.columnType('t_changed', 'a`b'), null)
  await t.rejects(tables.alter('t_changed', [{ kind: 'remove-ttl' }]), { name: 'StoreError', clickhouseCode: 36 })
  await tables.alter('t_changed', [])
})

t.test('tables are listed with their sizes, all or those that are named', async (t) => {
  await createDaily("t_listed'")
  const listed = await tables.list(["t_listed'", 't_none'])
  t.same([...listed.keys()], ["t_listed'"])
  t.match(listed.get("t_listed'"), { rowCount: 4, uuid: /^[0-9a-f-]{36}$/ })
  t.equal((await tables.list([])).size, 0)
  t.ok((await tables.list()).size > 1)
})

t.test('rows are counted, copied and found in partitions by a condition that is about the rows alone', async (t) => {
  await createDaily('t_chosen')
  // The engine would read `n day` as a name for n.
  const condition = conditionOf("`d``ay` = '2026-01-02' AND n > 3")
  t.equal(await tables.countRows('t_chosen', condition), 1)
  t.same(await partitions.matching('t_chosen', condition), ['20260102'])
  const all = ['n', 'd`ay', 's'].map((name) => ({ name }))
  await tables.recreateLike('t_chosen_some', { like: 't_chosen', keeps: 'same' })
  await store.copy({ table: 't_chosen_some', from: 't_chosen', columns: all, rows: { kind: 'matching', condition } })
  t.same(await numbers('t_chosen_some'), [4])
  await tables.recreateLike('t_chosen_others', { like: 't_chosen', keeps: 'same' })
  const others = { kind: 'others', condition, partitions: ['20260102'] } as const
  await store.copy({ table: 't_chosen_others', from: 't_chosen', columns: all, rows: others })
  t.same(await numbers('t_chosen_others'), [3])
  await tables.recreateLike('t_chosen_named', { like: 't_chosen', keeps: 'same' })
  const renamed = [{ name: 'd`ay' }, { name: 'n' }, { name: 's', from: 's' }]
  await store.copy({ table: 't_chosen_named', from: 't_chosen', columns: renamed })
  t.same(await numbers('t_chosen_named'), [1, 2, 3, 4])
})

t.test('partitions are told, dropped, and attached to other tables', async (t) => {
  await createDaily('t_parts')
  const days = [
    { id: '20260101', text: '2026-01-01' },
    { id: '20260102', text: '2026-01-02' },
  ]
  t.same(await partitions.list('t_parts'), days)
  const key = conditionOf('`d``ay`')
  t.same(await partitions.keyTexts('t_parts', key), new Set(["('2026-01-01')", "('2026-01-02')"]))
  await tables.recreateLike('t_parts_other', { like: 't_parts', keeps: 'same' })
  await partitions.attach('20260102', { from: 't_parts', into: 't_parts_other' })
  t.same(await numbers('t_parts_other'), [3, 4])
  await partitions.drop('t_parts', '20260102')
  t.same(await numbers('t_parts'), [1, 2])
  await t.rejects(partitions.attach('20260101', { from: 't_parts', into: 't_parts' }), { name: 'InvariantError' })
})

t.test('parts are told by table, and those behind a block or since a time counted', async (t) => {
  await tables.recreate(
    't_blocks',
    tableDefinition({ ...daily, engine: { name: 'MergeTree', options: { sorting_key: 'n' } } }),
  )
  t.equal(await parts.lastBlock('t_blocks'), 0)
  await trials.insertBlankRow('t_blocks', columns)
  const [part] = (await parts.list()).get('t_blocks') ?? []
  t.match(part, { name: 'all_1_1_0', partition: 'all', minBlock: 1, maxBlock: 1, rowCount: 1 })
  t.equal(await parts.lastBlock('t_blocks'), 1)
  t.equal(await parts.countSince(['t_blocks', 't_none'], 0), 1)
  t.equal(await parts.countSince(['t_blocks'], Math.floor(Date.now() / 1000) + 60), 0)
  const none = { least: 0, most: 0 }
  t.same(await parts.expiredRows({ table: 't_blocks', afterBlock: 0, dropsWhole: false }), none)
  t.equal((await parts.broken('t_blocks')).size, 0)
})

t.test('a condition is judged without a row, and computed for one with nothing in it', async (t) => {
  await createDaily('t_judged')
  const of = (text: string) => ({ table: 't_judged', columns: ['n', 'd`ay', 's'], condition: conditionOf(text) })
  await trials.judgeCondition(of('n > 1 AND s = s'))
  await trials.computeCondition(of('n > 1 AND s = s'))
  await t.rejects(trials.judgeCondition(of('m > 1')), { name: 'StoreError', clickhouseCode: 47 })
  await trials.judgeCondition(of('n = 1 OR toInt32(s) = 1'))
  await t.rejects(trials.computeCondition(of('n = 0 OR toInt32(s) = 1')), { name: 'StoreError' }, 'both branches are')
})

t.test('views are told with what they stand between, filled from a partition, and dropped by name', async (t) => {
  await createDaily('t_source')
  await tables.recreateLike('t_target', { like: 't_source', keeps: 'same' })
  const select = 'SELECT n * 10 AS n, `d\\`ay` FROM ws_0001.t_source'
  await store.command(`CREATE MATERIALIZED VIEW ws_0001.v_tens TO ws_0001.t_target AS ${select}`)
  const graph = await views.graph()
  const [view] = graph.views
  t.match(view, { name: 'v_tens', source: 't_source', target: 't_target', columns: ['n', 'd`ay'] })
  t.match(graph.tables.get('t_source'), { engine: 'MergeTree', columns: ['n', 'd`ay', 's'] })
  t.same(await views.naming('t_source'), ['v_tens'])
  const replacements = new Map([['t_source', sourceText({ table: 't_source', partitionId: '20260101' })]])
  const options = { database: 'ws_0001', tables: new Set(graph.tables.keys()), replacements }
  const { sql: query } = retargetTables(view?.select ?? '', options)
  await store.copyQuery({ table: 't_target', columns: ['n', 'd`ay'], query })
  t.same(await numbers('t_target'), [10, 20])
  await views.drop('v_tens')
  await views.drop('v_tens')
  t.same(await views.naming('t_source'), [])
})

t.test('a replay copies the records of the rows that are chosen, tells its counts, and leaves no table', async (t) => {
  await tables.recreate('t_replayed_quarantine', quarantineDefinition(columns))
  await store.command(
    `INSERT INTO ws_0001.t_replayed_quarantine (n, s, c__error_column, c__error, c__import_id) VALUES
     ('1', 'a"b', ['n'], ['value \\'1\\' on column \\'n\\' is bad'], 'i'), (NULL, 'c', [''], ['whole'], NULL)`,
  )
  t.equal(await quarantines.countOfImport('t_replayed_quarantine', 'i'), 1)
  await quarantines.ensureRowIds('t_replayed')
  await quarantines.ensureRowIds('t_replayed')
  const { signal } = new AbortController()
  const cells = [
    { value: { text: 's' }, nothing: '\\N' },
    { value: { fix: conditionOf('n') }, nothing: '\\N' },
  ]
  const choice = { condition: null, ownCondition: null, cells }
  t.equal(await replays.countChosen('t_replayed', choice, signal), 2)
  t.equal(await replays.countChosen('t_replayed', { ...choice, condition: conditionOf("s = 'c'") }, signal), 1)
  t.same(await replays.copyChosen('t_replayed', choice, 10), { copied: 2, known: 2 })
  const records = (await replays.records('t_replayed', { next: 0, end: 2 })).map(String).sort()
  t.match(records, [/^"a""b","1","[0-9a-f-]{36}"\n$/, /^"c",\\N,"[0-9a-f-]{36}"\n$/])
  t.match(await replays.recordSizes('t_replayed', { from: 1, rowsMax: 5 }), [{ number: 1, byteCount: Number }])
  t.same(await replays.counts('t_replayed'), { chosenRows: 2, failedRows: 0 })
  const summary = { table: 't_replayed', columns, groupsMax: 5, valuesMax: 5, valueLengthMax: 5, signal }
  const groups = await quarantines.summarize(summary)
  t.match(groups, {
    rowCount: 2,
    groups: [
      { column: '', reason: 'whole' },
      { column: 'n', texts: ['1'], rowCount: 1 },
    ],
  })
  await replays.deleteReplayed('t_replayed')
  t.equal(await tables.countRows('t_replayed_quarantine'), 0)
  await replays.drop('t_replayed')
  t.equal((await tables.list(Object.values(replayTables('t_replayed')))).size, 0)
})

t.test('an exchange gives each of two tables the content of the other', async (t) => {
  await createDaily('t_one')
  await tables.recreateLike('t_two', { like: 't_one', keeps: 'same' })
  const before = await tables.list(['t_one', 't_two'])
  await store.exchange([['t_one', 't_two']])
  const after = await tables.list(['t_one', 't_two'])
  t.equal(after.get('t_two')?.uuid, before.get('t_one')?.uuid)
  t.same([after.get('t_one')?.rowCount, after.get('t_two')?.rowCount], [0, 4])
})
