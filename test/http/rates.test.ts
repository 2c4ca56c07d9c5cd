// Every rate of the specification's table, one below, at and above, with its headers: through the routes, by a clock of the test.

import type { InjectOptions, LightMyRequestResponse } from 'fastify'
import t, { type Test } from 'tap'
import { createApp } from '../../src/app.ts'
import { ask, createFakeDeps, limits, token } from '../support/http/fake-deps.ts'
import { multipart } from '../support/http/test-form.ts'
import { type TestClock, testRates } from '../support/limits/test-rates.ts'

const startMs = Date.UTC(2026, 0, 2, 3, 4, 5)
const schema = encodeURIComponent('id UInt32')

type Send = () => Promise<LightMyRequestResponse>

async function open(t: Test, ...flags: readonly string[]) {
  const clock: TestClock = { nowMs: startMs }
  const rates = await testRates(clock, flags)
  const deps = { ...createFakeDeps(), rates }
  const app = createApp(deps, { ...limits, eventsBodyBytesMax: 10_000, formBytesMax: 20_000 })
  t.teardown(() => app.close())
  await deps.dataSources.create({ name: 'e', description: '', schema: 'id UInt32', engine: null, type: 'ndjson' })
  const call = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, more: InjectOptions = {}) =>
    ask(app, { method, url, ...more, headers: { authorization: `Bearer ${token}`, ...more.headers } })
  const ids = Array.from({ length: 100 }, (_, id) => id).values()
  const nextId = () => ids.next().value
  const sends = {
    schema: () => call('POST', `/v0/datasources?name=s${nextId()}&schema=${schema}`),
    file: () => {
      const { payload, type } = multipart([{ name: 'csv', fileName: 'a.csv', content: 'id\n1\n' }])
      const url = `/v0/datasources?name=f${nextId()}&schema=${schema}&format=csv`
      return call('POST', url, { payload, headers: { 'content-type': type } })
    },
    append: () => call('POST', '/v0/datasources?name=e&mode=append&format=ndjson', { payload: '{"id":1}' }),
    replace: () => call('POST', '/v0/datasources?name=e&mode=replace&format=ndjson', { payload: '{"id":1}' }),
    events: () => call('POST', '/v0/events?name=e', { payload: '{"id":1}' }),
    variables: () => call('GET', '/v0/variables'),
    sql: () => call('GET', '/v0/sql?q=SELECT+1'),
  } satisfies Record<string, Send>
  return { clock, deps, call, ...sends }
}

function told({ headers }: LightMyRequestResponse) {
  return [
    headers['x-ratelimit-limit'],
    headers['x-ratelimit-remaining'],
    headers['x-ratelimit-reset'],
    headers['retry-after'],
    headers['ratelimit'],
    headers['ratelimit-policy'],
  ]
}

interface Rate {
  readonly limit: string
  readonly max: number
  readonly windowSeconds: number
  readonly what: string
  readonly status: number
}

const perWindow: Readonly<Record<number, string>> = { 1: 'a second', 60: 'a minute' }

