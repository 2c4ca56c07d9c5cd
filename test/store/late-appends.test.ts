import { mock } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { PartExpression } from '../../src/codec/arrow/part-expression.ts'
import { AppendGate } from '../../src/store/append-gate.ts'
import { Appends } from '../../src/store/embedded/appends.ts'
import { CrashSuspects } from '../../src/store/embedded/crash-suspects.ts'
import type { EngineSession } from '../../src/store/embedded/engine-session.types.ts'
import { LateReads } from '../../src/store/embedded/late-reads.ts'
import { SessionPool } from '../../src/store/embedded/session-pool.ts'
import type { AppendRequest } from '../../src/store/store.types.ts'
import { stoppedError } from '../../src/store/store-error.ts'
import { checked } from '../support/checked-text.ts'

const insertTimeMaxMs = 60_000
const lateMs = insertTimeMaxMs + 1_000
const layout = { fields: [], targets: [{ column: 'a', expression: checked<PartExpression>('a') }] }

/** Appends over sessions whose statements end when the test says so. */
function createAppends(t: Test) {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const running: ((error: Error) => void)[] = []
  const session: EngineSession = {
    run: () => new Promise((_, reject) => running.push(reject)),
    runForBytes: () => Promise.reject(new Error('INSERTs give no bytes')),
  }
  const asked: (() => boolean)[] = []
  const askedForReads: (() => boolean)[] = []
  const lateReads = new LateReads((areStuck) => askedForReads.push(areStuck))
  const sessions = Array.from({ length: 6 }, () => ({ ...session }))
  const appends = new Appends(
    { insertsInFlightMax: 2, waitingMax: 10, insertTimeMaxMs, insertMemoryBytesMax: 1_000_000 },
    {
      engine: {
        admit: (_, work) => work(false),
        lateReads,
        restartStuckInserts: (areStuck) => asked.push(areStuck),
        suspects: new CrashSuspects(() => 0),
        writers: new SessionPool({ purpose: 'insert', sessions, waitingMax: 10 }),
      },
      gate: new AppendGate(),
      partFiles: { write: async () => ({ path: '', paths: [], remove: async () => undefined }) },
      repairs: { mayBeNeeded: () => false, dropBehind: async () => undefined },
    },
  )
  /** An INSERT of the data source of this number, once it runs. */
  const append = async (
    source: number,
    more: Partial<AppendRequest> = {},
  ): Promise<{ readonly ended: Promise<unknown> }> => {
    const count = running.length
    const table = `t_${String(source).padStart(32, '0')}`
    const request = { table, layout, parts: [], from: 'other', rowCount: 1, blockId: `b${count}`, ...more }
    const ended = appends.append(request).catch((error: unknown) => error)
    while (running.length === count) await setImmediate()
    return { ended }
  }
  return { appends, append, running, asked, askedForReads }
}

t.test(
  'a restart is asked for when as many INSERTs are late as there are places for slow ones, and not before',
  async (t) => {
    const { append, asked } = createAppends(t)
    for (const source of [1, 2, 3]) {
      await append(source)
      mock.timers.tick(5_000)
    }
    mock.timers.tick(lateMs)
    t.equal(asked.length, 0)
    await append(4)
    mock.timers.tick(lateMs - 1)
    t.equal(asked.length, 0)
    mock.timers.tick(1)
    t.equal(asked.length, 1)
    t.equal(asked[0]?.(), true)
  },
)

t.test('nothing is stuck any more when one of them has ended', async (t) => {
  const { append, running, asked } = createAppends(t)
  const appended = []
  for (const source of [1, 2, 3, 4]) {
    appended.push(await append(source))
    mock.timers.tick(5_000)
  }
  mock.timers.tick(lateMs)
  t.equal(asked.length, 1)
  running[0]?.(stoppedError())
  t.match(await appended[0]?.ended, { clickhouseCode: 159, message: /^The INSERT did not end within 60000 ms/ })
  t.equal(asked[0]?.(), false)
})

t.test('no INSERT can run while late ones hold all sessions, and one can as soon as one of them ends', async (t) => {
  const { appends, append, running } = createAppends(t)
  const quick = await append(6)
  running[0]?.(new Error('refused'))
  await quick.ended
  for (const source of [1, 2, 3, 4, 5]) {
    await append(source)
    mock.timers.tick(5_000)
  }
  mock.timers.tick(lateMs)
  t.equal(appends.unreadyReason, null)
  const last = await append(6)
  mock.timers.tick(lateMs - 1)
  t.equal(appends.unreadyReason, null)
  mock.timers.tick(1)
  t.equal(appends.unreadyReason, 'INSERTs that cannot be stopped hold all of its sessions for INSERTs')
  running[6]?.(stoppedError())
  await last.ended
  t.equal(appends.unreadyReason, null)
})

t.test('two INSERTs that are late and read files are enough for a restart, until one of them has ended', async (t) => {
  const { append, running, asked, askedForReads } = createAppends(t)
  const parquet = { condition: null }
  await append(1, { parquet })
  mock.timers.tick(5_000)
  const second = await append(2, { parquet })
  mock.timers.tick(lateMs - 1)
  t.equal(askedForReads.length, 0)
  mock.timers.tick(1)
  t.same([askedForReads.length, asked.length], [1, 0])
  t.equal(askedForReads[0]?.(), true)
  running[1]?.(stoppedError())
  t.match(await second.ended, { clickhouseCode: 159 })
  t.equal(askedForReads[0]?.(), false)
})

t.test('an INSERT whose caller leaves it gets a second to end, and is waited for by others afterwards', async (t) => {
  const { appends, append, running } = createAppends(t)
  const leaving = new AbortController()
  const { ended } = await append(1, { leftBy: leaving.signal })
  const quick = await append(2, { leftBy: leaving.signal })
  const reason = new Error('cancelled')
  leaving.abort(reason)
  running[1]?.(new Error('it ends by itself'))
  t.match(await quick.ended, { message: 'it ends by itself' })
  mock.timers.tick(999)
  let isTold = false
  void ended.then(() => {
    isTold = true
  })
  await setImmediate()
  t.notOk(isTold)
  mock.timers.tick(1)
  t.equal(await ended, reason)
  let isOver = false
  const over = appends.untilAppended([`t_${'1'.padStart(32, '0')}`]).then(() => {
    isOver = true
  })
  await setImmediate()
  t.notOk(isOver, 'its rows may still come')
  running[0]?.(new Error('it ends'))
  await over
})

t.test('an INSERT that has not begun when its caller leaves is not begun', async (t) => {
  const { appends, running } = createAppends(t)
  const reason = new Error('cancelled')
  const request = { table: 't_1', layout, parts: [], from: 'other', rowCount: 1, blockId: 'b' }
  await t.rejects(appends.append({ ...request, leftBy: AbortSignal.abort(reason) }), reason)
  t.equal(running.length, 0)
})
