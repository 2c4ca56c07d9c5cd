// Who comes first where owners share the sessions of a pool.

import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { SessionPool } from '../../src/store/embedded/session-pool.ts'
import { StoreError } from '../../src/store/store-error.ts'

/** A pool of four sessions, of which one owner leaves one to others. Work ends when the test says so. */
function openPool(waitingMax = 8) {
  let tellLost: (session: number) => void = () => undefined
  const lost = new Promise<number>((resolve) => {
    tellLost = resolve
  })
  const sessions = [0, 1, 2, 3]
  const options = { purpose: 'test', sessions, waitingMax, leftToOthers: 1, lostAfterMs: 1, onLost: tellLost }
  const pool = new SessionPool(options)
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const ask = (name: string, owner?: string, signal?: AbortSignal): Promise<void> => {
    const work = async (): Promise<void> => {
      begun.push(name)
      await new Promise<void>((resolve) => ends.set(name, resolve))
    }
    return pool.use(work, { owner, ...(signal === undefined ? {} : { signal }) })
  }
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.()
    await settled()
  }
  const endAll = async (): Promise<void> => {
    do {
      await settled()
      for (const name of ends.keys()) await end(name)
    } while (!pool.isIdle)
  }
  return { pool, begun, ask, end, endAll, lost }
}

async function failure(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  )
}

/** All that follows from what has been resolved. */
async function settled(): Promise<void> {
  await setImmediate()
}

t.test('one owner leaves a session to others, and waits for one of its own', async (t) => {
  const { pool, begun, ask, end, endAll } = openPool()
  const asked = ['a1', 'a2', 'a3', 'a4', 'a5'].map((name) => ask(name, 'a'))
  await settled()
  t.strictSame(begun, ['a1', 'a2', 'a3'])
  t.match(pool.state, { busyCount: 3, waitingCount: 2 })
  asked.push(ask('b1', 'b'))
  await settled()
  t.strictSame(begun.slice(3), ['b1'])
  await end('b1')
  t.strictSame(begun.slice(4), [], 'a session that others leave is none of its')
  await end('a2')
  t.strictSame(begun.slice(4), ['a4'])
  await endAll()
  await Promise.all(asked)
})

t.test('who holds fewer sessions comes first, then who came first', async (t) => {
  const { begun, ask, end, endAll } = openPool()
  const asked = [ask('a1', 'a'), ask('a2', 'a'), ask('b1', 'b'), ask('b2', 'b')]
  asked.push(ask('a3', 'a'), ask('b3', 'b'), ask('c1', 'c'), ask('a4', 'a'), ask('c2', 'c'))
  await settled()
  t.strictSame(begun, ['a1', 'a2', 'b1', 'b2'])
  await end('a1')
  t.strictSame(begun.slice(4), ['c1'], 'who has none')
  await end('a2')
  t.strictSame(begun.slice(5), ['a3'], 'who has none now, and came first')
  await end('b1')
  t.strictSame(begun.slice(6), ['b3'])
  await endAll()
  t.strictSame(begun.slice(7).toSorted(), ['a4', 'c2'])
  await Promise.all(asked)
})

t.test('without owners statements come in the order in which they were asked for, and take all sessions', async (t) => {
  const { begun, ask, endAll } = openPool()
  const names = ['1', '2', '3', '4', '5', '6', '7']
  const asked = names.map((name) => ask(name))
  await settled()
  t.strictSame(begun, names.slice(0, 4))
  await endAll()
  t.strictSame(begun, names)
  await Promise.all(asked)
})

t.test('one owner does not fill the line, and who leaves it gives its place back', async (t) => {
  const { begun, ask, endAll } = openPool(4)
  const asked = ['a1', 'a2', 'a3', 'a4', 'a5'].map((name) => ask(name, 'a'))
  const leaving = new AbortController()
  const left = ask('a6', 'a', leaving.signal)
  t.match(await failure(ask('a7', 'a')), { kind: 'busy' })
  asked.push(ask('b1', 'b'), ask('b2', 'b'))
  await settled()
  t.strictSame(begun, ['a1', 'a2', 'a3', 'b1'])
  t.match(await failure(ask('b3', 'b')), { kind: 'busy' }, 'the line is full')
  leaving.abort()
  t.match(await failure(left), { kind: 'aborted' })
  asked.push(ask('b3', 'b'))
  await endAll()
  t.equal(begun.length, 8)
  await Promise.all(asked)
})

t.test('a session that is lost is no more its owner’s once another has its place', async (t) => {
  const { pool, begun, ask, endAll, lost } = openPool()
  let end: () => void = () => undefined
  const work = (): Promise<void> =>
    new Promise<void>((resolve) => {
      end = resolve
    })
  const lateError = (): StoreError => new StoreError({ kind: 'engine', message: 'late' })
  await t.rejects(pool.lendWithin(work, { timeMaxMs: 1, lateError }, { owner: 'a' }), lateError())
  // The timer of a session that is lost keeps no process.
  const alive = setInterval(() => undefined, 1_000)
  t.teardown(() => clearInterval(alive))
  const session = await lost
  const asked = ['a1', 'a2', 'a3'].map((name) => ask(name, 'a'))
  await settled()
  t.strictSame(begun, ['a1', 'a2'], 'what does not end counts')
  t.ok(pool.replace(session, 4))
  await settled()
  t.strictSame(begun, ['a1', 'a2', 'a3'])
  end()
  await endAll()
  await Promise.all(asked)
  await settled()
  t.ok(pool.isIdle)
})
