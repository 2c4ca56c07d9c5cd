import type { LightMyRequestResponse } from 'fastify'
import t, { type Test } from 'tap'
import { createApp } from '../../src/app.ts'
import { LimitBook } from '../../src/limits/limit-book.ts'
import { LimitHits } from '../../src/limits/limit-hits.ts'
import { limitNames } from '../../src/shared/limit-names.ts'
import { ask, createFakeDeps, limits, token } from '../support/http/fake-deps.ts'
import { optionsOf, type TestClock, testRates } from '../support/limits/test-rates.ts'

interface Shown {
  readonly plan: string
  readonly plan_variant: string
  readonly queries_over_rate: number | null
  readonly limits: readonly { readonly name: string; readonly status: string; readonly used: number | null }[]
}

async function open(t: Test, ...flags: readonly string[]) {
  const clock: TestClock = { nowMs: Date.UTC(2026, 0, 2, 3, 4, 5) }
  const hits = new LimitHits({ error: () => t.fail('nobody who listens fails') })
  const rates = await testRates(clock, flags)
  const limitBook = new LimitBook(optionsOf(...flags), { rates, hits, now: () => clock.nowMs })
  const deps = { ...createFakeDeps(), rates, limitBook, limitHits: hits }
  const app = createApp(deps, limits)
  t.teardown(() => app.close())
  const headers = { authorization: `Bearer ${token}` }
  const call = (method: 'GET' | 'POST', url: string, payload?: string): Promise<LightMyRequestResponse> =>
    ask(app, { method, url, headers, ...(payload === undefined ? {} : { payload }) })
  const show = async (): Promise<Shown> => (await call('GET', '/v0/limits')).json()
  const limit = async (name: string) => (await show()).limits.find((one) => one.name === name)
  return { clock, call, show, limit, rates }
}

t.test('each limit that a caller can meet is shown once, but for those that no plan sets', async (t) => {
  const { show } = await open(t)
  const inside = [
    'pipes',
    'queries_waiting',
    'results_unread',
    'events_backlog',
    'bodies_in_flight',
    'endpoint_concurrency',
    ...['requests_ahead', 'changes_waiting', 'receipt_waits', 'job_watches', 'job_watches_per_token'],
    ...['events_rows', 'insert_cost', 'definition_cost', 'verify_time', 'job_order_size'],
  ]
  const shown = (await show()).limits.map(({ name }) => name)
  t.same(shown.toSorted(), limitNames.filter((name) => !inside.includes(name)).toSorted())
})

t.test('a rate is shown with what is used of it, what is left, and when there is more', async (t) => {
  const { call, limit, show, clock } = await open(t, '--plan=free')
  t.match(await show(), { plan: 'free', plan_variant: 'a', queries_over_rate: 0 })
  const untouched = { max: 1_000, used: 0, remaining: 1_000, window_seconds: 86_400, reset_seconds: 0, status: 'ok' }
  t.match(await limit('queries_per_day'), { ...untouched, refused: 0, options: ['queriesPerDayMax'] })
  for (let count = 0; count < 16; count += 1) await call('GET', '/v0/sql?q=SELECT+1')
  const second = { max: 20, window_seconds: 1, scope: 'service', group: 'rates' }
  t.match(await limit('queries_per_second'), { ...second, used: 16, remaining: 4, reset_seconds: 1, status: 'warning' })
  for (let count = 0; count < 7; count += 1) await call('GET', '/v0/sql?q=SELECT+1')
  t.match(await limit('queries_per_second'), { ...second, used: 20, remaining: 0, refused: 3, status: 'reached' })
  t.match(await limit('queries_per_minute'), { max: 600, used: 20, refused: 0 })
  clock.nowMs += 1_000
  t.match(await limit('queries_per_second'), { used: 0, reset_seconds: 0, refused: 3, status: 'ok' })
  t.match(await limit('queries_per_day'), { used: 20, remaining: 980, status: 'ok' })
})

t.test(
  'processor time is told as what was used of a minute, and as reached as long as the base rate holds',
  async (t) => {
    const { clock, limit, rates } = await open(t, '--plan=free')
    const row = { unit: 'ms', window_seconds: 60, max: 60_000, scope: 'service' }
    for (const [usedMs, status, reset] of [
      [30_000, 'ok', 60],
      [30_001, 'warning', 60],
      [59_999, 'warning', 60],
      [60_000, 'reached', 300],
    ] as const) {
      clock.usedMs = usedMs
      rates.queries?.processorTime?.look()
      const remaining = 60_000 - usedMs
      t.match(await limit('processor_time'), { ...row, used: usedMs, remaining, status, reset_seconds: reset })
    }
    clock.nowMs += 299_999
    t.match(await limit('processor_time'), { ...row, used: 0, remaining: 60_000, status: 'reached', reset_seconds: 1 })
    clock.nowMs += 1
    t.match(await limit('processor_time'), { ...row, used: 0, status: 'ok', reset_seconds: 0 })
  },
)

