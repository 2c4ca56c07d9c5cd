// What a reader is told of a pipe that fails and reads what the reader may not see: no names, places or values of that.

import t from 'tap'
import { adminScope } from '../../src/access/admin-scope.ts'
import { createReadScope } from '../../src/access/read-scope.ts'
import { ApiError } from '../../src/shared/errors/errors.ts'
import { openFilteredQuery } from '../support/query/filtered-query.ts'
import { idOf } from '../support/query/test-workspace.ts'

const { store, workspace, query, read } = await openFilteredQuery(t)
const columns = 'id UInt64, zwhisper String, state AggregateFunction(sum, UInt64)'
const { id: table } = workspace.addDataSource('zvault', columns)
await store.command(`CREATE TABLE ws_0001.${table} (${columns}) ENGINE = MergeTree ORDER BY id`)
await store.command(
  `INSERT INTO ws_0001.${table} SELECT number, 'ZSECRET', arrayReduce('sumState', [number]) FROM numbers(3)`,
)
workspace.addDataSource('zgone', 'id UInt64')
workspace.addPipe('zloop', { zloop_node: 'SELECT * FROM zturn' }, 'zloop_node')
workspace.addPipe('zturn', { zturn_node: 'SELECT * FROM zloop' }, 'zturn_node')

/** SQL of a node that fails in what it reads, in each way that tells something of it. */
const failing: Readonly<Record<string, string>> = {
  parse: 'SELECT toUInt8(zwhisper) AS n FROM zvault',
  date: 'SELECT toDate(zwhisper) AS n FROM zvault',
  scalar: 'SELECT toUInt8((SELECT any(zwhisper) FROM zvault)) AS n',
  division: 'SELECT intDiv(1, id) AS n FROM zvault',
  overflow: 'SELECT toDecimal32(zwhisper, 2) AS n FROM zvault',
  types: 'SELECT zwhisper + 1 AS n FROM zvault',
  identifier: 'SELECT zmissing AS n FROM zvault',
  qualified: 'SELECT zvault.zmissing AS n FROM zvault',
  function: 'SELECT zfunction(id) AS n FROM zvault',
  arguments: 'SELECT length(id, zwhisper) AS n FROM zvault',
  aggregate: 'SELECT zwhisper, count() AS n FROM zvault',
  nested: 'SELECT sum(max(id)) AS n FROM zvault',
  union: 'SELECT id FROM zvault UNION ALL SELECT id, zwhisper FROM zvault',
  inside: 'SELECT * FROM zvault WHERE (id, id) IN (SELECT zwhisper FROM zvault)',
  join: 'SELECT * FROM zvault AS a ASOF JOIN zvault AS b ON a.zwhisper = b.zwhisper',
  asterisk: 'SELECT *, count() FROM zvault',
  state: "SELECT CAST(zwhisper, 'AggregateFunction(sum, UInt64)') AS n FROM zvault",
  element: "SELECT CAST(zwhisper, 'Enum8(\\'zred\\' = 1)') AS n FROM zvault",
  text: 'SELECT toFixedString(zwhisper, 1) AS n FROM zvault',
  parsing: 'SELECT zwhisper FROM zvault WHERE (',
  unknown: 'SELECT * FROM znothing',
  gone: 'SELECT * FROM zgone',
  circle: 'SELECT * FROM zloop',
  tableFunction: "SELECT * FROM zvault, zremote('x')",
  setting: 'SELECT * FROM zvault SETTINGS zsetting = 1',
  service: 'SELECT * FROM tinybird.zservice',
  template: '% SELECT {{zname.zattribute}} FROM zvault',
  nothing: '% {% set zlist = None %} SELECT {{zlist}} FROM zvault',
  noTemplate: '% SELECT {% zword %} FROM zvault',
  secret: "% SELECT {{tb_secret('zsecret')}} AS n FROM zvault",
  complex: `SELECT * FROM ${Array.from({ length: 300 }, () => 'zvault').join(', ')}`,
  memory: 'SELECT groupArray(repeat(zwhisper, 100000)) AS n FROM zvault, numbers(1000000) GROUP BY ALL',
}
for (const [name, sql] of Object.entries(failing)) {
  workspace.addPipe(`z_${name}`, { [`znode_${name}`]: sql, zlast: `SELECT * FROM znode_${name}` }, 'zlast')
  workspace.addPipe(`over_${name}`, { over: `SELECT * FROM z_${name}` }, 'over')
  workspace.addPipe(`twice_${name}`, { above: `SELECT * FROM over_${name}`, last: 'SELECT * FROM above' }, 'last')
}
workspace.addPipe('zgood', { znode: "SELECT id AS n, zwhisper AS zinner, 'shown' AS word FROM zvault" }, 'znode')
workspace.addPipe('good', { good_node: 'SELECT n, word FROM zgood' }, 'good_node')
workspace.addPipe('asked', { a: '% SELECT {{Int8(size)}} AS n FROM zvault' }, 'a')
workspace.addPipe('over_asked', { a: 'SELECT * FROM asked' }, 'a')
workspace.addPipe('zsays', { a: "% {% if not defined(x) %} {{error('send x')}} {% end %} SELECT 1" }, 'a')
workspace.addPipe('over_says', { a: 'SELECT * FROM zsays' }, 'a')
workspace.addPipe('zthrows', { a: "SELECT throwIf(id > 1, 'too many') AS n FROM zvault" }, 'a')
workspace.addPipe('over_throws', { a: 'SELECT * FROM zthrows' }, 'a')

