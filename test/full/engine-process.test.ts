import { readFile } from 'node:fs/promises'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { Int32 } from 'apache-arrow'
import t, { type Test } from 'tap'
import type { PartExpression } from '../../src/codec/arrow/part-expression.ts'
import type { Logger } from '../../src/observe/logger.ts'
import { verifySafeguards } from '../../src/query/agreement.ts'
import { type OpenedStore, openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { clickhouseCodes } from '../../src/store/engine-codes.ts'
import type { AppendRequest, SelectQuery, Store } from '../../src/store/store.types.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { checked } from '../support/checked-text.ts'
import { arrowPart, numbers } from '../support/store/arrow-part.ts'
import { findEnginePid, untilEngine, untilGone } from '../support/store/engine-pid.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'
import { byTier } from '../support/tier.ts'

const never = new AbortController().signal

interface Opened {
  readonly store: OpenedStore
  readonly lines: string[]
}

async function open(t: Test, options: Partial<Parameters<typeof openEmbeddedStore>[0]> = {}): Promise<Opened> {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  const lines: string[] = []
  const keep = (fields: object, message: string): void => {
    lines.push(`${message} ${JSON.stringify(fields)}`)
  }
  const logger: Logger = { ...silentLogger, error: keep, warn: keep, info: keep }
  const store = await openEmbeddedStore({ ...testStoreOptions(directory.path), ...options }, logger)
  t.teardown(() => store.close())
  return { store, lines }
}

function query(sql: string, more: Partial<SelectQuery> = {}): SelectQuery {
  return { sql: checked(sql), format: 'TSV', settings: {}, signal: never, ...more }
}

async function read(store: Store, sql: string, more: Partial<SelectQuery> = {}): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of await store.select(query(sql, more))) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

/** Reads again while the answer is late: on a machine that stops for a moment any is. */
async function readInTime(store: Store, sql: string): Promise<string> {
  for (;;) {
    try {
      return await read(store, sql)
    } catch (thrown) {
      if (!(thrown instanceof StoreError) || thrown.clickhouseCode !== clickhouseCodes.timeoutExceeded) throw thrown
    }
  }
}

async function untilRunning(store: OpenedStore, text: string): Promise<void> {
  const sql = `SELECT count() AS n FROM system.processes WHERE query LIKE '%${text}%' AND query NOT LIKE '%system.processes%'`
  for (;;) {
    const [row] = await store.rows<{ n: number }>(sql)
    if (Number(row?.n) > 0) return
    await delay(10)
  }
}

async function untilReady(store: OpenedStore): Promise<void> {
  while (store.unreadyReason !== null) await delay(10)
}

async function killEngine(signal: NodeJS.Signals = 'SIGKILL'): Promise<number> {
  const pid = await untilEngine()
  process.kill(pid, signal)
  return pid
}

/** More than ten seconds for a row: the engine is killed within them, however slow this process is. */
const longSleep = [3, 2.9, 2.8, 2.7].map((seconds) => `sleepEachRow(${seconds})`).join(' + ')
const slow = (mark: number): string => `SELECT count() FROM system.numbers WHERE NOT ignore(${mark}, sipHash64(number))`

function block(table: string, blockId: string, values: readonly number[]): AppendRequest {
  const part = arrowPart([{ name: 'a', data: numbers(new Int32(), Int32Array.from(values)) }])
  const layout = {
    fields: [{ name: 'a', engineType: 'Int32' }],
    targets: [{ column: 'a', expression: checked<PartExpression>('a') }],
  }
  return { table, layout, parts: [part], rowCount: values.length, blockId }
}

/** The kind of the error that a statement fails with. */
async function kindOf(statement: Promise<unknown>): Promise<string> {
  try {
    await statement
    return 'none'
  } catch (thrown) {
    return thrown instanceof StoreError ? thrown.kind : String(thrown)
  }
}

