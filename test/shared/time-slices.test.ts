import t from 'tap'
import { TimeSlices } from '../../src/shared/time-slices.ts'

t.test('others have their turn while many pieces of work are done, and not between any two', async (t) => {
  let turns = 0
  let isDone = false
  const count = (): void => {
    turns += 1
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  const slices = new TimeSlices()
  for (let piece = 0; piece < 50; piece += 1) {
    const end = performance.now() + 2
    while (performance.now() < end);
    await slices.giveWay()
  }
  isDone = true
  t.ok(turns >= 1 && turns <= 25, `${turns} turns in 50 pieces of 2 ms`)
})
