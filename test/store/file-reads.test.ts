import { mock } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { EngineSession } from '../../src/store/embedded/engine-session.types.ts'
import { FileReads } from '../../src/store/embedded/file-reads.ts'
import { fileReadsMax, LateReads } from '../../src/store/embedded/late-reads.ts'
import { SessionPool } from '../../src/store/embedded/session-pool.ts'
import { stoppedError } from '../../src/store/store-error.ts'

const timeMaxMs = 60_000
const lateMs = timeMaxMs + 1_000
const query = "SELECT a FROM file('x', 'Parquet') SETTINGS max_threads = 1"

interface Statement {
  readonly sql: string
  readonly resolve: (text: string) => void
  readonly reject: (error: Error) => void
}

/** Reads over sessions whose statements end when the test says so. */
function createReads(t: Test) {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const running: Statement[] = []
  const sessions = Array.from({ length: fileReadsMax }, (): EngineSession => {
    return {
      run: (sql) => new Promise((resolve, reject) => running.push({ sql, resolve, reject })),
      runForBytes: () => Promise.reject(new Error('no bytes are asked for')),
    }
  })
  const asked: (() => boolean)[] = []
  const lateReads = new LateReads((areStuck) => asked.push(areStuck))
  const fileReaders = new SessionPool({ purpose: 'file', sessions, waitingMax: 8 })
  const engine = { fileReaders, lateReads, lateError: (error: Error) => error as never }
  const reads = new FileReads({ timeMaxMs, memoryBytesMax: 1_000_000 }, engine)
  const read = (): Promise<unknown> => reads.rows(query).catch((error: unknown) => error)
  const untilRun = async (count: number): Promise<void> => {
    while (running.length < count) await setImmediate()
  }
  return { read, running, untilRun, asked, lateReads }
}

t.test('a read has the limits of an INSERT, and gives its rows', async (t) => {
  const { read, running, untilRun } = createReads(t)
  const rows = read()
  await untilRun(1)
  t.match(
    running[0]?.sql,
    /SETTINGS max_threads = 1, max_execution_time = 60, .*max_memory_usage = 1000000\nFORMAT JSON/,
  )
  running[0]?.resolve('{"a":1}\n{"a":2}\n')
  t.same(await rows, [{ a: 1 }, { a: 2 }])
})

t.test('a read that is late is told, and two of them are enough for a restart', async (t) => {
  const { read, running, untilRun, asked, lateReads } = createReads(t)
  const late = [read(), read()]
  await untilRun(2)
  mock.timers.tick(lateMs - 1)
  t.equal(asked.length, 0)
  mock.timers.tick(1)
  for (const told of late) {
    t.match(await told, {
      clickhouseCode: 159,
      message: /^The file was not read within 60000 ms, and reading it could not/,
    })
  }
  t.equal(asked.length, 1)
  t.equal(asked[0]?.(), true)
  t.equal(lateReads.unreadyReason, null)
  running[0]?.reject(stoppedError())
  await setImmediate()
  t.equal(asked[0]?.(), false)
  t.equal(running.length, 2, 'what was late is not repeated')
})

t.test('no file can be read while all sessions for that are stuck, and one can when one of them is not', async (t) => {
  const { read, running, untilRun, lateReads } = createReads(t)
  const late = Array.from({ length: fileReadsMax }, read)
  await untilRun(fileReadsMax)
  mock.timers.tick(lateMs)
  await Promise.all(late)
  t.match(lateReads.unreadyReason, /Parquet files/)
  running[0]?.reject(stoppedError())
  await setImmediate()
  t.equal(lateReads.unreadyReason, null)
})

t.test('a read that ran when the engine ended is repeated once', async (t) => {
  const { read, running, untilRun } = createReads(t)
  const rows = read()
  await untilRun(1)
  running[0]?.reject(stoppedError())
  await untilRun(2)
  running[1]?.resolve('')
  t.same(await rows, [])
  const again = read()
  await untilRun(3)
  running[2]?.reject(stoppedError())
  await untilRun(4)
  running[3]?.reject(stoppedError())
  t.match(await again, { kind: 'stopped' })
})