// All of them come to the same handler.
const crashSignals: readonly NodeJS.Signals[] =
  byTier({ quick: 1, full: 1, soak: 3 }) === 1 ? ['SIGSEGV'] : ['SIGSEGV', 'SIGBUS', 'SIGABRT']

const window = 'SETTINGS non_replicated_deduplication_window = 1000'

t.test(
  'an engine that is killed is started again: what ran is told so, what waits is answered, versions rise',
  async (t) => {
    const { store, lines } = await open(t)
    const version = store.definitionVersion
    const running = [store.select(query(slow(1))), store.select(query(slow(2)))]
    for (const it of running) it.catch(() => undefined)
    await untilRunning(store, 'ignore(2')
    const waiting = read(store, 'SELECT 42')
    const old = await killEngine()
    for (const it of running) t.equal(await kindOf(it), 'stopped')
    t.equal(await waiting, '42\n', 'one that waited for a session runs in the new engine')
    t.not(findEnginePid(), old)
    t.ok(store.definitionVersion > version, 'nothing that is remembered of definitions holds')
    t.equal(store.unreadyReason, null)
    t.match(
      lines.find((line) => line.startsWith('The engine ended')),
      /signal SIGKILL.*"statementCount":2/,
    )
  },
)

for (const signal of crashSignals) {
  t.test(`an engine that gets ${signal} ends in seconds, is started again, and the log says where`, async (t) => {
    const { store, lines } = await open(t)
    const old = await killEngine(signal)
    await untilGone(old)
    await untilEngine(process.pid, old)
    t.equal(await read(store, 'SELECT 42'), '42\n')
    await untilReady(store)
    t.match(
      lines.find((line) => line.startsWith('The engine ended')),
      /native fault in its thread|signal SIG/,
    )
  })
}

t.test('signals that reach all processes of a group leave the engine alone', async (t) => {
  const { store } = await open(t)
  const pid = await untilEngine()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(pid, signal)
  t.equal(await read(store, 'SELECT 1'), '1\n')
  t.equal(findEnginePid(), pid)
})

t.test('the environment of the engine holds nothing of the service', async (t) => {
  process.env['MILLRACE_ADMIN_TOKEN'] = 'p.secret-of-the-service'
  t.teardown(() => {
    process.env['MILLRACE_ADMIN_TOKEN'] = undefined
  })
  await open(t)
  const environment = await readFile(`/proc/${await untilEngine()}/environ`, 'utf8')
  t.notMatch(environment, /secret-of-the-service|MILLRACE/)
  t.match(environment, /TZ=UTC/)
})

t.test('the system ends the engine before the service where memory is short', async (t) => {
  await open(t)
  t.equal((await readFile(`/proc/${await untilEngine()}/oom_score_adj`, 'utf8')).trim(), '500')
})

t.test('blocks whose INSERT runs when the engine is killed are stored once', async (t) => {
  const { store } = await open(t)
  await store.command(`CREATE TABLE ws_0001.k (a Int32) ENGINE = MergeTree PARTITION BY a % 4 ORDER BY a ${window}`)
  await store.command(`CREATE TABLE ws_0001.s (a Int64) ENGINE = MergeTree ORDER BY a ${window}`)
  await store.command('CREATE MATERIALIZED VIEW ws_0001.v TO ws_0001.s AS SELECT a::Int64 AS a FROM ws_0001.k')
  let isOver = false
  let count = 0
  const killing = (async () => {
    for (let kills = 0; kills < 4; kills += 1) {
      const old = await killEngine()
      await untilEngine(process.pid, old)
      await untilReady(store)
      // One block must not run at each of the ends: it would be taken for what they come from.
      const countThen = count
      while (count < countThen + 4) await delay(5)
    }
    isOver = true
  })()
  while (!isOver) {
    const ids = [count, count + 1]
    await Promise.all(ids.map((id) => store.append(block('k', `block-${id}`, [id * 3, id * 3 + 1, id * 3 + 2]))))
    count += 2
  }
  await killing
  const expected = `${count * 3}\t${count * 3}\n`
  t.equal(await read(store, 'SELECT count(), uniqExact(a) FROM ws_0001.k'), expected)
  t.equal(await read(store, 'SELECT count(), uniqExact(a) FROM ws_0001.s'), expected, 'behind a view too')
})

