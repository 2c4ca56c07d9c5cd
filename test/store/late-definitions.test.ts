// Statements that compute what a caller wrote, and do not end in time.

import { mock } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { ComputingStatements } from '../../src/store/embedded/computing-statements.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import type { EngineSession } from '../../src/store/embedded/engine-session.types.ts'
import { SessionPool } from '../../src/store/embedded/session-pool.ts'
import { StoreError, stoppedError } from '../../src/store/store-error.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'

const timeMaxMs = 10_000
const table = `t_${'0'.repeat(32)}`
const create = `CREATE TABLE IF NOT EXISTS \`ws_0001\`.\`${table}\` (a UInt8) ENGINE = Null`
const insert = `INSERT INTO \`ws_0001\`.\`${table}\` (a) SELECT 1`
const drop = `DROP TABLE IF EXISTS \`ws_0001\`.\`${table}\``

/** Statements in sessions that end them when the test says so. */
function createComputing(t: Test) {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const running: { readonly resolve: (text: string) => void; readonly reject: (error: Error) => void }[] = []
  const session: EngineSession = {
    run: () => new Promise((resolve, reject) => running.push({ resolve, reject })),
    runForBytes: () => Promise.reject(new Error('definitions give no bytes')),
  }
  const lost: EngineSession[] = []
  const definers = new SessionPool({
    purpose: 'definition',
    sessions: [{ ...session }, { ...session }],
    waitingMax: 10,
    waitTimeMaxMs: 5_000,
    lostAfterMs: 1_000,
    onLost: (it) => lost.push(it),
  })
  const dropped: string[] = []
  const computing = new ComputingStatements(timeMaxMs, {
    engine: { definers, lateError: (error) => error },
    logger: silentLogger,
    drop: async (name) => {
      dropped.push(name)
    },
  })
  /** What comes of a statement, once it runs. */
  const begin = async (sql: string): Promise<{ readonly ended: Promise<unknown> }> => {
    const count = running.length
    const change = async (run: (text: string) => Promise<unknown>): Promise<void> => {
      await run(sql)
    }
    const ended = computing.run(sql, change, true).then(
      () => 'done',
      (thrown: unknown) => thrown,
    )
    while (running.length === count) await setImmediate()
    return { ended }
  }
  return { computing, begin, running, definers, lost, dropped }
}

t.test(
  'a definition that is late is told so, holds its table, and what it makes is dropped when it has ended',
  async (t) => {
    const { computing, begin, running, definers, lost, dropped } = createComputing(t)
    const { ended } = await begin(create)
    mock.timers.tick(timeMaxMs)
    t.match(await ended, { kind: 'late', message: 'it was not computed within 10 s' })
    t.throws(() => computing.takes(insert), StoreError)
    t.ok(computing.takes(drop), 'the engine would let it wait')
    t.notOk(computing.takes(drop.replace(table, 'other')))
    mock.timers.tick(1_000)
    t.equal(lost.length, 1)
    t.same(dropped, [])
    running[0]?.resolve('')
    while (dropped.length === 0) await setImmediate()
    t.same(dropped, [table])
    t.notOk(computing.takes(drop))
    t.ok(definers.isIdle)
  },
)

t.test('a row that is tried for too long has its table dropped when somebody has asked for that', async (t) => {
  const { computing, begin, running, dropped } = createComputing(t)
  const kept = await begin(insert)
  mock.timers.tick(timeMaxMs)
  t.match(await kept.ended, { kind: 'late' })
  running[0]?.resolve('')
  while (isHeld(computing)) await setImmediate()
  t.same(dropped, [])
  const gone = await begin(insert)
  mock.timers.tick(timeMaxMs)
  t.match(await gone.ended, { kind: 'late' })
  t.ok(computing.takes(drop))
  running[1]?.reject(stoppedError())
  while (dropped.length === 0) await setImmediate()
  t.same(dropped, [table])
})

function isHeld(computing: ComputingStatements): boolean {
  try {
    return computing.takes(insert)
  } catch {
    return true
  }
}

