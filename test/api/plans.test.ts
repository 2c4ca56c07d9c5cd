// Plans over the whole service: what is kept over a restart, and limits that only it has.

import t, { type Test } from 'tap'
import type { Options } from '../../src/config.ts'
import { openTestService, type TestService } from '../support/api/test-service.ts'
import { createTestDirectory } from '../support/store/test-store.ts'

interface Limit {
  readonly name: string
  readonly used: number | null
  readonly max: number | null
  readonly refused: number
}

interface Shown {
  readonly queries_over_rate: number
  readonly overage: {
    readonly month: { readonly queries: number; readonly cost: number }
    readonly days: readonly object[]
  }
}

async function limitOf(service: TestService, name: string, token?: string): Promise<Limit | undefined> {
  const { json } = await service.call('GET', '/v0/limits', token === undefined ? {} : { token })
  // Other tests check the shape.
  return (json as { readonly limits: readonly Limit[] }).limits.find((limit) => limit.name === name)
}

async function openOn(t: Test, dataDir: string, given: Partial<Options>): Promise<TestService> {
  return await openTestService(t, { dataDir, ...given })
}

t.test('a restart goes on with the queries of the day, and the minute begins anew', async (t) => {
  const directory = await createTestDirectory()
  const given = { plan: 'free', queriesPerDayMax: 3, importsPerMinuteMax: 1 } as const
  const first = await openOn(t, directory.path, given)
  await first.create('visits', 'id UInt32')
  const append = (service: TestService) => service.append('visits', 'ndjson', '{"id":1}')
  t.equal((await append(first)).status, 200)
  t.equal((await append(first)).status, 429)
  for (let count = 0; count < 2; count += 1) t.equal((await first.call('GET', '/v0/sql?q=SELECT+1')).status, 200)
  await first.close()

  const second = await openOn(t, directory.path, given)
  t.match(await limitOf(second, 'queries_per_day'), { used: 2, max: 3 })
  t.equal((await append(second)).status, 200)
  t.equal((await second.call('GET', '/v0/sql?q=SELECT+1')).status, 200)
  const refused = await second.call('GET', '/v0/sql?q=SELECT+1')
  t.equal(refused.status, 429)
  t.match(refused.text, /limited to 3 a day for the whole service/)
  t.match(await limitOf(second, 'queries_per_day'), { used: 3, refused: 1 })
  await second.close()

  const other = await openOn(t, directory.path, {})
  t.match(await limitOf(other, 'queries_per_day'), { used: null, max: null })
  for (let count = 0; count < 5; count += 1) t.equal((await other.call('GET', '/v0/sql?q=SELECT+1')).status, 200)
  await other.close()
  await directory.remove()
})

t.test('queries use processor time, and once that of a minute is used up they have their base rate', async (t) => {
  const service = await openTestService(t, {
    processorPercentMax: 1,
    processorBurstFactor: 1,
    queriesPerSecondMax: 1_000,
  })
  t.match(await limitOf(service, 'processor_time'), { used: 0, max: 600, refused: 0 })
  const heavy = encodeURIComponent('SELECT sum(cityHash64(number, number + 1, number + 2)) FROM numbers(20000000)')
  let limit = await limitOf(service, 'processor_time')
  while ((limit?.used ?? 0) < 600) {
    t.ok((await service.call('GET', `/v0/sql?q=${heavy}`)).status < 500)
    limit = await limitOf(service, 'processor_time')
  }
  t.match(limit, { status: 'reached' })
  // The base rate is that of a second, and no client is as fast.
  const answer = await service.call('GET', '/v0/sql?q=SELECT+1')
  t.equal(answer.status, 200, answer.text)
  t.match(answer.headers.get('ratelimit-policy'), /^"processor_time";q=1000;w=1, /)
})

t.test('without a rate of queries, one that uses the processor time of a minute is the last one of it', async (t) => {
  const service = await openTestService(t, { processorPercentMax: 1, processorBurstFactor: 1 })
  const heavy = encodeURIComponent('SELECT sum(cityHash64(number, number + 1, number + 2)) FROM numbers(20000000)')
  let answer = await service.call('GET', `/v0/sql?q=${heavy}`)
  while (answer.status === 200) answer = await service.call('GET', `/v0/sql?q=${heavy}`)
  t.equal(answer.status, 429, answer.text)
  t.equal(answer.headers.get('x-ratelimit-limit'), '0')
  const retryAfter = Number(answer.headers.get('retry-after'))
  t.ok(retryAfter >= 1 && retryAfter <= 60, `${retryAfter}`)
  t.match(await limitOf(service, 'processor_time'), { refused: 1 })
  t.equal((await service.create('rows', 'id UInt32')).status, 200, 'nothing but queries is limited')
  t.equal((await service.append('rows', 'ndjson', '{"id":1}')).status, 200)
})

