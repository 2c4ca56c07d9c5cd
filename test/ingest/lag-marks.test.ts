import t from 'tap'
import { LagMarks } from '../../src/ingest/events/lag-marks.ts'
import { toSequence } from '../../src/wal/sequence.ts'

t.test('a block has waited as long as its oldest event', async (t) => {
  const marks = new LagMarks()
  for (const [sequence, atMs] of [
    [1, 100],
    [2, 102],
    [3, 110],
    [4, 120],
  ] as const) {
    marks.note(toSequence(sequence), atMs)
  }
  t.equal(marks.take(toSequence(2)), 100)
  t.equal(marks.take(toSequence(2)), null, 'it is stored once')
  t.equal(marks.take(toSequence(9)), 110)
  marks.note(toSequence(10), 200)
  t.equal(marks.take(toSequence(9)), null, 'what was acknowledged later is not stored yet')
  t.equal(marks.take(toSequence(10)), 200)
})

t.test('what waits for long is kept in few marks, and never told as younger than it is', async (t) => {
  const marks = new LagMarks()
  for (let sequence = 1; sequence <= 1_200; sequence += 1) marks.note(toSequence(sequence), sequence * 10)
  t.equal(marks.take(toSequence(999)), 10)
  t.equal(marks.take(toSequence(1_000)), 10_000)
  t.equal(marks.take(toSequence(1_200)), null, 'those behind the last mark had none of their own')
})