/** All that the first requests, the last one that passes, and the next are told. */
async function reach(
  t: Test,
  { clock, deps }: Awaited<ReturnType<typeof open>>,
  { send, rate: { limit, max, windowSeconds: seconds, what, status } }: { readonly send: Send; readonly rate: Rate },
): Promise<void> {
  const policy = `"${limit}";q=${max};w=${seconds}`
  for (let count = 1; count <= max; count += 1) {
    const answer = await send()
    if (answer.statusCode !== status) t.fail(`${limit}, ${count} of ${max}: ${answer.body}`)
    if (count > 2 && count < max - 2) continue
    const left = String(max - count)
    const threes = count === max ? [undefined, undefined, undefined] : [String(max), left, String(seconds)]
    t.same(
      told(answer),
      [...threes, undefined, `"${limit}";r=${left};t=${seconds}`, policy],
      `${limit}, ${count} of ${max}`,
    )
  }
  deps.hits.length = 0
  const refused = await send()
  t.equal(refused.statusCode, 429, refused.body)
  t.same(told(refused), [String(max), '0', String(seconds), String(seconds), `"${limit}";r=0;t=${seconds}`, policy])
  const again = seconds === 1 ? '1 second' : `${seconds} seconds`
  const text = `${what} are limited to ${max} ${perWindow[seconds]} for the whole service (limit "${limit}"); repeat this request in ${again}`
  t.equal(refused.json().error, text)
  t.match(refused.json().documentation, /#rate_exceeded$/)
  t.match(deps.hits, [{ limit, status: 429, tokenName: 'admin' }])
  t.equal(deps.hits.length, 1)
  clock.nowMs += seconds * 1_000 - 1
  t.equal((await send()).statusCode, 429, 'one millisecond before the window has moved on')
  clock.nowMs += 1
  t.equal((await send()).statusCode, status, 'and when it has')
}

const inAMinute = { windowSeconds: 60, status: 200 } as const
const inASecond = { windowSeconds: 1, status: 200 } as const
const imports = {
  ...inAMinute,
  limit: 'imports',
  max: 5,
  what: 'Creations from files and URLs, appends and replaces, counted together,',
}

t.test('a plan has the rates of the table, by the minute and by the second', async (t) => {
  const opened = await open(t, '--plan', 'developer')
  const what = 'Creations of Data Sources from a schema'
  await reach(t, opened, { send: opened.schema, rate: { ...inAMinute, limit: 'creates_from_schema', max: 25, what } })
  for (const send of [opened.append, opened.replace, opened.file]) {
    opened.clock.nowMs += 60_000
    await reach(t, opened, { send, rate: imports })
  }
  const events = { ...inASecond, status: 202, limit: 'events', what: 'Requests with events' }
  await reach(t, opened, { send: opened.events, rate: { ...events, max: 100 } })
  const variables = { ...inASecond, limit: 'secret_requests', max: 5, what: 'Requests about variables' }
  await reach(t, opened, { send: opened.variables, rate: variables })
  const older = await open(t, '--plan=developer', '--plan-variant=b')
  await reach(t, older, { send: older.events, rate: { ...events, max: 1_000 } })
})

t.test(
  'creations from files, appends and replaces share one quota, which a schema alone and a dry run do not touch',
  async (t) => {
    const { append, replace, file, schema: create, call } = await open(t, '--plan=saas')
    const statuses: number[] = []
    for (const send of [append, file, replace, append, file, replace, append, file])
      statuses.push((await send()).statusCode)
    t.same(statuses, [200, 200, 200, 200, 200, 429, 429, 429])
    t.equal((await create()).statusCode, 200)
    const dry = await call('POST', '/v0/datasources?name=e&mode=append&format=ndjson&dry=true', { payload: '{"id":1}' })
    t.equal(dry.statusCode, 200, dry.body)
    t.equal(dry.headers['ratelimit'], undefined)
  },
)

t.test(
  'what is refused for its token, its parameters or by the rate is not counted, what fails later is',
  async (t) => {
    const { append, call, clock } = await open(t, '--imports-per-minute-max=2')
    const refused = await call('POST', '/v0/datasources?name=e&mode=append', {
      payload: 'x',
      headers: { authorization: 'Bearer p.no' },
    })
    t.equal(refused.statusCode, 403)
    t.equal((await call('POST', '/v0/datasources?name=e&mode=nonsense', { payload: 'x' })).statusCode, 400)
    t.equal(
      (await call('POST', '/v0/datasources?name=none&mode=replace&format=csv', { payload: '' })).statusCode >= 400,
      true,
    )
    t.equal((await append()).statusCode, 200)
    for (let count = 0; count < 10; count += 1) t.equal((await append()).statusCode, 429)
    clock.nowMs += 60_000
    t.equal((await append()).statusCode, 200)
  },
)

t.test(
  'queries may come at twice the rate of plan free within a second, and at the rate on the average of a minute',
  async (t) => {
    const { sql, call, clock } = await open(t, '--plan=free', '--queries-per-day-max=0')
    const endpoint = () => call('GET', '/v0/pipes/none.json')
    const policy = '"queries_per_second";q=20;w=1, "queries_per_minute";q=600;w=60'
    for (let count = 1; count <= 20; count += 1) {
      const answer = await (count % 2 === 0 ? sql : endpoint)()
      t.equal(answer.statusCode, count % 2 === 0 ? 200 : 404)
      t.equal(answer.headers['x-ratelimit-remaining'], count === 20 ? undefined : String(20 - count))
      t.equal(answer.headers['ratelimit-policy'], policy)
    }
    const refused = await sql()
    t.equal(refused.statusCode, 429)
    t.match(
      refused.json().error,
      'Queries are limited to 20 a second for the whole service (limit "queries_per_second"); repeat',
    )
    t.same(told(refused), ['20', '0', '1', '1', '"queries_per_second";r=0;t=1', '"queries_per_second";q=20;w=1'])
    t.equal((await endpoint()).statusCode, 429)
    // Twice the rate as long as the minute has room.
    for (let second = 1; second < 30; second += 1) {
      clock.nowMs += 1_000
      for (let count = 0; count < 20; count += 1)
        if ((await sql()).statusCode !== 200) t.fail(`${count} of second ${second}`)
    }
    clock.nowMs += 1_000
    const slow = await sql()
    t.equal(slow.statusCode, 429)
    t.same(told(slow), ['600', '0', '30', '30', '"queries_per_minute";r=0;t=30', '"queries_per_minute";q=600;w=60'])
    clock.nowMs += 30_000
    t.equal((await sql()).statusCode, 200)
  },
)

t.test('where overage is billed, queries up to four times the rate pass and are counted', async (t) => {
  for (const [flags, ceiling, seconds] of [
    [['--plan=developer', '--queries-per-second-max=1'], 4, 62],
    [['--plan=enterprise', '--queries-per-second-max=1'], 4, 2],
    [['--queries-per-second-max=1', '--queries-overage=count', '--queries-burst-factor=5'], 5, 2],
  ] as const) {
    const { sql, clock, deps } = await open(t, ...flags)
    for (let second = 0; second < seconds; second += 1) {
      for (let count = 0; count < ceiling; count += 1)
        if ((await sql()).statusCode !== 200) t.fail(`${count} of ${second}`)
      if (second === 0) t.equal((await sql()).statusCode, 429, 'over the ceiling')
      clock.nowMs += 1_000
    }
    t.equal(deps.rates.queries?.overageCount, seconds * (ceiling - 1))
  }
  const free = await open(
    t,
    '--plan=free',
    '--queries-overage=refuse',
    '--queries-per-second-max=1',
    '--queries-per-day-max=0',
  )
  for (let count = 0; count < 60; count += 1) {
    if ((await free.sql()).statusCode !== 200) t.fail(`${count} of a minute`)
    free.clock.nowMs += 500
  }
  t.equal((await free.sql()).statusCode, 429)
})

t.test('a query counts once its token is right, whatever is wrong with it', async (t) => {
  const { call, sql } = await open(t, '--queries-per-second-max=2', '--queries-burst-factor=1')
  const wrong: readonly (readonly [url: string, payload: string | undefined, status: number])[] = [
    ['/v0/sql', undefined, 400],
    ['/v0/sql', 'q=SELECT&q', 400],
    ['/v0/pipes/none.json', undefined, 404],
  ]
  for (const [url, payload, status] of wrong) {
    const one = await open(t, '--queries-per-second-max=2', '--queries-burst-factor=1')
    const answer = await one.call(payload === undefined ? 'GET' : 'POST', url, payload === undefined ? {} : { payload })
    t.equal(answer.statusCode, status, `${url}: ${answer.body}`)
    t.same([(await one.sql()).statusCode, (await one.sql()).statusCode], [200, 429], url)
  }
  const headers = { authorization: 'Bearer p.no' }
  for (let count = 0; count < 5; count += 1)
    t.equal((await call('GET', '/v0/sql?q=SELECT+1', { headers })).statusCode, 403)
  t.same([(await sql()).statusCode, (await sql()).statusCode, (await sql()).statusCode], [200, 200, 429])
})

t.test('events and variables count once their parameters or their body could be read', async (t) => {
  const { call, events, variables } = await open(
    t,
    '--events-per-second-max=1',
    '--variables-requests-per-second-max=1',
  )
  for (const query of ['', '?name=e&format=nonsense', '?name=e&wait=nonsense']) {
    t.equal((await call('POST', `/v0/events${query}`, { payload: '{}' })).statusCode, 400, query)
  }
  t.equal(
    (await call('POST', '/v0/events?name=e', { payload: '{"id":1}', headers: { 'content-encoding': 'x' } })).statusCode,
    415,
  )
  t.equal((await events()).statusCode, 429, 'the body was wrong, and not the parameters')
  const cut = { payload: '{"name":', headers: { 'content-type': 'application/json' } }
  t.equal((await call('POST', '/v0/variables', cut)).statusCode, 400)
  t.equal((await call('POST', '/v0/variables?name=')).statusCode, 400)
  t.equal((await variables()).statusCode, 429, 'its name was wrong, and its body not')
})

t.test(
  'once the processor time of a minute is used up, queries have their base rate for five minutes, with its headers',
  async (t) => {
    const { sql, clock, deps } = await open(t, '--plan=free', '--queries-per-day-max=0')
    const look = (usedMs: number) => {
      clock.usedMs = (clock.usedMs ?? 0) + usedMs
      deps.rates.queries?.processorTime?.look()
    }
    const rest = '"queries_per_second";q=20;w=1, "queries_per_minute";q=600;w=60'
    look(59_999)
    for (let count = 1; count <= 20; count += 1) t.equal((await sql()).headers['ratelimit-policy'], rest)
    clock.nowMs += 1_000
    look(1)
    const policy = `"processor_time";q=10;w=1, ${rest}`
    for (let count = 1; count <= 10; count += 1) {
      const answer = await sql()
      t.equal(answer.statusCode, 200)
      const left = String(10 - count)
      const threes = count === 10 ? [undefined, undefined, undefined] : ['10', left, '1']
      t.same(told(answer), [...threes, undefined, `"processor_time";r=${left};t=1`, policy], `${count} of 10`)
    }
    deps.hits.length = 0
    const refused = await sql()
    t.equal(refused.statusCode, 429)
    t.same(told(refused), ['10', '0', '1', '1', '"processor_time";r=0;t=1', '"processor_time";q=10;w=1'])
    t.match(refused.json(), {
      error:
        'Queries have used 60 s of processor time in a minute, all that the whole service may (limit "processor_time"); they are limited to 10 a second for 300 seconds, repeat this request in 1 second',
      documentation: /#processor_time_exceeded$/,
    })
    t.match(deps.hits, [{ limit: 'processor_time', status: 429, tokenName: 'admin' }])
    clock.nowMs += 999
    t.equal((await sql()).statusCode, 429)
    clock.nowMs += 1
    t.equal((await sql()).statusCode, 200)
    clock.nowMs += 299_000
    t.equal((await sql()).headers['ratelimit-policy'], rest, 'five minutes later')
  },
)

t.test(
  'without a rate of queries, those of a minute without processor time are refused, and have no headers before',
  async (t) => {
    const { sql, clock, deps } = await open(t, '--processor-percent-max=100', '--processor-burst-factor=1')
    t.same(told(await sql()), [undefined, undefined, undefined, undefined, undefined, undefined])
    clock.usedMs = 60_000
    deps.rates.queries?.processorTime?.look()
    const refused = await sql()
    t.equal(refused.statusCode, 429)
    t.same(told(refused), ['0', '0', '60', '60', '"processor_time";r=0;t=60', '"processor_time";q=0;w=1'])
    clock.nowMs += 59_999
    t.equal((await sql()).statusCode, 429)
    clock.nowMs += 1
    t.equal((await sql()).statusCode, 200)
  },
)

t.test('plan free has a thousand queries in 24 hours', async (t) => {
  const { sql, clock } = await open(t, '--plan=free')
  const day = 24 * 3_600
  for (let count = 1; count <= 1_000; count += 1) {
    const answer = await sql()
    if (answer.statusCode !== 200) t.fail(`${count}: ${answer.body}`)
    if (count === 999) t.same(told(answer).slice(0, 2), ['1000', '1'], 'the limit of which least is left')
    if (count === 1_000) t.same(told(answer).slice(0, 3), [undefined, undefined, undefined])
    clock.nowMs += 120
  }
  const refused = await sql()
  t.equal(refused.statusCode, 429)
  t.match(
    refused.json().error,
    /^Queries are limited to 1000 a day for the whole service \(limit "queries_per_day"\); repeat/,
  )
  const waitSeconds = Number(refused.headers['retry-after'])
  t.ok(waitSeconds > day - 120 && waitSeconds <= day + 60, `${waitSeconds} seconds`)
  clock.nowMs += (waitSeconds - 1) * 1_000
  t.equal((await sql()).statusCode, 429)
  clock.nowMs += 1_000
  t.equal((await sql()).statusCode, 200)
})

t.test('the default plan counts nothing and sends no header, and an empty body of events is none', async (t) => {
  const free = await open(t)
  t.match(free.deps.rates, {
    createsFromSchema: null,
    imports: null,
    events: null,
    secretRequests: null,
    queries: null,
  })
  for (const send of [free.schema, free.file, free.append, free.replace, free.events, free.variables, free.sql]) {
    const answer = await send()
    t.ok(answer.statusCode < 300, answer.body)
    t.same(told(answer), [undefined, undefined, undefined, undefined, undefined, undefined])
  }
  const limited = await open(t, '--events-per-second-max=1')
  for (let count = 0; count < 5; count += 1) {
    t.equal((await limited.call('POST', '/v0/events?name=e')).statusCode, 200)
    t.equal((await limited.call('POST', '/v0/events', { payload: '{}' })).statusCode, 400)
  }
  t.equal((await limited.events()).statusCode, 202)
  t.equal((await limited.events()).statusCode, 429)
})

t.test('an option goes before its plan, and 0 takes the limit away', async (t) => {
  const { append, events } = await open(t, '--plan=free', '--imports-per-minute-max=1', '--events-per-second-max=0')
  t.same([(await append()).statusCode, (await append()).statusCode], [200, 429])
  for (let count = 0; count < 101; count += 1) t.equal((await events()).statusCode, 202)
})

t.test('browsers may read the headers', async (t) => {
  const { events } = await open(t, '--plan=free')
  const names = (await events()).headers['access-control-expose-headers']
  for (const name of [
    'x-ratelimit-limit',
    'x-ratelimit-remaining',
    'x-ratelimit-reset',
    'retry-after',
    'ratelimit',
    'ratelimit-policy',
  ]) {
    t.ok(String(names).split(', ').includes(name), name)
  }
})
