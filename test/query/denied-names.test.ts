// A name that may not be read, and one that does not exist: whoever may not see all must not tell them apart.

import t from 'tap'
import { adminScope } from '../../src/access/admin-scope.ts'
import { createReadScope } from '../../src/access/read-scope.ts'
import { ApiError } from '../../src/shared/errors/errors.ts'
import { openFilteredQuery } from '../support/query/filtered-query.ts'
import { idOf } from '../support/query/test-workspace.ts'

const { store, workspace, query, read } = await openFilteredQuery(t)
const { id: events } = workspace.addDataSource('events', 'id UInt64')
await store.command(`CREATE TABLE ws_0001.${events} (id UInt64) ENGINE = MergeTree ORDER BY id`)
workspace.addDataSource('hidden_one', 'id UInt64')
workspace.addDataSource('joined_one', 'id UInt64, v String', 'Join')
workspace.addPipe('secret_one', { secret_node: 'SELECT 1 AS id' }, 'secret_node')
workspace.addPipe('shown', { node_one: 'SELECT * FROM events', all: 'SELECT * FROM node_one' }, 'all')

const readable = new Set<string>([events, idOf('shown')])
const readScope = createReadScope({
  ...adminScope,
  signature: 'few',
  seesAll: false,
  mayRead: (id) => readable.has(id),
  mayUseSecrets: false,
})

/** Everything that the caller is told, with the name that differs taken out of it. */
async function told(name: string, sql: (name: string) => string, pipeline: string | null = null): Promise<string> {
  const { signal } = new AbortController()
  const request = {
    sql: sql(name),
    pipeline,
    format: 'CSV',
    parameters: new Map([['x', name]]),
    settings: {},
    readScope,
    signal,
  }
  try {
    const chunks: Uint8Array[] = []
    for await (const chunk of (await query.run(request)).body) chunks.push(chunk)
    return `answered ${Buffer.concat(chunks)}`
  } catch (thrown) {
    if (!(thrown instanceof ApiError)) throw thrown
    return `${thrown.status} ${thrown.code} ${JSON.stringify(thrown.body())}`.replaceAll(name, 'NAME')
  }
}

const hex = idOf('hidden_one').slice(2)
const noHex = 'f'.repeat(32)
/** What exists, and what does not, of one length, as similar names may be advised. */
const pairs: readonly (readonly [exists: string, missing: string])[] = [
  ['hidden_one', 'zzzzzz_one'],
  ['secret_one', 'zzzzzz_one'],
  ['joined_one', 'zzzzzz_one'],
  ['hidden_one_quarantine', 'zzzzzz_one_quarantine'],
  ['hidden_one__v3', 'zzzzzz_one__v3'],
  ['secret_one__v0', 'zzzzzz_one__v0'],
  [`t_${hex}`, `t_${noHex}`],
  ['secret_node', 'zzzzzz_node'],
  ['node_one', 'zzzz_one'],
  ['tinybird.pipe_stats_rt', 'tinybird.zzzz_stats_rt'],
  ['organization.pipe_stats', 'organization.zzzz_stats'],
]
const texts: readonly ((name: string) => string)[] = [
  (name) => `SELECT * FROM ${name}`,
  (name) => `SELECT ${name}.id FROM ${name}`,
  (name) => `SELECT 1 FROM events JOIN ${name} ON 1`,
  (name) => `SELECT (SELECT count() FROM ${name})`,
  (name) => `SELECT 1 WHERE 1 IN (SELECT id FROM ${name})`,
  (name) => `SELECT 1 FROM events WHERE id IN ${name}`,
  (name) => `SELECT 1 FROM events WHERE in(id, ${name})`,
  (name) => `WITH c AS (SELECT * FROM ${name}) SELECT * FROM c`,
  (name) => `SELECT * FROM view(SELECT * FROM ${name})`,
  (name) => `SELECT joinGet('${name}', 'v', toUInt64(1))`,
  () => '% SELECT * FROM {{table(x)}}',
  () => '% {% if defined(x) %} SELECT * FROM {{symbol(x)}} {% else %} SELECT 1 {% end %}',
  (name) => `% {% if x == 'other' %} SELECT 1 {% else %} SELECT * FROM ${name} {% end %}`,
]

t.test('in SQL', async (t) => {
  for (const [exists, missing] of pairs) {
    for (const sql of texts) {
      const answer = await told(exists, sql)
      t.equal(answer, await told(missing, sql), sql(exists))
      t.notMatch(answer, /^answered/, sql(exists))
    }
  }
  t.match(await told('hidden_one', (name) => `SELECT * FROM ${name}`), /^403 READ_DENIED/)
})

t.test('in a query over a pipe that may be read', async (t) => {
  for (const [exists, missing] of pairs) {
    for (const sql of texts.slice(0, 6))
      t.equal(await told(exists, sql, 'shown'), await told(missing, sql, 'shown'), sql(exists))
  }
})

t.test('as the pipe of a query, and at its path', async (t) => {
  for (const [exists, missing] of [
    ['secret_one', 'zzzzzz_one'],
    ['secret_one__v3', 'zzzzzz_one__v3'],
    [idOf('secret_one'), `t_${noHex}`],
  ] as const) {
    const inSql = (name: string) => told(name, () => 'SELECT * FROM _', name)
    t.equal(await inSql(exists), await inSql(missing))
    t.match(await inSql(exists), /^403 READ_DENIED/)
    const atPath = async (pipe: string) => {
      const thrown: unknown = await read({ pipe, readScope }).catch((error: unknown) => error)
      return thrown instanceof ApiError
        ? `${thrown.status} ${JSON.stringify(thrown.body())}`.replaceAll(pipe, 'NAME')
        : 'answered'
    }
    t.equal(await atPath(exists), await atPath(missing))
    t.match(await atPath(exists), /^403/)
  }
})

t.test('a hint names what may be read, the same for both', async (t) => {
  workspace.addDataSource('evenst', 'id UInt64')
  const sql = (name: string) => `SELECT * FROM ${name}`
  t.match(await told('evenst', sql), /Did you mean 'events'/)
  t.match(await told('evensz', sql), /Did you mean 'events'/)
})

t.test('what may be read is read', async (t) => {
  t.equal(await told('events', (name) => `SELECT count() FROM ${name}`), 'answered 0\n')
  t.equal(await told('events', (name) => `SELECT count() FROM ${name} WHERE id IN ${name}`), 'answered 0\n')
  t.equal(await told('shown', (name) => `SELECT count() FROM ${name}`), 'answered 0\n')
})
