import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import type { CheckedQuery } from '../../src/schema/expressions/checked-text.types.ts'
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.ts'
import { SessionPool } from '../../src/store/embedded/session-pool.ts'
import { clickhouseCodes } from '../../src/store/engine-codes.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { checked } from '../support/checked-text.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../support/store/test-store.ts'

t.test(
  'a query that the engine cannot stop is told to be late, and its session comes back when it has ended',
  async (t) => {
    const directory = await createTestDirectory()
    const options = { ...testStoreOptions(directory.path), selectsInFlightMax: 1, queryTimeMaxMs: 100 }
    const store = await openEmbeddedStore(options, silentLogger)
    t.teardown(async () => {
      await store.close()
      await directory.remove()
    })
    const select = async (sql: string, shape?: string) => {
      const { signal } = new AbortController()
      const query = {
        sql: checked<CheckedQuery>(sql),
        format: 'CSV',
        settings: {},
        signal,
        ...(shape === undefined ? {} : { shape }),
      }
      const chunks: Uint8Array[] = []
      for await (const chunk of await store.select(query)) chunks.push(chunk)
      return Buffer.concat(chunks).toString()
    }
    // Constants are computed while the query is planned, where nothing looks at the time; each takes seconds.
    const stuck = (letter: string) => `SELECT editDistance(repeat('${letter}', 30000), repeat('z', 30000)) AS n`
    const late = { kind: 'engine', clickhouseCode: 159 }
    t.match(await failure(select(stuck('a'))), late, 'through a file')
    t.equal(await untilServed(() => select('SELECT 1')), '1\n')
    t.match(await failure(select(stuck('b'), 'b')), late, 'from memory')
    t.equal(await untilServed(() => select('SELECT 2')), '2\n')
    t.strictSame(await readdir(join(directory.path, 'results')), [])
  },
)

async function failure(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  )
}

/** Asks again while the line does not move, and where a machine that stops for a moment makes any query late. */
async function untilServed(ask: () => Promise<string>): Promise<string> {
  for (;;) {
    try {
      return await ask()
    } catch (thrown) {
      if (
        !(thrown instanceof StoreError) ||
        (thrown.kind !== 'busy' && thrown.clickhouseCode !== clickhouseCodes.timeoutExceeded)
      )
        throw thrown
    }
  }
}

t.test('who waits for too long is refused, and takes no session afterwards', async (t) => {
  const pool = new SessionPool({ purpose: 'test', sessions: ['x'], waitingMax: 3, waitTimeMaxMs: 20 })
  let end: () => void = () => undefined
  const first = pool.use(() => new Promise<void>((resolve) => (end = resolve)))
  t.match(await failure(pool.use(async () => 'never')), { kind: 'busy' })
  t.equal(pool.waitingCount, 0)
  end()
  await first
  t.equal(await pool.use(async (session) => session), 'x')
})

t.test('work that is late keeps its session until it ends, however it ends', async (t) => {
  const pool = new SessionPool({ purpose: 'test', sessions: ['x'], waitingMax: 3 })
  const limit = { timeMaxMs: 10, lateError: () => new StoreError({ kind: 'engine', message: 'late' }) }
  for (const ending of [() => Promise.resolve(), () => Promise.reject(new Error('much later'))]) {
    let end: () => void = () => undefined
    const work = () => new Promise<void>((resolve) => (end = resolve)).then(ending)
    await t.rejects(pool.lendWithin(work, limit), { message: 'late' })
    t.equal(pool.lentCount, 1)
    const next = pool.use(async () => 'next')
    t.equal(pool.waitingCount, 1)
    end()
    t.equal(await next, 'next')
    t.equal(pool.lentCount, 0)
  }
  t.equal(await pool.lendWithin(async () => 'in time', limit), 'in time')
  await t.rejects(
    pool.lendWithin(() => Promise.reject(new Error('at once')), limit),
    { message: 'at once' },
  )
})
