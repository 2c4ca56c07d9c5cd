import t from 'tap'
import { InsertRetry } from '../../../src/ingest/events/insert-retry.ts'

/** Time of day and clock are apart, as they are in a service. */
function open() {
  const state = { elapsedMs: 0 }
  const retry = new InsertRetry({ now: () => 1_000_000 + state.elapsedMs, clock: () => 70 + state.elapsedMs })
  return { retry, state }
}

t.test('nothing pauses before a failure', (t) => {
  const { retry } = open()
  t.same([retry.failure, retry.retryAt, retry.isPausing], [null, null, false])
  t.equal(retry.noteStored(), false)
  t.end()
})

t.test('a failure pauses, and is told with the time of the next try', (t) => {
  const { retry, state } = open()
  const failure = retry.noteFailure('view', new Error('the view is broken'))
  t.same(failure, {
    kind: 'view',
    message: 'the view is broken',
    sinceMs: 1_000_000,
    retryAtMs: 1_000_250,
    attemptCount: 1,
  })
  t.equal(retry.failure, failure)
  t.equal(retry.retryAt, 320, 'by the clock that never goes back')
  state.elapsedMs = 249
  t.ok(retry.isPausing)
  state.elapsedMs = 250
  t.notOk(retry.isPausing)
  t.end()
})

t.test('each pause is twice as long as the one before, up to half a minute', (t) => {
  const { retry, state } = open()
  const pauses = Array.from({ length: 40 }, (_, attempt) => {
    const { retryAtMs, attemptCount, sinceMs } = retry.noteFailure('engine', 'no')
    t.same([attemptCount, sinceMs], [attempt + 1, 1_000_000])
    const pauseMs = retryAtMs - 1_000_000 - state.elapsedMs
    state.elapsedMs += pauseMs
    return pauseMs
  })
  t.same(pauses.slice(0, 9), [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
  t.ok(pauses.slice(7).every((pauseMs) => pauseMs === 30_000))
  t.end()
})

t.test('a success ends it, and the next failure begins with the shortest pause', (t) => {
  const { retry, state } = open()
  for (let attempt = 0; attempt < 5; attempt += 1) retry.noteFailure('engine', 'no')
  t.equal(retry.noteStored(), true)
  t.same([retry.failure, retry.retryAt, retry.isPausing], [null, null, false])
  t.equal(retry.noteStored(), false)
  state.elapsedMs = 5_000
  t.match(retry.noteFailure('engine', 'no'), { attemptCount: 1, sinceMs: 1_005_000, retryAtMs: 1_005_250 })
  t.end()
})
