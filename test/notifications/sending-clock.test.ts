import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { SendingClock } from '../../src/notifications/sending-clock.ts'

function openClock(t: Test): SendingClock {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const clock = new SendingClock({ timeMaxMs: 10_000, answerTimeMaxMs: 600_000 })
  t.teardown(() => clock.stop())
  return clock
}

/** Whether the clock has not ended the sending before its last millisecond, and why it ended it then. */
function endAfter(clock: SendingClock, ms: number): readonly unknown[] {
  mock.timers.tick(ms - 1)
  const isOpen = !clock.signal.aborted
  mock.timers.tick(1)
  return [isOpen, clock.signal.aborted, clock.failure?.message, clock.failure?.isFinal]
}

t.test('a message must be out in time', async (t) => {
  const late = 'the mail server did not take the e-mail in time (--notifications-timeout-ms)'
  t.same(endAfter(openClock(t), 10_000), [true, true, late, false])
})

t.test('the answer to a message that is out is waited for ten minutes, whatever it took until then', async (t) => {
  const clock = openClock(t)
  mock.timers.tick(9_999)
  clock.noteOut()
  const late = 'the mail server got the e-mail, and did not say in time whether it takes it'
  t.same(endAfter(clock, 600_000), [true, true, late, false])
})

t.test('a close ends what is not out at once, and waits a moment for the answer to what is', async (t) => {
  const first = openClock(t)
  first.close()
  mock.timers.tick(0)
  t.same([first.signal.aborted, first.failure?.message], [true, 'the service ended'])
  mock.timers.reset()
  const second = openClock(t)
  second.noteOut()
  second.close()
  t.same(endAfter(second, 1_000), [true, true, 'the service ended', false])
})

t.test('a sending that has ended is ended by no clock', async (t) => {
  const clock = openClock(t)
  clock.stop()
  mock.timers.tick(10_000_000)
  t.same([clock.signal.aborted, clock.failure], [false, null])
})