/** Of a reader of these pipes, and of nothing that they read. */
const readerOf = (...names: readonly string[]) => {
  const readable = new Set<string>(names.map((name) => idOf(name)))
  return createReadScope({
    ...adminScope,
    signature: JSON.stringify(names),
    seesAll: false,
    mayRead: (id) => readable.has(id),
    mayUseSecrets: false,
  })
}

async function told(asking: () => Promise<unknown>): Promise<string> {
  try {
    return `answered ${String(await asking())}`
  } catch (thrown) {
    if (!(thrown instanceof ApiError)) throw thrown
    return `${thrown.status} ${thrown.code} ${JSON.stringify(thrown.body())}`
  }
}

async function ask(sql: string, readScope = readerOf('good')): Promise<string> {
  const { signal } = new AbortController()
  const request = { sql, pipeline: null, format: 'CSV', parameters: new Map(), settings: {}, readScope, signal }
  return await told(async () => {
    const chunks: Uint8Array[] = []
    for await (const chunk of (await query.run(request)).body) chunks.push(chunk)
    return Buffer.concat(chunks)
  })
}

t.test('errors in what a pipe reads tell nothing of it', async (t) => {
  const hidden = /z[a-z_]*[a-z]|ZSECRET|line \d|position \d|\bt_[0-9a-f]{8}/
  for (const [name, sql] of Object.entries(failing)) {
    for (const pipe of [`over_${name}`, `twice_${name}`]) {
      const readScope = readerOf(pipe)
      for (const answer of [
        await told(() => read({ pipe, readScope })),
        await told(() => read({ pipe, sql: 'SELECT toString(tuple(*)) FROM _', readScope })),
        await ask(`SELECT * FROM ${pipe}`, readScope),
      ]) {
        t.match(answer, /^(?:400 (?:PIPE_FAILED|TEMPLATE_INVALID|SQL_INVALID)|answered)/, `${sql}: ${answer}`)
        t.notMatch(answer.replaceAll(pipe, ''), hidden, `${sql}: ${answer}`)
      }
    }
    if (name === 'gone' || name === 'memory') continue
    const asAdmin = await told(() => read({ pipe: `over_${name}`, readScope: adminScope }))
    t.notMatch(asAdmin, /PIPE_FAILED/, 'who may see all is told all')
  }
})

t.test('a plan of such a pipe is not shown', async (t) => {
  const { signal } = new AbortController()
  const asked = { node: null, parameters: new Map(), signal }
  const explain = (...names: readonly string[]) =>
    told(async () => (await query.explain({ ...asked, pipe: 'good', readScope: readerOf(...names) })).debugQuery)
  t.match(await explain('good'), /^403 PLAN_HIDDEN/)
  t.match(await explain('good', 'zgood'), /^403 PLAN_HIDDEN/, 'the data source is hidden still')
  t.match(await explain('good', 'zgood', 'zvault'), /^answered/)
  const show = (mayShowPipes: boolean) =>
    query.show({ sql: 'SELECT * FROM good', parameters: new Map(), readScope: readerOf('good'), mayShowPipes, signal })
  t.equal(await show(false), null)
  t.match(await show(true), /zwhisper/)
})

