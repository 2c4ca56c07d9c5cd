import t from 'tap'
import { KeptWindow } from '../../src/limits/kept-window.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'

const minuteMs = 60_000

t.test('a request is counted until its whole minute has left the window', async (t) => {
  const window = new KeptWindow({ max: 2, windowMs: 10 * minuteMs })
  window.add(30_000)
  window.add(5 * minuteMs)
  t.equal(window.usedAt(11 * minuteMs - 1), 2)
  t.equal(window.resetMsAt(11 * minuteMs - 1), 1)
  t.equal(window.usedAt(11 * minuteMs), 1)
  t.equal(window.resetMsAt(11 * minuteMs), 5 * minuteMs)
  t.equal(window.usedAt(16 * minuteMs), 0)
  t.equal(window.resetMsAt(16 * minuteMs), 0)
})

t.test('no more than may are ever within the time, and one waits for a minute longer at most', async (t) => {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const random = new SeededRandom(seed)
  for (let round = 0; round < byTier({ quick: 20, full: 200, soak: 2_000 }); round += 1) {
    const max = 1 + random.below(50)
    const windowMs = (1 + random.below(20)) * minuteMs
    const window = new KeptWindow({ max, windowMs })
    const times: number[] = []
    let nowMs = 1_700_000_000_000
    for (let step = 0; step < 500; step += 1) {
      nowMs += random.below(60_000)
      const isFull = window.usedAt(nowMs) >= max
      const certain = times.filter((atMs) => atMs > nowMs - windowMs).length
      const possible = times.filter((atMs) => atMs > nowMs - windowMs - minuteMs).length
      if (isFull && possible < max) throw new Error(`refused with ${possible} of ${max}, round ${round}`)
      if (isFull) continue
      if (certain >= max) throw new Error(`taken with ${certain} of ${max}, round ${round}`)
      window.add(nowMs)
      times.push(nowMs)
    }
    t.ok(times.length > 0)
  }
})

t.test('what was written down goes on where it was, also where the clock was set back', async (t) => {
  const nowMs = 100 * minuteMs
  const window = new KeptWindow({ max: 10, windowMs: 10 * minuteMs })
  t.equal(window.takeChanges(), null)
  for (const atMs of [nowMs - 5 * minuteMs, nowMs, nowMs + 1]) window.add(atMs)
  const counts = window.takeChanges()
  t.same(counts, [
    [95, 1],
    [100, 2],
  ])
  t.equal(window.takeChanges(), null, 'nothing has changed since')
  window.putBack()
  t.same(window.takeChanges(), counts)

  const next = new KeptWindow({ max: 10, windowMs: 10 * minuteMs })
  next.restore(counts ?? [], nowMs)
  t.equal(next.usedAt(nowMs), 3)
  t.equal(next.usedAt(nowMs + 6 * minuteMs), 2)
  t.equal(next.usedAt(nowMs + 11 * minuteMs), 0)

  const earlier = new KeptWindow({ max: 10, windowMs: 10 * minuteMs })
  earlier.restore(counts ?? [], 50 * minuteMs)
  t.equal(earlier.usedAt(50 * minuteMs), 3)
  t.equal(earlier.usedAt(61 * minuteMs), 0)
})