t.test('objects are counted, sizes are only limited, and what is not there is told as that', async (t) => {
  const { call, limit } = await open(t, '--plan=developer', '--data-sources-max=4')
  for (const [count, status] of [
    [3, 'ok'],
    [4, 'reached'],
  ] as const) {
    while (((await limit('data_sources'))?.used ?? 0) < count) {
      const name = `s${(await limit('data_sources'))?.used}`
      const created = await call('POST', `/v0/datasources?name=${name}&schema=id+UInt32`)
      t.equal(created.statusCode, 200, created.body)
    }
    t.match(await limit('data_sources'), { max: 4, used: count, remaining: 4 - count, status, reset_seconds: null })
  }
  t.match(await limit('storage'), { max: null, used: 4 * 150, status: 'unlimited', unit: 'bytes' })
  t.match(await limit('secrets'), { max: 100, used: 0, status: 'ok' })
  t.match(await limit('multipart_size'), { max: 500 * 1024 ** 2, used: null, remaining: null, status: 'limited' })
  t.match(await limit('query_time'), { max: 20_000, unit: 'ms', scope: 'request' })
  t.match(await limit('copy_pipes'), { max: null, used: null, status: 'no_object_yet' })
  t.match(await limit('token_requests'), { scope: 'token', max: null })
})

t.test('the default plan shows its limits too, and overage where it is counted', async (t) => {
  const { call, limit, show } = await open(t)
  t.match(await show(), { plan: 'unlimited', queries_over_rate: null, overage: null })
  t.match(await limit('imports'), { max: null, used: null, status: 'unlimited', window_seconds: 60 })
  t.match(await limit('creates_by_events'), { max: 5, used: 0 })
  const pressure = { limit: Number, is_over: false }
  t.match((await call('GET', '/v0/limits')).json().cluster_control, {
    memory: { used_bytes: Number, capacity_bytes: Number, ...pressure },
    processor: { load: Number, core_count: Number, ...pressure },
    refused: 0,
    limited: [],
  })
  const billed = await open(t, '--plan=saas', '--queries-per-second-max=2')
  for (let count = 0; count < 5; count += 1) await billed.call('GET', '/v0/sql?q=SELECT+1')
  t.match(await billed.show(), {
    queries_over_rate: 3,
    overage: {
      month: { from: '2026-01-01', queries: 3, cost: null },
      days: [{ from: '2026-01-02', queries: 3, cost: null }],
    },
  })
  t.match(await billed.limit('overage_costs'), { max: null, status: 'unlimited' })
  t.match(await billed.limit('queries_per_second'), { max: 8, used: 5 })
  t.match(await billed.limit('queries_per_minute'), { max: null })
})

t.test('overage is told by day and month, and what it costs where prices are known', async (t) => {
  const prices = ['--overage-price-micros=500000', '--base-fee-micros=10000000', '--overage-cost-percent-max=20']
  const { clock, call, show, limit } = await open(t, '--plan=developer', '--queries-per-second-max=1', ...prices)
  const twoQueries = async () => {
    clock.nowMs += 1_000
    for (let count = 0; count < 2; count += 1) t.equal((await call('GET', '/v0/sql?q=SELECT+1')).statusCode, 200)
  }
  const row = { unit: 'money', max: 2, group: 'costs' }
  const secondsLeft = (Date.UTC(2026, 1, 1) - clock.nowMs) / 1_000
  t.match(await limit('overage_costs'), { ...row, used: 0, status: 'ok', reset_seconds: secondsLeft })
  for (const [used, status] of [
    [0.5, 'ok'],
    [1, 'ok'],
    [1.5, 'ok'],
    [2, 'reached'],
    [2.5, 'reached'],
  ] as const) {
    await twoQueries()
    t.match(await limit('overage_costs'), { ...row, used, remaining: Math.max(0, 2 - used), status, refused: 0 })
  }
  clock.nowMs = Date.UTC(2026, 1, 1)
  await twoQueries()
  t.match(await limit('overage_costs'), { ...row, used: 0.5 })
  t.match(await show(), {
    overage: {
      month: { from: '2026-02-01', queries: 1, cost: 0.5 },
      days: [
        { from: '2026-01-02', queries: 5, cost: 2.5 },
        { from: '2026-02-01', queries: 1, cost: 0.5 },
      ],
    },
  })
})
