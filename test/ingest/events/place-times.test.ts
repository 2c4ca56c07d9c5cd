import t from 'tap'
import { PlaceTimes } from '../../../src/ingest/events/place-times.ts'
import { toSequence } from '../../../src/wal/sequence.ts'

t.test('each place has the time of what was noted before it', (t) => {
  const times = new PlaceTimes()
  t.same([times.acknowledgedAtMs, times.queryableAtMs, times.timeOf(toSequence(9))], [null, null, null])
  times.note(toSequence(10), 1_000)
  // So soon behind it that the mark is the same.
  times.note(toSequence(11), 1_004)
  times.note(toSequence(12), 1_005)
  t.same(
    [9, 10, 11, 12, 13].map((place) => times.timeOf(toSequence(place))),
    [null, 1_000, 1_000, 1_005, 1_005],
  )
  t.equal(times.acknowledgedAtMs, 1_005)
  times.noteQueryable(toSequence(11), false)
  t.equal(times.queryableAtMs, 1_000)
  t.equal(times.timeOf(toSequence(12)), 1_005)
  times.noteQueryable(toSequence(12), true)
  t.equal(times.queryableAtMs, 1_005)
  times.note(toSequence(20), 1_006)
  t.equal(times.timeOf(toSequence(20)), 1_006, 'nothing of what is stored stands for what comes')
  t.equal(times.queryableAtMs, 1_005)
  t.end()
})

t.test('what an earlier process left is as old as its first event', (t) => {
  const times = new PlaceTimes()
  times.recover(toSequence(5), { first: 500, last: 900 })
  t.same([times.acknowledgedAtMs, times.timeOf(toSequence(7))], [900, 500])
  t.end()
})

t.test('a long backlog is told to a sixty-fourth of its time', (t) => {
  const times = new PlaceTimes()
  for (let count = 1; count <= 100_000; count += 1) times.note(toSequence(count), count * 50)
  for (const place of [1, 777, 50_000, 99_999]) {
    const ageMs = place * 50 - (times.timeOf(toSequence(place)) ?? 0)
    t.ok(ageMs >= 0 && ageMs <= (100_000 * 50) / 64, `place ${place} is told ${ageMs} ms too old`)
  }
  t.end()
})
