import t from 'tap'
import type { LimitUse } from '../../src/limits/limit-book.ts'
import type { LimitHit } from '../../src/limits/limit-hits.ts'
import { LimitWatch, type ToldTime } from '../../src/notifications/limit-watch.ts'

const hourMs = 3_600_000
const startMs = Date.UTC(2026, 0, 2)

function watchOf(told: readonly ToldTime[] = [], documentationUrl = ''): LimitWatch {
  return new LimitWatch({ notificationsRepeatHours: 2, documentationUrl }, told)
}

function limitUse(more: Partial<LimitUse>): LimitUse {
  return {
    ...{
      name: 'storage',
      group: 'objects',
      scope: 'service',
      what: 'Bytes on disk',
      unit: 'bytes',
      windowSeconds: null,
    },
    ...{ options: [], max: 1_000, used: 0, resetSeconds: null, refusedCount: 0, standing: null, days: null },
    ...more,
  }
}

function hitOf(more: Partial<LimitHit> = {}): LimitHit {
  return {
    ...{ limit: 'events', code: 'RATE_EXCEEDED', status: 429, atMs: startMs, requestId: 'r1' },
    ...{ tokenId: 't1', tokenName: 'writer', resource: 'visits' },
    ...more,
  }
}

const eventsLimit = limitUse({
  name: 'events',
  group: 'rates',
  unit: null,
  windowSeconds: 1,
  max: 100,
  used: 3,
  resetSeconds: 1,
})

t.test('approached is more than three quarters, exceeded more than all', async (t) => {
  for (const [used, level] of [
    [749, undefined],
    [750, undefined],
    [751, 'warning'],
    [999, 'warning'],
    [1_000, 'warning'],
    [1_001, 'alert'],
  ] as const) {
    const [told] = watchOf().take([limitUse({ used })], startMs)
    t.equal(told?.level, level, `${used}`)
  }
  t.same(watchOf().take([limitUse({ used: 999, max: null }), limitUse({ used: null })], startMs), [])
})

t.test('a limit is told of once in the time of the option, and once in its window where that is longer', async (t) => {
  const watch = watchOf()
  const storage = limitUse({ used: 800 })
  const day = limitUse({ name: 'queries_per_day', group: 'rates', windowSeconds: 86_400, used: 800 })
  const namesAt = (afterMs: number) => watch.take([storage, day], startMs + afterMs).map(({ limit }) => limit)
  t.same(namesAt(0), ['storage', 'queries_per_day'])
  t.same(namesAt(2 * hourMs - 1), [])
  t.same(namesAt(2 * hourMs), ['storage'])
  t.same(namesAt(24 * hourMs - 1), ['storage'])
  t.same(namesAt(24 * hourMs), ['queries_per_day'])
})

t.test('an alert follows a warning, and no warning follows an alert', async (t) => {
  const watch = watchOf()
  const levelAt = (used: number) => watch.take([limitUse({ used })], startMs).map(({ level }) => level)
  t.same([levelAt(800), levelAt(1_001), levelAt(1_001), levelAt(800)], [['warning'], ['alert'], [], []])
  const other = watchOf()
  t.equal(other.take([limitUse({ used: 1_001 })], startMs).length, 1)
  t.equal(other.take([limitUse({ used: 800 })], startMs).length, 0)
})

t.test('a refusal is told of once, and the later ones are no news to anybody', async (t) => {
  const watch = watchOf()
  t.equal(watch.note(hitOf()), true)
  t.equal(watch.note(hitOf({ requestId: 'r2' })), false)
  const [told] = watch.take([eventsLimit], startMs + 5)
  t.match(told, { level: 'alert', limit: 'events', refusal: { requestId: 'r1', tokenName: 'writer' } })
  t.equal(watch.note(hitOf({ atMs: startMs + 2 * hourMs })), false)
  t.equal(watch.note(hitOf({ atMs: startMs + 2 * hourMs + 5 })), true)
  t.equal(watch.take([eventsLimit], startMs + 2 * hourMs + 5).length, 1)
})

t.test('short windows and jobs are told of when they refuse alone, and the size of a request never', async (t) => {
  const uses = [
    limitUse({ name: 'imports', group: 'rates', windowSeconds: 60, max: 5, used: 5 }),
    limitUse({ name: 'delete_jobs', group: 'jobs', max: 1, used: 1 }),
    limitUse({ name: 'form_size', group: 'ingestion', scope: 'request', used: null }),
  ]
  const watch = watchOf()
  t.same(watch.take(uses, startMs), [])
  for (const limit of ['imports', 'delete_jobs', 'form_size'] as const) watch.note(hitOf({ limit }))
  t.same(
    watch.take(uses, startMs).map(({ limit }) => limit),
    ['imports', 'delete_jobs'],
  )
})