t.test(
  'a block during which the engine ends three times, the last time alone, is refused, and others are stored',
  async (t) => {
    const { store } = await open(t)
    await store.command(`CREATE TABLE ws_0001.p (a Int32) ENGINE = MergeTree ORDER BY a ${window}`)
    await store.command(`CREATE TABLE ws_0001.r (a Int32) ENGINE = MergeTree ORDER BY a ${window}`)
    await store.command(`CREATE TABLE ws_0001.q (a Int32) ENGINE = MergeTree ORDER BY a ${window}`)
    await store.command(
      `CREATE MATERIALIZED VIEW ws_0001.pv TO ws_0001.q AS SELECT a FROM ws_0001.p WHERE ${longSleep} = 0`,
    )
    const poison = store.append(block('p', 'poison', [1]))
    poison.catch(() => undefined)
    for (let kills = 0; kills < 3; kills += 1) {
      await untilRunning(store, 'INSERT INTO')
      const old = await killEngine()
      await untilEngine(process.pid, old)
    }
    t.equal(await kindOf(poison), 'stopped')
    t.equal(await kindOf(store.append(block('p', 'poison', [1]))), 'refused')
    await store.append(block('r', 'fine', [2]))
    t.equal(await read(store, 'SELECT a FROM ws_0001.r'), '2\n')
  },
)

t.test(
  'a query during which the engine ends three times, the last time alone, is refused, and the one beside it is not',
  async (t) => {
    const { store } = await open(t)
    const guilty = { shape: 'guilty' }
    for (let kills = 0; kills < 3; kills += 1) {
      const running = read(store, slow(kills), guilty)
      running.catch(() => undefined)
      await untilRunning(store, `ignore(${kills}`)
      const beside = kills < 2 ? read(store, slow(70 + kills), { shape: 'innocent' }) : Promise.resolve('')
      beside.catch(() => undefined)
      if (kills < 2) await untilRunning(store, `ignore(${70 + kills}`)
      await killEngine()
      t.equal(await kindOf(running), 'stopped')
      await untilReady(store)
    }
    t.equal(await kindOf(read(store, 'SELECT 1', guilty)), 'refused')
    t.equal(await read(store, 'SELECT 7', { shape: 'innocent' }), '7\n', 'cleared by running alone')
    t.equal(await read(store, 'SELECT 8', { shape: 'innocent' }), '8\n')
  },
)

t.test('statements of our own that only look, or may be repeated, outlive an engine that is killed', async (t) => {
  const { store } = await open(t)
  await store.command('CREATE TABLE ws_0001.slow (a UInt32) ENGINE = MergeTree ORDER BY a')
  await store.command('INSERT INTO ws_0001.slow VALUES (1)')
  const sql = `SELECT toUInt32(sum(${longSleep})) AS n FROM ws_0001.slow`
  const reading = store.rows<{ n: number }>(sql)
  await untilRunning(store, 'sleepEachRow')
  // It reads what was there when it began; when it is repeated there is nothing left that is slow.
  await store.command('TRUNCATE TABLE ws_0001.slow SYNC')
  const old = await killEngine()
  t.same(await reading, [{ n: 0 }])
  t.not(findEnginePid(), old)
})

t.test(
  'what mends after an end runs before readers and INSERTs do, and is run again when the engine ends meanwhile',
  async (t) => {
    const { store } = await open(t)
    const order: string[] = []
    store.onRestart(async (engine) => {
      order.push('mend')
      t.not(store.unreadyReason, null)
      if (order.length === 1) await killEngine()
      // Whoever waited for the next engine would wait for himself.
      await store.rows('SELECT 1')
      await engine.queryTree(checked('SELECT 1'), never)
      order.push('mended')
    })
    const running = store.select(query(slow(5)))
    running.catch(() => undefined)
    await untilRunning(store, 'ignore(5')
    await killEngine()
    t.equal(await kindOf(running), 'stopped')
    await read(store, 'SELECT 1')
    order.push('read')
    t.same(order, ['mend', 'mend', 'mended', 'read'])
  },
)

