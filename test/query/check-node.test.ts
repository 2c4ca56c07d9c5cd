import t, { type Test } from 'tap'
import { adminScope } from '../../src/access/admin-scope.ts'
import { Agreement } from '../../src/query/agreement.ts'
import { type CheckNode, createNodeCheck } from '../../src/query/check-node.ts'
import { ColumnCheck } from '../../src/query/column-check.ts'
import { OutputColumns } from '../../src/query/output-columns.ts'
import { TemplateCache } from '../../src/query/template-cache.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { TestWorkspace } from '../support/query/test-workspace.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'

interface OpenedCheck {
  readonly workspace: TestWorkspace
  readonly check: (sql: string) => ReturnType<CheckNode>
}

/** The check over a real engine, of a node behind `first` and `second` of the pipe `visits`. */
async function openCheck(t: Test): Promise<OpenedCheck> {
  const directory = await createTestDirectory()
  const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
  t.teardown(async () => {
    await store.close()
    await directory.remove()
  })
  const workspace = new TestWorkspace()
  const { id } = workspace.addDataSource('events', 'id UInt32, ts DateTime, tag String')
  await store.command(`CREATE TABLE ws_0001.${id} (id UInt32, ts DateTime, tag String) ENGINE = MergeTree ORDER BY id`)
  workspace.addPipe('other', { end: 'SELECT count() AS n FROM events' })
  const nodes = { first: 'SELECT id, tag FROM events', second: '% SELECT * FROM first WHERE id = {{Int32(wanted)}}' }
  const pipe = workspace.addPipe('visits', nodes)
  const options = { database: 'ws_0001', sqlBytesMax: 1000, queryTimeMaxMs: 10_000, resultBytesMax: 1_000_000 }
  const templates = new TemplateCache()
  const agreement = new Agreement(store)
  const columns = new ColumnCheck(store, workspace)
  const alone = { store, agreement, columns, outputs: new OutputColumns({ store, agreement, columns }) }
  const deps = { store, workspace, findServiceSource: () => undefined, templates, alone }
  const checkNode = createNodeCheck(options, deps)
  return { workspace, check: (sql) => checkNode(pipe, { name: 'third', sql }, 2, adminScope) }
}