t.test('processor time warns above what the plan gives, and alerts as long as the base rate holds', async (t) => {
  const processor = { name: 'processor_time', group: 'rates', unit: 'ms', windowSeconds: 60 } as const
  const levelOf = (more: Partial<LimitUse>) =>
    watchOf().take([limitUse({ ...processor, max: 60_000, ...more })], startMs)[0]
  t.equal(levelOf({ used: 59_000, standing: 'ok' }), undefined)
  const warning = levelOf({ used: 31_000, standing: 'warning' })
  t.equal(warning?.level, 'warning')
  t.match(warning?.text, 'Used: 31 s of 60 s a minute (51%)\n')
  t.match(warning?.text, 'What to do: make queries cheaper, or raise the limit: queries get their base rate')
  const alert = levelOf({ used: 0, standing: 'reached', resetSeconds: 240 })
  t.equal(alert?.level, 'alert')
  t.match(alert?.text, 'More room: from 2026-01-02T00:04:00.000Z on\n')
  t.match(alert?.text, 'Queries have their base rate meanwhile.')
})

t.test('costs are told of once a month above their share, and then by day as long as days bring more', async (t) => {
  const dayMs = 24 * hourMs
  const costs = { name: 'overage_costs', group: 'costs', unit: 'money', max: 5 } as const
  const watch = watchOf()
  const daysFrom = (...days: readonly number[]) =>
    days.map((day) => ({ startMs: startMs + day * dayMs, queries: 100 * (day + 1), cost: day + 1 }))
  const levelAt = (afterMs: number, used: number, ...days: readonly number[]) =>
    watch.take([limitUse({ ...costs, used, days: daysFrom(...days) })], startMs + afterMs).map(({ level }) => level)
  for (const used of [4.99, 5]) t.same(levelAt(0, used, 0), [], `${used}`)
  t.same(levelAt(0, 5.01, 0), ['warning'])
  t.same(levelAt(2 * hourMs - 1, 6, 0), [], 'within the time of the option')
  t.same(levelAt(2 * hourMs, 6, 0), ['alert'], 'the day was not over')
  t.same(levelAt(25 * hourMs, 7, 0), ['alert'], 'nor was it then')
  t.same(levelAt(2 * dayMs, 7, 0), [], 'nothing since')
  t.same(levelAt(3 * dayMs, 9, 0, 3), ['alert'])
  t.same(levelAt(5 * dayMs, 9, 0, 3), ['alert'], 'what that day has brought since')
  const february = Date.UTC(2026, 1, 1) - startMs
  t.same(levelAt(february - 1, 9, 0, 3), [])
  t.same(levelAt(february, 5, 30), [], 'a new month')
  t.same(levelAt(february, 6, 30), ['warning'])
  const [told] = watchOf().take([limitUse({ ...costs, used: 6, resetSeconds: 60, days: daysFrom(0, 3) })], startMs)
  t.equal(told?.title, 'Warning: queries over the rate cost 6 this month')
  t.match(told?.text, 'Used: 6 of 5 (120%)\nMore room: from 2026-01-02T00:01:00.000Z on\n')
  t.match(
    told?.text,
    'Queries over the rate, by day (UTC):\n  2026-01-05: 400 queries, 4\n  2026-01-02: 100 queries, 1\n',
  )
  t.match(
    told?.text,
    'What to do: send fewer queries a second, or take a plan with a higher rate. Nothing is refused for it.',
  )
})

t.test('what was told of is known after a restart, also where the clock was set back', async (t) => {
  const watch = watchOf()
  watch.take([limitUse({ used: 800 })], startMs)
  const later = watchOf(watch.told)
  t.same(later.take([limitUse({ used: 800 })], startMs + hourMs), [])
  t.same(later.take([limitUse({ used: 800 })], startMs - 100 * hourMs), [])
  t.equal(later.take([limitUse({ used: 800 })], startMs - 98 * hourMs).length, 1)
})

t.test('the text says which limit, whose, how much, until when, and what to do', async (t) => {
  const watch = watchOf([], 'https://docs.example.com/')
  const tokenName = `a\n${'n'.repeat(200)}`
  watch.note(hitOf({ limit: 'queries_per_day', tokenName, resource: 'top\r\nBcc: b' }))
  const day = { name: 'queries_per_day', group: 'rates', windowSeconds: 86_400, unit: null } as const
  const uses = [
    limitUse({ ...day, what: 'Queries', used: 1_000, resetSeconds: 60 }),
    limitUse({ used: 800, max: 1_024 }),
  ]
  const [alert, warning] = watch.take(uses, startMs)
  t.equal(alert?.title, 'Alert: limit queries_per_day refuses requests')
  t.equal(
    alert?.text,
    `Limit "queries_per_day" of this service is reached, and requests are refused.

What it bounds: Queries
Whose it is: all callers of the service together
Used: 1000 of 1000 a day (100%)
More room: from 2026-01-02T00:01:00.000Z on
Refused at: 2026-01-02T00:00:00.000Z with 429 RATE_EXCEEDED, request r1
Token: a ${'n'.repeat(98)}…
Resource: top  Bcc: b

What to do: send fewer requests, or larger ones; or raise the limit.
More about it: https://docs.example.com/docs/limits.md#queries_per_day
`,
  )
  t.equal(warning?.title, 'Warning: 78% of limit storage is used')
  t.match(warning?.text, 'Used: 800 bytes of 1 KiB (78%)\n')
  t.match(warning?.text, 'What to do: use less, or raise the limit before requests are refused.')
})
