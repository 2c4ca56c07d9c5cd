import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { freePort } from '../support/free-port.ts'
import { KillService, killToken } from '../support/kill/kill-service.ts'
import { findEnginePid, untilEngine, untilGone } from '../support/store/engine-pid.ts'
import { createTestDirectory } from '../support/store/test-store.ts'
import { byTier } from '../support/tier.ts'

const headers = { authorization: `Bearer ${killToken}` }

async function startService(t: Test, environment: NodeJS.ProcessEnv = {}): Promise<KillService> {
  const directory = await createTestDirectory()
  const service = new KillService(directory.path, await freePort(), environment)
  t.teardown(async () => {
    await service.end('SIGKILL')
    await directory.remove()
  })
  await service.start()
  return service
}

async function createTable(service: KillService, name: string): Promise<void> {
  await service.call('POST', `/v0/datasources?${new URLSearchParams({ name, schema: 'a Int64 `json:$.a`' })}`)
}

async function query(service: KillService, sql: string): Promise<Response> {
  return await fetch(`${service.address}/v0/sql?${new URLSearchParams({ q: `${sql} FORMAT TSV` })}`, { headers })
}

/** Repeats a query that is told to be repeated. */
async function answerOf(service: KillService, sql: string): Promise<string> {
  for (;;) {
    const answer = await query(service, sql)
    const text = await answer.text()
    if (answer.status !== 503) return text
    await delay(20)
  }
}

async function killEngine({ pid }: KillService): Promise<number> {
  const engine = await untilEngine(pid)
  process.kill(engine, 'SIGKILL')
  return engine
}

const slow = 'SELECT count() FROM numbers(1000000000000000) WHERE NOT ignore(sipHash64(number))'

/** Resolves when the engine computes: the query has come to it. */
async function untilBusy(service: KillService): Promise<void> {
  const engine = await untilEngine(service.pid)
  const start = processorTicks(engine)
  while (processorTicks(engine) < start + busyTicks) await delay(10)
}

/** Hundredths of a second; more than a few requests take. */
const busyTicks = 30

function processorTicks(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return Number(fields[11])
}

t.test(
  'events are acknowledged while the engine is gone, and stored when it is back; readers are told to come again',
  async (t) => {
    const service = await startService(t)
    await createTable(service, 'seen')
    const running = query(service, slow)
    await untilBusy(service)
    const engine = await killEngine(service)
    let sent = 0
    do {
      const body = `{"a":${sent}}\n{"a":${sent + 1}}\n`
      const answer = await fetch(`${service.address}/v0/events?name=seen`, { method: 'POST', headers, body })
      t.equal(answer.status, 202)
      sent += 2
    } while (findEnginePid(service.pid) === null || sent < 20)
    const lost = await running
    t.equal(lost.status, 503)
    t.equal(lost.headers.get('retry-after'), '1')
    t.match(await lost.json(), { error: /stopped before it answered/, documentation: /engine_restarted/ })
    await untilEngine(service.pid, engine)
    await service.untilStored('seen')
    t.equal(await answerOf(service, 'SELECT count(), uniqExact(a) FROM seen'), `${sent}\t${sent}\n`)
  },
)

t.test('an import whose engine is killed while it runs stores each row once', async (t) => {
  const service = await startService(t)
  await createTable(service, 'imported')
  const path = `${service.address}/v0/datasources?mode=append&name=imported&format=csv`
  const upload = request(path, { method: 'POST', headers: { ...headers, 'content-type': 'text/csv' } })
  const answered = once(upload, 'response')
  const rows = 600_000
  let kills = 0
  for (let first = 0; first < rows; first += 20_000) {
    const lines = Array.from({ length: 20_000 }, (_, index) => `${first + index}\n`).join('')
    if (!upload.write(lines)) await once(upload, 'drain')
    if (first % 200_000 === 100_000) {
      await killEngine(service)
      kills += 1
    }
  }
  upload.end()
  const [response] = await answered
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk)
  t.equal(response.statusCode, 200, Buffer.concat(chunks).toString())
  t.equal(kills, 3)
  t.equal(await answerOf(service, 'SELECT count(), uniqExact(a) FROM imported'), `${rows}\t${rows}\n`)
})

t.test(
  'a service that is killed leaves no engine behind, and the next start waits for the one that ends',
  async (t) => {
    const service = await startService(t)
    await createTable(service, 'kept')
    await service.call('POST', '/v0/events?name=kept&wait=true', '{"a":1}')
    const engine = await untilEngine(service.pid)
    await service.end('SIGKILL')
    await service.start()
    await untilGone(engine)
    t.equal(await answerOf(service, 'SELECT a FROM kept'), '1\n')
  },
)

t.test('SIGTERM ends the service in time while the engine runs what cannot be stopped', async (t) => {
  const service = await startService(t, { MILLRACE_CLOSE_TIMEOUT_MS: '2000' })
  const hashed = Array.from({ length: 40 }).reduce<string>((inner) => `MD5(${inner})`, 'toString(x)')
  const sql = `SELECT arraySum(arrayMap(x -> length(${hashed}), range(20000000 + number))) FROM numbers(1)`
  const running = query(service, sql).catch(() => undefined)
  await untilBusy(service)
  const engine = await untilEngine(service.pid)
  await service.end('SIGTERM')
  await untilGone(engine)
  await running
  t.equal(findEnginePid(service.pid), null)
})

