import { mock } from 'node:test'
import t from 'tap'
import { giveWay } from '../../src/shared/time-slices.ts'

// The time that work takes is told, not measured: a machine that stops for a moment makes no piece longer.
let nowMs = performance.now()
mock.method(performance, 'now', () => nowMs)

/** Pieces of 2 ms, so many one behind the other. */
async function work(pieces: number): Promise<void> {
  for (let piece = 0; piece < pieces; piece += 1) {
    nowMs += 2
    await giveWay()
  }
}

/** Turns of the event loop while work is done. */
async function turnsDuring(done: Promise<unknown>): Promise<number> {
  let turns = 0
  let isDone = false
  const count = (): void => {
    turns += 1
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  await done
  isDone = true
  return turns
}

t.test('others have their turn while many pieces of work are done, and not between any two', async (t) => {
  const turns = await turnsDuring(work(50))
  t.ok(turns >= 1 && turns <= 25, `${turns} turns in 50 pieces of 2 ms`)
})

t.test('much work at once gives others no fewer turns', async (t) => {
  const all = Array.from({ length: 8 }, () => work(25))
  const turns = await turnsDuring(Promise.all(all))
  // Each turn has 10 ms of one and a piece of each of the others.
  t.ok(turns >= 12, `${turns} turns in 200 pieces of 2 ms, of eight at once`)
})
