import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { FlushClock } from '../../../src/ingest/events/flush-clock.ts'

const rule = { eventsFlushRowsMax: 10, eventsFlushBytesMax: 10, eventsFlushIdleMs: 100, eventsFlushAgeMs: 250 }

/** A clock whose time passes by `pass` alone, from `startMs` on. */
function open(t: Test, startMs = 5_000) {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const state = { nowMs: startMs, dueAt: [] as number[] }
  const clock = new FlushClock(
    rule,
    () => state.nowMs,
    () => state.dueAt.push(state.nowMs - startMs),
  )
  const pass = (ms: number): void => {
    for (let step = 0; step < ms; step += 1) {
      state.nowMs += 1
      mock.timers.tick(1)
    }
  }
  return { clock, pass, state }
}

t.test('what has gathered is due after silence', (t) => {
  const { clock, pass, state } = open(t)
  clock.noteBody()
  pass(99)
  t.same([clock.isOver, state.dueAt], [false, []])
  pass(1)
  t.same([clock.isOver, state.dueAt], [true, [100]])
  t.end()
})

t.test('each body puts the silence off, and the age of the first bounds it', (t) => {
  const { clock, pass, state } = open(t)
  for (let body = 0; body < 4; body += 1) {
    clock.noteBody()
    pass(60)
    t.same([clock.isOver, state.dueAt], [false, []], `body ${body}`)
  }
  clock.noteBody()
  pass(10)
  t.same([clock.isOver, state.dueAt], [true, [250]])
  t.end()
})

t.test('after a reset nothing is due until the next body has waited as long as the first', (t) => {
  const { clock, pass, state } = open(t)
  clock.noteBody()
  pass(50)
  clock.reset()
  pass(1_000)
  t.notOk(clock.isOver)
  clock.noteBody()
  pass(99)
  t.notOk(clock.isOver)
  pass(1)
  t.ok(clock.isOver)
  t.equal(state.dueAt.at(-1), 1_150)
  t.end()
})

t.test('it wakes at a given time too, once, with nothing gathered', (t) => {
  const { clock, pass, state } = open(t)
  clock.arm(state.nowMs + 400)
  pass(399)
  t.same(state.dueAt, [])
  pass(1_000)
  t.same(state.dueAt, [400])
  t.notOk(clock.isOver)
  t.end()
})

t.test('arming it again takes the place of the time before', (t) => {
  const { clock, pass, state } = open(t)
  clock.arm(state.nowMs + 10)
  clock.arm(state.nowMs + 30)
  pass(29)
  t.same(state.dueAt, [])
  pass(1)
  t.same(state.dueAt, [30])
  clock.arm(state.nowMs + 10)
  clock.arm(null)
  pass(1_000)
  t.same(state.dueAt, [30], 'and nothing is left of one that is taken back')
  t.end()
})

t.test('a closed clock says nothing any more', (t) => {
  const { clock, pass, state } = open(t)
  clock.noteBody()
  clock.close()
  clock.arm(state.nowMs + 10)
  pass(1_000)
  t.same(state.dueAt, [])
  t.end()
})