t.test('a restart goes on with the overage of the day', async (t) => {
  const directory = await createTestDirectory()
  const given = {
    plan: 'developer',
    queriesPerSecondMax: 1,
    queriesBurstFactor: 100,
    overagePriceMicros: 10_000,
  } as const
  const first = await openOn(t, directory.path, given)
  // However slow the machine is, two of so many at once are within one second.
  const queries = (service: TestService) =>
    Promise.all(Array.from({ length: 20 }, () => service.call('GET', '/v0/sql?q=SELECT+1')))
  const overage = async (service: TestService) => {
    const { json } = await service.call('GET', '/v0/limits')
    // Other tests check the shape.
    const { queries_over_rate: count, overage } = json as Shown
    return { count, month: overage.month.queries, cost: overage.month.cost, days: overage.days.length }
  }
  await queries(first)
  const told = await overage(first)
  t.ok(told.count > 0, `${told.count}`)
  t.match(told, { month: told.count, cost: told.count / 100, days: 1 })
  await first.close()

  const second = await openOn(t, directory.path, given)
  t.match(await overage(second), { count: 0, month: told.count, cost: told.count / 100 })
  await queries(second)
  const later = await overage(second)
  t.equal(later.month, told.count + later.count)
  await second.close()
  await directory.remove()
})

t.test('a workspace has as many data sources and events make as many as the limits say, and both tell', async (t) => {
  const service = await openTestService(t, { dataSourcesMax: 3, eventsCreatesPerMinuteMax: 2 })
  for (const [name, status] of [
    ['a', 202],
    ['b', 202],
    ['c', 429],
  ] as const) {
    const answer = await service.events(name, '{"id":1}')
    t.equal(answer.status, status, answer.text)
    if (status !== 429) continue
    t.equal(answer.headers.get('x-ratelimit-limit'), '2')
    t.equal(answer.headers.get('x-ratelimit-remaining'), '0')
    t.ok(Number(answer.headers.get('x-ratelimit-reset')) >= 1)
    t.equal(answer.headers.get('retry-after'), answer.headers.get('x-ratelimit-reset'))
    t.equal(answer.headers.get('ratelimit-policy'), '"creates_by_events";q=2;w=60')
  }
  t.match(await limitOf(service, 'creates_by_events'), { used: 2, max: 2, refused: 1 })
  t.equal((await service.create('d', 'id UInt32')).status, 200)
  t.match(await limitOf(service, 'data_sources'), { used: 3, max: 3, refused: 0 })
  t.equal((await service.create('e', 'id UInt32')).status, 400)
  t.match(await limitOf(service, 'data_sources'), { used: 3, refused: 1 })
})

t.test('a JWT that has a rate is refused with the same headers, and its use is told as that of a token', async (t) => {
  const adminToken = 'p.plans.0123456789abcdef0123456789abcdef'
  const service = await openTestService(t, { adminToken })
  const admin = (method: string, path: string, body?: string) =>
    service.call(method, path, { token: adminToken, ...(body === undefined ? {} : { body }) })
  const expiry = Math.floor(Date.now() / 1_000) + 3_600
  const body = JSON.stringify({
    name: 'tenant',
    scopes: [{ type: 'PIPES:READ', resource: 'top' }],
    limits: { rps: 2 },
  })
  await admin('POST', '/v0/pipes?name=top&sql=SELECT+1+AS+a')
  const node = await admin('GET', '/v0/pipes/top')
  const [{ id }] = (node.json as { readonly nodes: readonly [{ readonly id: string }] }).nodes
  await admin('PUT', '/v0/pipes/top/endpoint', id)
  const made = await admin('POST', `/v0/tokens?expiration_time=${expiry}`, body)
  const { token } = made.json as { readonly token: string }
  // Two pass in each second, whenever it begins: of so many at once, most are refused.
  const answers = await Promise.all(
    Array.from({ length: 40 }, () => service.call('GET', '/v0/pipes/top.json', { token })),
  )
  const refused = answers.filter(({ status }) => status === 429)
  t.ok(refused.length > 0, `${refused.length} of 40`)
  const [one] = refused
  t.equal(one?.headers.get('x-ratelimit-limit'), '2')
  t.equal(one?.headers.get('x-ratelimit-remaining'), '0')
  t.equal(one?.headers.get('x-ratelimit-reset'), '1')
  t.equal(one?.headers.get('retry-after'), '1')
  t.equal(one?.headers.get('ratelimit'), '"token_requests";r=0;t=1')
  t.match(one?.text, /Requests are limited to 2 a second for this token/)
  t.match(await limitOf(service, 'token_requests', adminToken), { refused: refused.length, used: null })
})
