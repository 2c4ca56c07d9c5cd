import { PassThrough } from 'node:stream'
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { BodyRate } from '../../../src/http/request/body-rate.ts'
import { ArrivingBody } from '../../../src/http/request/request-body.ts'

/** A rate of 100 bytes in each second, on a clock that the test moves. */
function openRate(t: Test) {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  let nowMs = 0
  let slowCount = 0
  const onSlow = (): void => {
    slowCount += 1
  }
  const rate = new BodyRate({ bodyRateMin: 100, bodyRateWindowMs: 1_000 }, { now: () => nowMs, onSlow })
  const pass = (ms: number): void => {
    nowMs += ms
    mock.timers.tick(ms)
  }
  return { rate, pass, slowCount: () => slowCount }
}

for (const [bytes, isSlow] of [
  [99, true],
  [100, false],
  [101, false],
] as const) {
  t.test(`a sender that brings ${bytes} bytes in a window of 100 is ${isSlow ? '' : 'not '}slow`, async (t) => {
    const { rate, pass, slowCount } = openRate(t)
    rate.wait()
    pass(500)
    rate.take(bytes)
    pass(499)
    t.equal(slowCount(), 0)
    pass(1)
    t.equal(slowCount(), isSlow ? 1 : 0)
  })
}

t.test('each window has to bring its bytes, what came before is spent', async (t) => {
  const { rate, pass, slowCount } = openRate(t)
  rate.wait()
  rate.take(10_000)
  pass(1_000)
  rate.take(100)
  pass(1_000)
  t.equal(slowCount(), 0)
  rate.take(99)
  pass(1_000)
  t.equal(slowCount(), 1)
})

t.test('time in which nobody waits for bytes does not count, however long it is', async (t) => {
  const { rate, pass, slowCount } = openRate(t)
  for (let turn = 0; turn < 9; turn += 1) {
    rate.wait()
    pass(100)
    rate.rest()
    pass(100_000)
  }
  t.equal(slowCount(), 0, '900 ms have been waited')
  rate.wait()
  pass(99)
  t.equal(slowCount(), 0)
  pass(1)
  t.equal(slowCount(), 1)
})

t.test('a body whose reader pauses is not slow, and fails when it is waited for in vain', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const source = new PassThrough()
  const rules = { idleMsMax: 0, bodyRateMin: 1_000, bodyRateWindowMs: 60_000 }
  const body = new ArrivingBody(source, { ...rules, onFirstRead: () => {} })
  const failures: Error[] = []
  body.start({ onChunk: () => body.pause(), onEnd: () => {}, onFailure: (error) => void failures.push(error) })
  body.resume()
  await new Promise(setImmediate)
  source.write('0123456789')
  await new Promise(setImmediate)
  mock.timers.tick(10_000_000)
  t.same(failures, [], 'it is not read')
  body.resume()
  await new Promise(setImmediate)
  mock.timers.tick(60_000)
  t.match(failures, [{ code: 'BODY_TOO_SLOW', status: 408 }])
})
