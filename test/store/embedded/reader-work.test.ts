import t from 'tap'
import { ReaderWork } from '../../../src/store/embedded/reader-work.ts'

t.test('each thread counts as long as its statement runs, and those that run now up to now', async (t) => {
  let nowMs = 1_000
  const work = new ReaderWork(() => nowMs)
  t.equal(work.threadMs, 0)
  const endFirst = work.begin(1)
  nowMs += 10
  const endSecond = work.begin(4)
  nowMs += 10
  t.equal(work.threadMs, 10 + 50)
  endFirst()
  nowMs += 10
  endSecond()
  nowMs += 100
  t.equal(work.threadMs, 10 + 50 + 40)
})
