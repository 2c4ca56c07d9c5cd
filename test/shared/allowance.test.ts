import t from 'tap'
import { Allowance } from '../../src/shared/allowance.ts'

t.test('there are some at once, and more with time, up to as many', async (t) => {
  let nowMs = 0
  const allowance = new Allowance({ atOnce: 3, perMs: 0.5 }, () => nowMs)
  const taken = (count: number): number => Array.from({ length: count }, () => allowance.take()).filter(Boolean).length
  t.equal(taken(5), 3)
  nowMs += 1
  t.equal(taken(5), 0, 'half a one is none')
  nowMs += 1
  t.equal(taken(5), 1)
  nowMs += 1_000
  t.equal(taken(5), 3)
})

t.test('a clock that is set back takes nothing from anybody', async (t) => {
  let nowMs = 1_000_000
  const allowance = new Allowance({ atOnce: 1, perMs: 1 }, () => nowMs)
  t.ok(allowance.take())
  t.notOk(allowance.take())
  nowMs -= 900_000
  t.ok(allowance.take())
  nowMs += 1
  t.ok(allowance.take())
})