t.test('a definition that ran when the engine ended is repeated, unless it was late', async (t) => {
  const { begin, running } = createComputing(t)
  const { ended } = await begin(create)
  running[0]?.reject(stoppedError())
  while (running.length === 1) await setImmediate()
  running[1]?.resolve('')
  t.equal(await ended, 'done')
  const late = await begin(create)
  mock.timers.tick(timeMaxMs)
  t.match(await late.ended, { kind: 'late' })
  running[2]?.reject(stoppedError())
  await setImmediate()
  t.equal(running.length, 3)
})

t.test('who waits for a session behind definitions that take long is refused', async (t) => {
  const { computing, begin, running } = createComputing(t)
  const begun = [await begin(create), await begin(create)]
  const waiting = computing.run(create, async () => undefined, true)
  mock.timers.tick(5_000)
  t.match(await waiting.catch((thrown: unknown) => thrown), { kind: 'busy' })
  for (const { resolve } of running) resolve('')
  for (const { ended } of begun) t.equal(await ended, 'done')
})

t.test('a close waits for definitions whose callers wait, and for no other', async (t) => {
  const { begin, running, definers } = createComputing(t)
  await begin(create)
  mock.timers.tick(timeMaxMs)
  const other = await begin(create.replace(table, 'other'))
  let isClosed = false
  void definers.close().then(() => {
    isClosed = true
  })
  await setImmediate()
  t.notOk(isClosed)
  running[1]?.resolve('')
  t.equal(await other.ended, 'done')
  while (!isClosed) await setImmediate()
  t.notOk(definers.isIdle)
  let isIdle = false
  void definers.untilIdle().then(() => {
    isIdle = true
  })
  await setImmediate()
  t.notOk(isIdle)
  running[0]?.resolve('')
  while (!isIdle) await setImmediate()
  t.ok(definers.isIdle)
})

t.test(
  'statements of the service go on beside definitions that take seconds, and nothing is left of those',
  async (t) => {
    const directory = await createTestDirectory()
    const options = { ...testStoreOptions(directory.path), definitionTimeMaxMs: 50 }
    const store = await openEmbeddedStore(options, silentLogger)
    t.teardown(async () => {
      await store.close()
      await directory.remove()
    })
    const names = async () => (await store.tables.list()).size
    // The engine computes it when the table is made, and cannot be stopped; some seconds for each.
    const costly = (letter: string) => `length(toString(editDistance(repeat('${letter}', 30000), repeat('z', 30000))))`
    const ended = ['a', 'b'].map((letter) =>
      store
        .command(
          `CREATE TABLE IF NOT EXISTS \`ws_0001\`.\`t_${letter}\` (n Int64, d Int64 DEFAULT ${costly(letter)})
         ENGINE = MergeTree ORDER BY n`,
          { computes: true },
        )
        .catch((thrown: unknown) => thrown),
    )
    for (const fault of await Promise.all(ended)) t.match(fault, { kind: 'late' })
    await store.command('CREATE TABLE `ws_0001`.`t_plain` (n Int64) ENGINE = MergeTree ORDER BY n')
    await store.command('DROP TABLE IF EXISTS `ws_0001`.`t_a`')
    await t.rejects(store.command('TRUNCATE TABLE `ws_0001`.`t_b`'), StoreError)
    t.ok((await store.tables.list()).has('t_plain'))
    // They end by themselves, and their tables go.
    while (
      await store.command('TRUNCATE TABLE IF EXISTS `ws_0001`.`t_b`').then(
        () => false,
        () => true,
      )
    )
      await setImmediate()
    while ((await names()) > 1) await setImmediate()
    t.same([...(await store.tables.list()).keys()], ['t_plain'])
  },
)

t.test('short statements of the service go on beside long ones, however many wait', async (t) => {
  const directory = await createTestDirectory()
  const store = await openEmbeddedStore(testStoreOptions(directory.path), silentLogger)
  t.teardown(async () => {
    await store.close()
    await directory.remove()
  })
  let endedCount = 0
  const long = [1, 2, 3].map(async () => {
    await store.rows('SELECT sleep(2) AS a', { isLong: true })
    endedCount += 1
  })
  await store.tables.list()
  await store.command('CREATE TABLE `ws_0001`.`t_short` (n Int64) ENGINE = MergeTree ORDER BY n')
  await store.command('TRUNCATE TABLE `ws_0001`.`t_short`')
  // The third of them begins when one of the others has ended.
  t.ok(endedCount < 3)
  await Promise.all(long)
})