/** Minutes within one row, in which the engine does not look whether it is to stop. */
const unstoppable =
  "arraySum(i -> length(replaceRegexpAll(repeat('abc', 300000), '(a|b|c)*?(b)', concat('x', toString(i)))), range(n))"

for (const way of ['an event', 'an import'] as const) {
  t.test(
    `SIGTERM ends the service with code 0 while the INSERT of ${way} cannot be stopped, and no other row is lost`,
    async (t) => {
      const service = await startService(t, { MILLRACE_CLOSE_TIMEOUT_MS: '8000' })
      await createTable(service, 'kept')
      const schema = `a Int64 \`json:$.a\`, n UInt64 \`json:$.n\`, d UInt64 DEFAULT ${unstoppable}`
      await service.call('POST', `/v0/datasources?${new URLSearchParams({ name: 'stuck', schema })}`)
      const body = '{"a":1,"n":1000}'
      const path = way === 'an event' ? '/v0/events?name=stuck' : '/v0/datasources?mode=append&name=stuck&format=ndjson'
      const sent = fetch(`${service.address}${path}`, { method: 'POST', headers, body }).catch(() => undefined)
      await untilBusy(service)
      for (let a = 0; a < 20; a += 1) await service.call('POST', '/v0/events?name=kept', `{"a":${a}}`)
      const engine = await untilEngine(service.pid)
      t.equal(await service.end('SIGTERM'), 0)
      await untilGone(engine)
      await sent
      await service.start()
      await service.untilStored('kept')
      t.equal(await answerOf(service, 'SELECT count(), uniqExact(a) FROM kept'), '20\t20\n')
    },
  )
}

t.test('a block whose INSERT ran at the end of the service is stored once by the next start', async (t) => {
  const limits = { MILLRACE_CLOSE_TIMEOUT_MS: '4000', MILLRACE_INSERT_TIME_MAX_MS: '600000' }
  const service = await startService(t, limits)
  const schema = `a Int64 \`json:$.a\`, n UInt64 \`json:$.n\`, d UInt64 DEFAULT ${unstoppable}`
  await service.call('POST', `/v0/datasources?${new URLSearchParams({ name: 'late', schema })}`)
  const body = '{"a":1,"n":1}\n{"a":2,"n":60}'
  await fetch(`${service.address}/v0/events?name=late`, { method: 'POST', headers, body })
  await untilBusy(service)
  t.equal(await service.end('SIGTERM'), 0)
  await service.start()
  await service.untilStored('late')
  t.equal(await answerOf(service, 'SELECT a, d > 0 FROM late ORDER BY a'), '1\t1\n2\t1\n')
})

const crashSignals: readonly NodeJS.Signals[] =
  byTier({ quick: 1, full: 1, soak: 3 }) === 1 ? ['SIGSEGV'] : ['SIGSEGV', 'SIGBUS', 'SIGABRT']

for (const signal of crashSignals) {
  t.test(`a service that gets ${signal} ends, and its engine with it`, async (t) => {
    const service = await startService(t)
    const engine = await untilEngine(service.pid)
    process.kill(service.pid, signal)
    await untilGone(service.pid)
    await untilGone(engine)
    await service.start()
    t.equal(await answerOf(service, 'SELECT 1'), '1\n')
  })
}

t.test('a start ends an engine that has outlived its service and cannot end by itself', async (t) => {
  const service = await startService(t)
  const engine = await untilEngine(service.pid)
  // It sees nothing of the end of its service, as one that sleeps in the handler of crashes.
  process.kill(engine, 'SIGSTOP')
  await service.end('SIGKILL')
  await service.start()
  await untilGone(engine)
  t.equal(await answerOf(service, 'SELECT 1'), '1\n')
})

t.test(
  'a stopped engine is told as such, takes no blame for it, and goes on; its service ends without leaving it behind',
  async (t) => {
    const service = await startService(t, { MILLRACE_CLOSE_TIMEOUT_MS: '8000' })
    await createTable(service, 'a')
    const engine = await untilEngine(service.pid)
    const ready = async () => {
      const answer = await fetch(`${service.address}/health/ready`)
      return { status: answer.status, text: await answer.text() }
    }
    process.kill(engine, 'SIGSTOP')
    for (let answer = await ready(); answer.status === 200; answer = await ready()) await delay(100)
    t.match(await ready(), { status: 503, text: /gives no sign of life for \d+ s.*engine_unavailable/ })
    t.match(await (await query(service, 'SELECT 1')).text(), /does not answer/)
    const event = await fetch(`${service.address}/v0/events?name=a`, { method: 'POST', headers, body: '{"a":1}' })
    t.equal(event.status, 202)
    process.kill(engine, 'SIGCONT')
    for (let answer = await ready(); answer.status !== 200; answer = await ready()) await delay(100)
    while ((await answerOf(service, 'SELECT count() FROM a')) !== '1\n') await delay(100)
    t.equal(findEnginePid(service.pid), engine)
    process.kill(engine, 'SIGSTOP')
    await service.end('SIGTERM')
    await untilGone(engine)
  },
)
