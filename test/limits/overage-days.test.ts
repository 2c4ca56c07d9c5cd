import t from 'tap'
import { monthStartOf, nextMonthOf, OverageDays } from '../../src/limits/overage-days.ts'

const dayMs = 86_400_000
const noonMs = Date.UTC(2026, 0, 31, 12)

t.test('each day and each month counts by itself, in UTC', async (t) => {
  const days = new OverageDays()
  for (const atMs of [noonMs, noonMs + dayMs / 2 - 1, noonMs + dayMs / 2]) days.add(atMs)
  t.same(days.days, [
    { startMs: Date.UTC(2026, 0, 31), queries: 2 },
    { startMs: Date.UTC(2026, 1, 1), queries: 1 },
  ])
  t.equal(days.inMonthOf(noonMs + dayMs), 1)
  t.equal(monthStartOf(noonMs), Date.UTC(2026, 0, 1))
  t.equal(nextMonthOf(Date.UTC(2026, 11, 31)), Date.UTC(2027, 0, 1))
})

t.test('days are known for two months, and no longer', async (t) => {
  const days = new OverageDays()
  for (let day = 0; day < 100; day += 1) {
    days.add(noonMs + day * dayMs)
    t.equal(days.days.length, Math.min(day + 1, 62))
  }
  t.equal(days.days[0]?.startMs, Date.UTC(2026, 0, 31) + 38 * dayMs)
})

t.test('what was written down goes on where it was, also where the clock was set back', async (t) => {
  const days = new OverageDays()
  t.equal(days.takeChanges(), null)
  for (const atMs of [noonMs, noonMs + dayMs]) days.add(atMs)
  const counts = days.takeChanges()
  t.equal(days.takeChanges(), null, 'nothing has changed since')
  days.putBack()
  t.same(days.takeChanges(), counts)

  const next = new OverageDays()
  next.restore(counts ?? [], noonMs + dayMs)
  t.same(next.days, days.days)
  t.equal(next.takeChanges(), null)
  const earlier = new OverageDays()
  earlier.restore(counts ?? [], noonMs)
  t.same(earlier.days, [{ startMs: Date.UTC(2026, 0, 31), queries: 2 }])
  const late = new OverageDays()
  late.restore(counts ?? [], noonMs + 62 * dayMs)
  t.same(late.days, [{ startMs: Date.UTC(2026, 1, 1), queries: 1 }])
})
