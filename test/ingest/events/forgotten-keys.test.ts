import t from 'tap'
import { ForgottenKeys } from '../../../src/ingest/events/forgotten-keys.ts'

function createKeys() {
  const warned: unknown[] = []
  const clock = { nowMs: 0 }
  const keys = new ForgottenKeys({ warn: (fields) => warned.push(fields) }, () => clock.nowMs, 100)
  return { keys, warned, clock }
}

t.test('the first keys that are forgotten are told at once', async (t) => {
  const { keys, warned } = createKeys()
  keys.note(3)
  t.same(warned, [{ keyCount: 3, keysMax: 100 }])
})

t.test('those of a minute are told together, with the first one that comes after it', async (t) => {
  const { keys, warned, clock } = createKeys()
  keys.note(1)
  keys.note(2)
  clock.nowMs = 59_999
  keys.note(4)
  t.equal(warned.length, 1)
  clock.nowMs = 60_000
  keys.note(8)
  t.same(warned.slice(1), [{ keyCount: 14, keysMax: 100 }])
  clock.nowMs = 120_000
  keys.note(16)
  t.same(warned.slice(2), [{ keyCount: 16, keysMax: 100 }], 'none is told twice')
})
