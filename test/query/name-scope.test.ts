import t from 'tap'
import { adminScope } from '../../src/access/admin-scope.ts'
import { createReadScope } from '../../src/access/read-scope.ts'
import type { Pipe } from '../../src/catalog/pipe.types.ts'
import { callerScope, nodeScope, type Reading } from '../../src/query/name-scope.ts'
import { ApiError } from '../../src/shared/errors/errors.ts'
import { compileQuery } from '../../src/sql/compile-query.ts'
import type { ReadScope } from '../../src/sql/read-scope.types.ts'
import { idOf, TestWorkspace } from '../support/query/test-workspace.ts'

const workspace = new TestWorkspace()
const events = workspace.addDataSource('events', 'id UInt32, org String')
workspace.addDataSource('odd_quarantine', 'id UInt32')
workspace.addDataSource('odd__v3', 'id UInt32')
workspace.addDataSource('joined', 'id UInt32', 'Join')
workspace.addPipe(
  'daily',
  { raw: 'SELECT * FROM events', totals: 'SELECT count() c FROM raw', rest: 'SELECT 1 AS r' },
  'totals',
)
workspace.addPipe('unpublished', { raw: 'SELECT 1 AS a', last: 'SELECT a FROM raw' })
workspace.addPipe('events_node', { events: 'SELECT 2 AS two', top: 'SELECT * FROM events' })
workspace.addPipe('daily_node', { daily: 'SELECT 3 AS three', top: 'SELECT * FROM daily' })
workspace.addPipe('empty', {})
workspace.addPipe('circle', { a: 'SELECT * FROM round' })
workspace.addPipe('round', { b: 'SELECT * FROM circle' })

function reading(readScope: ReadScope = adminScope): Reading {
  const findServiceSource = () => undefined
  return { workspace, database: 'ws', readScope, findServiceSource, nodeText: ({ sql }) => sql }
}

function compile(sql: string, { readScope = adminScope, focus = null as Pipe | null } = {}) {
  return compileQuery(sql, { scope: callerScope(reading(readScope), focus) })
}

const table = (id: string) => `\`ws\`.\`${id}\``

t.test('a name is a pipe, a data source, or the quarantine of one, by name or id', async (t) => {
  t.match(compile('SELECT * FROM events'), {
    sql: `SELECT * FROM ${table(events.id)} AS \`events\``,
    dependencies: ['events'],
  })
  t.match(compile(`SELECT * FROM ${events.id}`), { dependencies: ['events'] })
  t.match(compile('SELECT * FROM events_quarantine'), {
    tables: [`ws.${events.id}_quarantine`],
    dependencies: ['events_quarantine'],
  })
  t.match(compile('SELECT * FROM odd_quarantine'), { tables: [`ws.${idOf('odd_quarantine')}`] })
  t.match(compile(`SELECT * FROM ${idOf('daily')}`), { dependencies: ['daily'], tables: [`ws.${events.id}`] })
  t.throws(() => compile('SELECT * FROM missing'), { code: 'SQL_INVALID' })
  t.throws(() => compile('SELECT * FROM raw'), { code: 'SQL_INVALID' }, 'nodes belong to their pipe')
})

