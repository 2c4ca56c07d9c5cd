// The hostile queries and their mutations against our parser, the second opinion and the restricted reader together.
//
// An escape is a canary in an answer or in an error, a written file, a request to the outside, a changed setting, or a query
// that does not end.

import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { compileQuery } from '../../src/sql/compile-query.ts'
import { checkAgreement } from '../../src/sql/engine-agreement.ts'
import type { NameScope, Source } from '../../src/sql/source.types.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { checked } from '../support/checked-text.ts'
import { testSeed } from '../support/seeded-random.ts'
import { HostileMutations } from '../support/sql/hostile-mutations.ts'
import { hostileQueries } from '../support/sql/hostile-queries.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'
import { byTier } from '../support/tier.ts'

const directory = await createTestDirectory()
const store = await openEmbeddedStore({ ...testStoreOptions(directory.path), queryTimeMaxMs: 3_000 }, silentLogger)
const outside = join(directory.path, 'outside')
await mkdir(outside)
await writeFile(join(outside, 'canary.txt'), 'SECRET_FILE\n')
let requestCount = 0
const server = createServer((socket) => {
  requestCount += 1
  socket.destroy()
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
// A server that listens on a port has an address with one.
const { port } = server.address() as { readonly port: number }
t.teardown(async () => {
  server.close()
  await store.close()
  await directory.remove()
})

const engines: Readonly<Record<string, string>> = {
  ev: 'MergeTree ORDER BY id',
  rep: 'ReplacingMergeTree ORDER BY id',
  j: 'Join(ANY, LEFT, id)',
  other: 'MergeTree ORDER BY id',
  priv: 'MergeTree ORDER BY id',
}
for (const [name, engine] of Object.entries(engines)) {
  const secret = name === 'priv' ? 'SECRET_PRIV' : 'SECRET_ROW'
  await store.command(`CREATE TABLE ws_0001.t_${name} (id UInt32, tenant String, secret String) ENGINE = ${engine}`)
  const rows = name === 'other' ? "(1, 'a', 'open')" : `(1, 'a', 'mine'), (2, 'b', '${secret}')`
  await store.command(`INSERT INTO ws_0001.t_${name} VALUES ${rows}`)
}
await store.command('CREATE DATABASE other_ws')
await store.command("CREATE TABLE other_ws.t_x ENGINE = Memory AS SELECT 1 AS id, 'SECRET_OTHER' AS secret")

const columns = ['id', 'tenant', 'secret']
const pipes: Readonly<Record<string, string>> = {
  pipe1: 'SELECT * FROM ev',
  loopa: 'SELECT * FROM loopb',
  loopb: 'SELECT * FROM loopa',
}

const scope: NameScope = {
  find(parts): Source | 'denied' | undefined {
    const [first = ''] = parts
    if (parts.length !== 1) return undefined
    const name = first === '_' ? 'pipe1' : first.replace(/^t_/, '')
    if (name === 'priv') return 'denied'
    const sql = pipes[name]
    if (sql !== undefined) return { kind: 'query', id: name, name, sql: () => sql, scope }
    if (!Object.hasOwn(engines, name)) return undefined
    const filter = name === 'other' ? null : "tenant = 'a'"
    return { kind: 'table', database: 'ws_0001', table: `t_${name}`, name, columns, isJoin: name === 'j', filter }
  },
}

/** Real places for those that the list names. */
function placed(sql: string): string {
  return sql
    .replaceAll('127.0.0.1:9', `127.0.0.1:${port}`)
    .replaceAll('/tmp/canary.txt', join(outside, 'canary.txt'))
    .replaceAll('/tmp/hout', join(outside, 'hout'))
}

type Outcome = { readonly stoppedBy: 'parser' | 'agreement' | 'engine' | 'nothing'; readonly text: string }

async function run(sql: string): Promise<Outcome> {
  const { signal } = new AbortController()
  let stoppedBy: Outcome['stoppedBy'] = 'parser'
  try {
    const compiled = compileQuery(sql, { scope })
    stoppedBy = 'engine'
    const tree = await store.queryTree(compiled.sql, signal)
    stoppedBy = 'agreement'
    checkAgreement(compiled.reading, tree)
    stoppedBy = 'engine'
    const { settings } = compiled
    let text = ''
    for await (const chunk of await store.select({ sql: compiled.sql, format: 'TSV', settings, signal })) {
      text += Buffer.from(chunk).toString()
      if (text.length > 100_000) break
    }
    return { stoppedBy: 'nothing', text }
  } catch (thrown) {
    if (!(thrown instanceof Error)) throw thrown
    return { stoppedBy, text: thrown.message }
  }
}

/** What was seen that must not be; a word of the query itself may come back in an answer or a message. */
function canaryIn(sql: string, text: string): string | undefined {
  return ['SECRET_ROW', 'SECRET_PRIV', 'SECRET_OTHER', 'SECRET_FILE', 'root:x:'].find(
    (canary) => text.includes(canary) && !sql.includes(canary),
  )
}

/** What a query must leave as it was: files, requests, and the settings of both readers. */
async function sideEffects(): Promise<unknown> {
  const { signal } = new AbortController()
  const names = ['readonly', 'allow_ddl', 'implicit_select', 'max_threads', 'join_use_nulls', 'final']
  const columns = names.map((name) => `toString(getSetting('${name}'))`)
  const sql = `SELECT ${columns.join(', ')}, sleep(0.1)`
  // Two at once are answered by two readers.
  const readers = await Promise.all(
    [1, 2].map(async () => {
      let text = ''
      for await (const chunk of await store.select({ sql: checked(sql), format: 'TSV', settings: {}, signal })) {
        text += Buffer.from(chunk).toString()
      }
      return text
    }),
  )
  return { files: await readdir(outside), requestCount, readers }
}

const before = await sideEffects()

t.test('each query of the list is stopped where it should be, or tells nothing that it should not', async (t) => {
  for (const [about, queries] of Object.entries(hostileQueries)) {
    for (const [sql, message] of queries) {
      const { stoppedBy, text } = await run(placed(sql))
      t.equal(canaryIn(sql, text), undefined, `${about}: ${sql}`)
      if (message === null) t.not(stoppedBy, 'parser', sql)
      else
        t.match(
          { stoppedBy, text: text.startsWith(placed(message)) },
          { stoppedBy: 'parser', text: true },
          `${sql}: ${text}`,
        )
    }
  }
  t.same(await sideEffects(), before, 'and nothing has changed')
})

t.test('a row that is filtered out cannot be asked for by its content', async (t) => {
  const row = "(toUInt32(2), 'b', 'SECRET_ROW')"
  for (const condition of [
    `${row} IN ev`,
    `in(${row}, ev)`,
    `${row} IN (j)`,
    `${row} IN (SELECT * FROM rep)`,
    `${row} IN _`,
  ]) {
    t.match(
      await run(`SELECT count() FROM numbers(1) WHERE ${condition}`),
      { stoppedBy: 'nothing', text: '0\n' },
      condition,
    )
  }
  t.match(await run("SELECT count() FROM numbers(1) WHERE (toUInt32(1), 'a', 'mine') IN ev"), { text: '1\n' })
})

t.test('a query that is too large is refused at once', async (t) => {
  const diamond = Array.from({ length: 30 }, (_, level) => `c${level + 1} AS (SELECT * FROM c${level} a, c${level} b)`)
  const large = [
    `SELECT ${'INTERVAL ('.repeat(170)}1${') DAY'.repeat(170)}`,
    `SELECT ${'INTERVAL ('.repeat(5_000)}`,
    `SELECT ${'CASE ('.repeat(170)}`,
    `SELECT ${'CASE '.repeat(5_000)}`,
    `SELECT ${'INTERVAL '.repeat(5_000)}`,
    `SELECT 1 FROM ${'('.repeat(5_000)}ev${')'.repeat(5_000)}`,
    `WITH c0 AS (SELECT 1 AS x), ${diamond.join(', ')} SELECT count() FROM c30`,
    `SELECT 1 FROM ${Array.from({ length: 300 }, () => 'ev').join(', ')}`,
    `SELECT ${'1 ? '.repeat(3_000)}`,
    `SELECT ${'x -> '.repeat(3_000)}`,
    `SELECT ${'- '.repeat(60_000)}`,
    `SELECT 1 ${'UNION ALL SELECT 1 FROM ev '.repeat(400)}`,
  ]
  for (const sql of large) {
    t.throws(() => compileQuery(sql, { scope }), { code: /^SQL_(?:INVALID|TOO_COMPLEX)$/ }, sql.slice(0, 40))
  }
  const deep = `SELECT ${'(SELECT '.repeat(40)}1${')'.repeat(40)}`
  t.match(await run(deep), { stoppedBy: 'nothing', text: '1\n' })
  // These are plain to our parser, and too deep for the engine's.
  for (const sql of [`SELECT ${'NOT '.repeat(5_000)}1`, `SELECT 1 FROM ${'('.repeat(150)}ev${')'.repeat(150)}`]) {
    t.match(await run(sql), { stoppedBy: 'engine' })
  }
})

const seed = testSeed()
const mutations = new HostileMutations(
  seed,
  Object.values(hostileQueries).flatMap((queries) => queries.map(([sql]) => placed(sql))),
)
const mutationCount = byTier({ quick: 750, full: 3_000, soak: 500_000 })

t.test('mutations of the list do not escape', { timeout: 7_200_000 }, async (t) => {
  t.comment(`SEED=${seed}`)
  const counts = { parser: 0, agreement: 0, engine: 0, nothing: 0 }
  const isHeavy = (sql: string): boolean => /1e9|1000000000|system\.numbers/i.test(sql)
  let left = mutationCount
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1
      const sql = mutations.next()
      if (isHeavy(sql)) continue
      const { stoppedBy, text } = await run(sql)
      counts[stoppedBy] += 1
      // What our parser and the engine read differently is stopped, and shows where ours can be made better.
      if (stoppedBy === 'agreement') t.comment(`${text} ${sql}`)
      const canary = canaryIn(sql, text)
      if (canary !== undefined) t.fail(`${canary} by ${sql}: ${text.slice(0, 300)}`)
    }
  }
  await Promise.all([worker(), worker()])
  t.comment(JSON.stringify(counts))
  t.same(await sideEffects(), before, 'and nothing has changed')
  t.ok(counts.nothing > mutationCount / 20, 'and enough of them run')
})
