import t from 'tap'
import { ExactWindow } from '../../src/limits/exact-window.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'
import { byTier } from '../support/tier.ts'

t.test('as many as may are in a window that slides, each until its own time is over', async (t) => {
  const window = new ExactWindow({ max: 3, windowMs: 1_000 })
  t.equal(window.usedAt(0), 0)
  t.equal(window.resetMsAt(0), 0)
  for (const atMs of [0, 400, 900]) window.add(atMs)
  t.same([window.usedAt(999), window.resetMsAt(999)], [3, 1])
  t.same([window.usedAt(1_000), window.resetMsAt(1_000)], [2, 400])
  window.add(1_000)
  t.same([window.usedAt(1_399), window.resetMsAt(1_399)], [3, 1])
  t.same([window.usedAt(1_400), window.resetMsAt(1_400)], [2, 500])
  t.same([window.usedAt(5_000), window.resetMsAt(5_000)], [0, 0])
})

t.test('it says what a list of all times says, however many they are', async (t) => {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const random = new SeededRandom(seed)
  for (let round = 0; round < byTier({ quick: 40, full: 400, soak: 4_000 }); round += 1) {
    const max = 1 + random.below(300)
    const windowMs = 1 + random.below(500)
    const window = new ExactWindow({ max, windowMs })
    const times: number[] = []
    let nowMs = 1_000
    for (let step = 0; step < 1_000; step += 1) {
      nowMs += random.below(4)
      const inside = times.filter((atMs) => atMs > nowMs - windowMs)
      const used = window.usedAt(nowMs)
      if (used !== inside.length) throw new Error(`${used} for ${inside.length} at ${nowMs}, round ${round}`)
      if (used >= max) continue
      window.add(nowMs)
      times.push(nowMs)
    }
    t.ok(times.length > 0)
  }
})