t.test('what is wrong with the own text of the reader is told, by what the pipe gives', async (t) => {
  for (const [sql, expected] of [
    ['SELECT wrod FROM good', /SQL_INVALID.*`wrod`.*line 1, column 8.*Did you mean 'word'/],
    ['SELECT zinner FROM good', /SQL_INVALID.*`zinner`/],
    ['SELECT n + word FROM good', /SQL_INVALID.*plus/],
    ['SELECT n, count() FROM good', /SQL_INVALID.*NOT_AN_AGGREGATE/],
    ['SELECT lengthh(word) FROM good', /SQL_INVALID.*'lengthh' is not known/],
    ['SELECT g.x FROM good AS g JOIN good AS h ON g.n = h.n', /SQL_INVALID.*g\.x/],
    ["SELECT toUInt8('x') FROM good", /SQL_INVALID.*CANNOT_PARSE_TEXT/],
    ['SELECT n FROM good WHERE (', /SQL_INVALID.*Syntax error at line 1/],
  ] as const) {
    const answer = await ask(sql)
    t.match(answer, expected, sql)
    t.notMatch(answer.replace('`zinner`', ''), /\bz(?!ero)[a-z_]{2}|ZSECRET/, sql)
  }
  t.match(await ask('SELECT toUInt8(word) FROM good'), /^400 PIPE_FAILED.*\(CANNOT_PARSE_TEXT\)"/)
  t.match(await ask('SELECT sum(n), any(word) FROM good'), /^answered 3,"shown"/)
  const focused = await told(() => read({ pipe: 'good', sql: 'SELECT wrod FROM _', readScope: readerOf('good') }))
  t.match(focused, /SQL_INVALID.*`wrod`/)
})

t.test('what authors say to readers is told', async (t) => {
  const at = (pipe: string, parameters = new Map<string, string>()) =>
    told(() => read({ pipe, parameters, readScope: readerOf(pipe) }))
  t.match(await at('over_asked'), /TEMPLATE_INVALID.*Required parameter is not defined. Check the parameters size/)
  t.match(await at('over_asked', new Map([['size', 'x']])), /TEMPLATE_INVALID.*Error validating 'x' to type Int8/)
  t.match(await at('over_says'), /400 TEMPLATE_INVALID \{"error":"send x"\}/)
  t.match(await at('over_throws'), /400 SQL_INVALID.*"too many/)
})

t.test('who may read all that a pipe reads is told what is wrong with it', async (t) => {
  const readScope = readerOf('over_identifier', 'z_identifier', 'zvault')
  const answer = await told(() => read({ pipe: 'over_identifier', readScope }))
  t.match(answer, /SQL_INVALID.*`zmissing`.*line 1, column 8 of node 'znode_identifier'/)
})

t.test('an author is told what is wrong with the own node alone', async (t) => {
  const author = readerOf('good', 'over_types')
  const pipe = workspace.addPipe('mine', { first: 'SELECT n, word FROM good', last: 'SELECT 1' }, 'last')
  const save = (sql: string) =>
    told(async () => JSON.stringify((await query.checkNode(pipe, { name: 'last', sql }, 1, author)).columns))
  t.match(await save('SELECT n FROM first'), /^answered .*"n"/)
  t.match(await save('SELECT wrod FROM first'), /SQL_INVALID.*`wrod`.*line 1, column 8/)
  t.match(await save('SELECT wrod FROM good'), /SQL_INVALID.*`wrod`/)
  t.match(await save('SELECT n + word FROM good'), /SQL_INVALID.*plus/)
  const answer = await save('SELECT * FROM over_types')
  t.match(answer, /^400 PIPE_FAILED/)
  t.notMatch(answer, /z[a-z_]{2}|UInt|String/)
})