t.test('an engine that was started again is asked all that one is asked at a start', async (t) => {
  const { store } = await open(t)
  const outcomes: string[] = []
  store.onRestart(async (engine) => {
    t.not(store.unreadyReason, null)
    await verifySafeguards(engine)
    for await (const chunk of await engine.select(query('SELECT 1 + 1'))) outcomes.push(Buffer.from(chunk).toString())
    const noDenial = { queryTree: engine.queryTree, select: () => engine.select(query('SELECT 1')) }
    await verifySafeguards(noDenial).catch((thrown: unknown) => outcomes.push(String(thrown)))
  })
  await untilEngine(process.pid, await killEngine())
  await untilReady(store)
  t.match(outcomes, ['2\n', /lets a reader run what it must not/])
})

t.test('a store closes in time whatever runs', async (t) => {
  const { store } = await open(t, { closeTimeMaxMs: 100 })
  const unstoppable = 'SELECT arrayLevenshteinDistance(range(999980), arrayReverse(range(1000000)))'
  const running = store.select(query(unstoppable))
  running.catch(() => undefined)
  await untilRunning(store, 'arrayLevenshteinDistance')
  const pid = await untilEngine()
  await store.close()
  await t.rejects(running, StoreError)
  t.equal(findEnginePid(), null)
  await untilGone(pid)
})

t.test('a close while the engine is started again leaves none behind', async (t) => {
  const directory = await createTestDirectory()
  t.teardown(() => directory.remove())
  for (const isOpening of [false, true]) {
    const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
    const ended = await killEngine()
    // Before the next one is there, and while it opens.
    await (isOpening ? untilEngine(process.pid, ended) : untilGone(ended))
    await store.close()
    t.equal(findEnginePid(), null)
  }
})

t.test('an engine that ends more often than it may is given up, and nothing waits for it', async (t) => {
  const { store } = await open(t, { engineRestartsMax: 1 })
  const first = await killEngine()
  const second = await untilEngine(process.pid, first)
  await untilReady(store)
  process.kill(second, 'SIGKILL')
  t.match((await store.failed).message, /the engine ended 2 times in ten minutes, the last time by: signal SIGKILL/)
  t.not(store.unreadyReason, null)
  t.equal(await kindOf(store.rows('SELECT 1')), 'closed')
})

t.test(
  'a query that cannot be stopped costs a restart, then a session that is replaced, and is refused at last',
  async (t) => {
    const { store, lines } = await open(t, { selectsInFlightMax: 1, queryTimeMaxMs: 100, closeTimeMaxMs: 100 })
    // Constants are computed while the query is planned, where nothing looks at the time; each takes seconds.
    const one = (letter: string): string => `editDistance(repeat('${letter}', 60000), repeat('z', 60000))`
    const stuck = `SELECT ${['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map(one).join(' + ')}`
    const late = /did not end within 100 ms/
    await t.rejects(read(store, stuck), late)
    const old = await untilEngine()
    await untilEngine(process.pid, old)
    await untilReady(store)
    t.equal(await readInTime(store, 'SELECT 1'), '1\n', 'in an engine that was started again')
    t.ok(lines.some((line) => /The engine ended unexpectedly.*could not be stopped held half/.test(line)))
    await t.rejects(read(store, stuck), late)
    const engine = await untilEngine()
    // It may not be started again so soon; while the only session is lost, readers wait, for three times their limit at most.
    while ((await kindOf(read(store, 'SELECT 2'))) !== 'none') t.equal(findEnginePid(), engine)
    t.equal(findEnginePid(), engine, 'the session was replaced')
    t.equal(await kindOf(read(store, stuck)), 'refused')
  },
)