t.test('a pipe is its published node, else its last', async (t) => {
  t.match(compile('SELECT * FROM daily').sql, /^SELECT \* FROM \(SELECT count\(\) c FROM \(SELECT \* FROM /)
  t.equal(
    compile('SELECT * FROM unpublished').sql,
    'SELECT * FROM (SELECT a FROM (SELECT 1 AS a) AS `raw`) AS `unpublished`',
  )
  t.throws(() => compile('SELECT * FROM empty'), { message: "Pipe 'empty' has no nodes that could be read" })
})

t.test('a node comes before a pipe, and that before a data source', async (t) => {
  t.match(compile('SELECT * FROM events_node').sql, /SELECT 2 AS two/)
  t.match(compile('SELECT * FROM daily_node').sql, /SELECT 3 AS three/)
  t.match(compile('WITH events AS (SELECT 4 AS four) SELECT * FROM events').tables, [], 'a common table name wins')
})

t.test('a node sees those before it, by name or id, and none behind it', async (t) => {
  const pipe = workspace.findPipe('daily')
  if (pipe === undefined) throw new Error('the pipe was made above')
  const find = (name: string, position: number) => nodeScope(reading(), pipe, position).find([name])
  t.match(find('raw', 1), { kind: 'query', name: 'raw' })
  t.match(find(idOf('daily.raw'), 1), { kind: 'query', name: 'raw' })
  t.equal(find('raw', 0), undefined)
  t.equal(find('totals', 1), undefined)
})

t.test('the pipe of a request is _, and its nodes have their names', async (t) => {
  const focus = workspace.findPipe('daily') ?? null
  t.match(compile('SELECT c FROM _', { focus }), { dependencies: ['daily'] })
  t.match(compile('SELECT * FROM raw', { focus }), { dependencies: ['raw'], tables: [`ws.${events.id}`] })
  t.match(compile('SELECT * FROM rest', { focus }).sql, /SELECT 1 AS r/)
  t.throws(() => compile('SELECT * FROM _'), { code: 'SQL_INVALID' })
})

t.test('a version behind a name is passed over when nothing has it', async (t) => {
  t.match(compile('SELECT * FROM events__v2'), { dependencies: ['events'] })
  t.match(compile('SELECT * FROM daily__v0'), { dependencies: ['daily'] })
  t.match(compile('SELECT * FROM odd__v3'), { dependencies: ['odd__v3'] })
  t.throws(() => compile('SELECT * FROM odd__v2'), { code: 'SQL_INVALID' })
})

t.test('a service data source that is not there is told by its name', async (t) => {
  t.throws(() => compile('SELECT * FROM tinybird.pipe_stats_rt'), {
    code: 'SQL_INVALID',
    message: "There is no service Data Source 'tinybird.pipe_stats_rt' here",
  })
})

t.test('pipes that read each other are refused with the path', async (t) => {
  t.throws(() => compile('SELECT * FROM circle'), { code: 'SQL_INVALID', message: /circle.*round.*circle/ })
})

t.test("a caller's scope judges the names in its own query, and filters all rows", async (t) => {
  const readScope = createReadScope({
    signature: 'x',
    mayRead: (id) => id === idOf('daily') || id === idOf('joined'),
    seesAll: true,
    filterOf: (id) => (id === events.id ? "org = 'a'" : null),
    outputFilterOf: () => null,
    isFiltered: true,
    fixedParametersOf: () => null,
    mayUseSecrets: false,
  })
  t.throws(() => compile('SELECT * FROM events', { readScope }), { code: 'READ_DENIED', status: 403 })
  t.throws(() => compile('SELECT * FROM unpublished', { readScope }), { code: 'READ_DENIED' })
  t.throws(() => compile('SELECT * FROM empty', { readScope }), { code: 'READ_DENIED' }, 'also what is broken')
  t.match(compile('SELECT * FROM daily', { readScope }).sql, /WHERE \(`__filtered_rows`.org = 'a'\)/)
  t.match(compile('SELECT * FROM joined', { readScope }), { dependencies: ['joined'] })
  const all: ReadScope = { ...readScope, mayRead: () => true }
  t.match(compile('SELECT * FROM events', { readScope: all }).sql, /WHERE \(`__filtered_rows`.org = 'a'\)/)
  t.throws(() => compile('SELECT * FROM events_quarantine', { readScope: all }), { code: 'READ_DENIED' })
})

const quarantineHint = (name: string): string =>
  `'${name}' is not a Data Source, and only Data Sources have a quarantine`

t.test('the columns of a query are those of what its names stand for', async (t) => {
  const columnsOf = (sql: string, pipe: string | null = null): readonly string[] => {
    return compile(sql, { focus: pipe === null ? null : (workspace.findPipe(pipe) ?? null) }).ownColumns()
  }
  t.same(columnsOf('SELECT * FROM events'), ['id', 'org'])
  t.same(columnsOf(`SELECT * FROM ${events.id}`), ['id', 'org'])
  t.same(columnsOf('SELECT * FROM events_quarantine'), ['id', 'org'])
  t.same(columnsOf('SELECT * FROM events__v2 JOIN joined ON 1'), ['id', 'org', 'id'])
  t.same(columnsOf('SELECT * FROM events', 'events_node'), [], 'a node hides the data source')
  t.same(columnsOf(`SELECT * FROM ${events.id}`, 'events_node'), ['id', 'org'], 'an id does not')
  t.same(columnsOf('SELECT * FROM _', 'events_node'), [])
  t.same(columnsOf('SELECT * FROM daily'), [], 'a pipe has those of its own text')
  t.same(columnsOf('WITH events AS (SELECT 1 AS x) SELECT * FROM events'), [])
  t.same(columnsOf('SELECT (SELECT count() FROM joined) FROM unpublished AS events'), ['id'])
})

t.test('what is suggested for a name is what the caller may read, and nothing else', async (t) => {
  const only = (...names: readonly string[]): ReadScope => {
    const ids = new Set<string>(names.map((name) => idOf(name)))
    return { ...adminScope, signature: names.join(), mayRead: (id) => ids.has(id) }
  }
  const hintOf = (sql: string, readScope: ReadScope, focus: Pipe | null = null): string | undefined => {
    try {
      compile(sql, { readScope, focus })
    } catch (thrown) {
      if (thrown instanceof ApiError) return thrown.hint
    }
    return undefined
  }
  const daily = workspace.findPipe('daily') ?? null
  t.equal(hintOf('SELECT * FROM event', adminScope), "Did you mean 'events'?")
  t.equal(hintOf('SELECT * FROM event', only('joined')), undefined)
  t.equal(hintOf('SELECT * FROM ws.events', only('joined')), undefined)
  t.equal(hintOf('SELECT * FROM event_quarantine', only('joined')), undefined)
  t.equal(hintOf('SELECT * FROM joind', only('joined')), "Did you mean 'joined'?")
  t.equal(hintOf('SELECT * FROM dayly', only('joined')), undefined)
  t.equal(hintOf('SELECT * FROM total', adminScope, daily), "Did you mean 'totals'?")
  t.equal(hintOf('SELECT * FROM total', only('daily'), daily), undefined)
  // A quarantine belongs to a data source.
  t.equal(hintOf('SELECT * FROM daily_quarantine', adminScope), quarantineHint('daily'))
  t.equal(hintOf('SELECT * FROM dayly_quarantine', adminScope), undefined)
  t.equal(hintOf('SELECT * FROM event_quarantine', adminScope), "Did you mean 'events_quarantine'?")
  t.equal(hintOf('SELECT * FROM raw_quarantine', adminScope, daily), quarantineHint('raw'))
  t.equal(hintOf('SELECT * FROM daily_quarantine', only('joined')), undefined)
  t.equal(hintOf('SELECT * FROM event_quarantine', { ...adminScope, filterOf: () => 'id = 1' }), undefined, 'denied')
  // In the text of a pipe that the caller may read.
  const broken = workspace.addPipe('broken', { n: 'SELECT * FROM event' })
  t.equal(hintOf('SELECT * FROM broken', only('broken'), broken), undefined)
  t.equal(hintOf('SELECT * FROM broken', only('broken', 'events'), broken), "Did you mean 'events'?")
})