t.test('a node that is about to be saved is checked', async (t) => {
  const { workspace, check } = await openCheck(t)

  t.test('its columns and dependencies are told', async (t) => {
    t.strictSame(await check('SELECT second.id, tag AS "the tag", count() AS n FROM second, other GROUP BY ALL'), {
      dependencies: ['second', 'other'],
      columns: [
        { name: 'id', type: 'UInt32' },
        { name: 'the tag', type: 'String' },
        { name: 'n', type: 'UInt64' },
      ],
      parameters: [],
    })
  })

  t.test('what its scalar subqueries would read is not read', async (t) => {
    // Summing them takes minutes, and a query may run 10 s.
    const slow = '(SELECT sum(number) FROM numbers(1000000000000))'
    t.strictSame((await check(`WITH ${slow} AS total SELECT id, id / total AS share FROM first`)).columns, [
      { name: 'id', type: 'UInt32' },
      { name: 'share', type: 'Nullable(Float64)' },
    ])
    t.strictSame((await check("SELECT dateTrunc((SELECT 'hour'), ts) AS hour FROM events")).columns, [
      { name: 'hour', type: 'Nullable(DateTime)' },
    ])
    await t.rejects(check("SELECT dateTrunc((SELECT 'hou'), ts) AS hour FROM events"), { code: 'SQL_INVALID' })
  })

  t.test('a template is checked without values', async (t) => {
    const checked = await check(
      "%\n{% if not defined(x) %}{{error('x is missing')}}{% end %} SELECT {{Int32(x, 3)}} AS x, {{String(y)}} AS y",
    )
    t.strictSame(checked.columns, [
      { name: 'x', type: 'Int32' },
      { name: 'y', type: 'String' },
    ])
    t.strictSame(
      checked.parameters.map(({ name, type, default: fallback }) => [name, type, fallback]),
      [
        ['x', 'Int32', 3],
        ['y', 'String', null],
      ],
    )
    t.match(await check("% SELECT {{tb_secret('key')}} = 'a' AS isA"), { columns: [{ type: 'UInt8' }] })
  })

  t.test('tables of all branches are dependencies', async (t) => {
    const sql = "% SELECT * FROM {% if a == '1' %}{{table('events')}}{% else %}{{table('other')}}{% end %}"
    t.strictSame((await check(sql)).dependencies, ['other', 'events'])
    const checked = await check('% SELECT * FROM {{table(wanted)}}')
    t.match(checked, { dependencies: [], columns: null }, 'a table that only a value tells is unknown')
    workspace.addPipe('chosen', { end: '% SELECT * FROM {{table(wanted)}}' })
    const reading = await check('SELECT * FROM chosen')
    t.match(reading, { dependencies: ['chosen'], columns: null }, 'also to those who read it')
    await t.rejects(check('SELECT * FROM placeholder'), { code: 'SQL_INVALID' })
  })

  t.test('what only a placeholder makes wrong is not refused', async (t) => {
    t.equal((await check('% SELECT * FROM events WHERE ts > toDateTime({{String(since)}})')).columns, null)
    t.equal((await check('% SELECT {{symbol(column)}} FROM events')).columns, null)
    t.equal(
      (await check('% SELECT id FROM events WHERE id IN arrayMap(x -> toInt32(x), {{Array(ids)}})')).columns,
      null,
    )
    t.equal((await check("% SELECT id FROM events WHERE id = toInt32({{tb_secret('key')}})")).columns, null)
    await t.rejects(check("SELECT * FROM events WHERE ts > toDateTime('x')"), { code: 'SQL_INVALID' })
    await t.rejects(check('% SELECT nothing FROM events WHERE id = {{Int32(x)}}'), { code: 'SQL_INVALID' })
  })

  t.test('what is wrong is refused in the words of its author', async (t) => {
    const refusals: readonly (readonly [string, object])[] = [
      ['  ', { code: 'SQL_EMPTY' }],
      [`SELECT '${'x'.repeat(1000)}'`, { code: 'SQL_TOO_LONG' }],
      ['SELECT * FROM missing', { code: 'SQL_INVALID', message: /missing/ }],
      ['SELECT * FROM third', { code: 'SQL_INVALID' }],
      ['SELECT * FROM visits', { code: 'SQL_INVALID' }],
      ['SELECT\n  nothing FROM events', { code: 'SQL_INVALID', message: /nothing/ }],
      ['DROP TABLE events', { code: 'SQL_INVALID' }],
      ['% SELECT {{x', { code: 'TEMPLATE_INVALID' }],
      ['% {% if x %} SELECT 1', { code: 'TEMPLATE_INVALID', message: /Missing \{% end %\} block for if at line 1/ }],
      ['% SELECT {{whatever(x)}}', { code: 'TEMPLATE_INVALID', message: "'whatever' is not a valid function, line 1" }],
      ["SELECT throwIf(1, file('/etc/passwd'))", { code: 'SQL_INVALID' }],
    ]
    for (const [sql, refusal] of refusals) {
      const error = await check(sql).then(
        () => null,
        (thrown: unknown) => thrown,
      )
      t.match(error, refusal, sql.slice(0, 40))
      t.notMatch(
        String(error),
        /ws_0001|t_[0-9a-f]{32}|SELECT .*FROM/,
        `nothing of the generated text: ${String(error)}`,
      )
    }
  })

  t.test('pipes that would read each other are refused', async (t) => {
    workspace.addPipe('back', { end: 'SELECT * FROM visits' })
    await t.rejects(check('SELECT * FROM back'), { code: 'SQL_INVALID', message: /back.*visits/ })
  })
})
