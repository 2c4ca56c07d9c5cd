import t from 'tap'
import { CrashSuspects } from '../../src/store/embedded/crash-suspects.ts'
import { isInCrashHandler } from '../../src/store/embedded/crash-watch.ts'
import { type Frame, FrameReader, frameHeader, textFrame } from '../../src/store/embedded/engine-frames.ts'
import type { EngineSession } from '../../src/store/embedded/engine-session.types.ts'
import { SessionPool } from '../../src/store/embedded/session-pool.ts'
import { timeoutError } from '../../src/store/store-error.ts'

t.test('a connection gives the same frames wherever it is cut', async (t) => {
  const bytes = Buffer.concat([
    textFrame(2, 7, 'SELECT é'),
    textFrame(5, 65_535, ''),
    frameHeader(3, 1, 3),
    Buffer.from([0, 255, 10]),
  ])
  const expected = [
    { kind: 2, session: 7, text: 'SELECT é' },
    { kind: 5, session: 65_535, text: '' },
    { kind: 3, session: 1, text: Buffer.from([0, 255, 10]).toString() },
  ]
  for (let cut = 0; cut <= bytes.length; cut += 1) {
    for (const next of [cut, Math.min(cut + 5, bytes.length)]) {
      const frames: unknown[] = []
      const reader = new FrameReader(({ kind, session, payload }: Frame) =>
        frames.push({ kind, session, text: payload.toString() }),
      )
      for (const part of [bytes.subarray(0, cut), bytes.subarray(cut, next), bytes.subarray(next)]) reader.push(part)
      t.strictSame(frames, expected, `cut at ${cut} and ${next}`)
    }
  }
})

t.test('a thread in the handler of crashes is told from all other threads by the signals that it blocks', async (t) => {
  const status = (blocked: string): string =>
    `Name:\tnode\nSigPnd:\t0000000000000000\nSigBlk:\t${blocked}\nSigIgn:\t0\n`
  // Seen in the engine: the handler; and, in a process that is well, the engine's threads, libuv's, and the main thread.
  t.ok(isInCrashHandler(status('0000000240081ef8')))
  for (const blocked of ['0000000000000000', '0000000000000200', '0000000000001000', 'fffffffe7ffbfeff']) {
    t.notOk(isInCrashHandler(status(blocked)), blocked)
  }
  t.notOk(isInCrashHandler(''), 'a thread that has ended')
})

const session = (): EngineSession => ({ run: async () => '', runForBytes: async () => new Uint8Array() })

/** A statement that runs until the function is called that this gives. */
function begin(suspects: CrashSuspects, name: string, isAlone = false): () => Promise<void> {
  let end: () => void = () => undefined
  const work = new Promise<void>((resolve) => {
    end = resolve
  })
  const running = suspects.during(session(), { name, isAlone }, () => work)
  return async () => {
    end()
    await running
  }
}

t.test('what runs at two ends is run alone, and refused when the engine ends by it then', async (t) => {
  const suspects = new CrashSuspects(() => 0)
  for (let ends = 0; ends < 2; ends += 1) {
    t.equal(suspects.judge('bad'), 'free')
    const running = [begin(suspects, 'bad'), begin(suspects, 'beside'), begin(suspects, `other ${ends}`)]
    suspects.onEnd()
    for (const end of running) await end()
  }
  t.equal(suspects.judge('bad'), 'alone')
  t.equal(suspects.judge('beside'), 'alone')
  t.equal(suspects.judge('other 0'), 'free', 'once is chance')
  await begin(suspects, 'beside', true)()
  t.equal(suspects.judge('beside'), 'free', 'cleared')
  const alone = begin(suspects, 'bad', true)
  // A statement that could not be waited for runs beside it, and is not suspected.
  const beside = begin(suspects, 'long')
  suspects.onEnd()
  await alone()
  await beside()
  t.equal(suspects.judge('bad'), 'ended-engine')
  t.equal(suspects.judge('long'), 'free')
})

t.test('the same statement in two sessions at one end is suspected once', async (t) => {
  const suspects = new CrashSuspects(() => 0)
  const running = [begin(suspects, 'popular'), begin(suspects, 'popular')]
  suspects.onEnd()
  for (const end of running) await end()
  t.equal(suspects.judge('popular'), 'free')
})

t.test('what could not be stopped twice is refused for ten minutes', async (t) => {
  let nowMs = 0
  const suspects = new CrashSuspects(() => nowMs)
  suspects.onLost('long')
  t.equal(suspects.judge('long'), 'free')
  suspects.onLost('long')
  nowMs = 599_999
  t.equal(suspects.judge('long'), 'unstoppable')
  nowMs = 600_000
  t.equal(suspects.judge('long'), 'free')
})

t.test('a session whose work does not end is lost, replaced, and given up when it ends after all', async (t) => {
  const returned: string[] = []
  let lose: (lost: string) => void = () => undefined
  const lost = new Promise<string>((resolve) => {
    lose = resolve
  })
  const pool = new SessionPool<string>({
    purpose: 'query',
    sessions: ['one'],
    waitingMax: 1,
    lostAfterMs: 1,
    onLost: lose,
    onReturned: (it) => returned.push(it),
  })
  let end: () => void = () => undefined
  const work = new Promise<void>((resolve) => {
    end = resolve
  })
  const late = { timeMaxMs: 1, lateError: () => timeoutError(1) }
  await t.rejects(
    pool.lendWithin(() => work, late),
    /did not end within 1 ms/,
  )
  // Its timer does not keep a process: this one does.
  const alive = setInterval(() => undefined, 1_000)
  t.equal(await lost, 'one')
  clearInterval(alive)
  t.notOk(pool.isUsable, 'none is left')
  const waiting = pool.use(async (it) => it)
  t.ok(pool.replace('one', 'two'))
  t.notOk(pool.replace('one', 'three'), 'once')
  t.equal(await waiting, 'two')
  t.ok(pool.isUsable)
  t.notOk(pool.isIdle)
  end()
  await work
  await new Promise((resolve) => setImmediate(resolve))
  t.same(returned, ['one'])
  t.ok(pool.isIdle)
  t.equal(await pool.use(async (it) => it), 'two', 'the lost one is lent no more')
})

t.test('pauses of a pool may overlap, and only who pauses it passes', async (t) => {
  const pool = new SessionPool<string>({ purpose: 'query', sessions: ['one'], waitingMax: 2 })
  const resumes = [pool.pause(), pool.pause()]
  const waiting = pool.use(async (it) => it)
  let isServed = false
  void waiting.then(() => {
    isServed = true
  })
  t.equal(await pool.use(async (it) => it, { passesPause: true }), 'one')
  for (const resume of resumes) {
    await new Promise((resolve) => setImmediate(resolve))
    t.notOk(isServed)
    resume()
    resume()
  }
  t.equal(await waiting, 'one')
})
