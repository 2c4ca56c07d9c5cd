// Definitions whose constants take minutes, which the engine cannot stop: what the service does meanwhile, and what is left of
// them.

import process from 'node:process'
import t, { type Test } from 'tap'
import { openTestService, type TestService } from '../support/api/test-service.ts'
import { findEnginePid, untilEngine } from '../support/store/engine-pid.ts'

/** Minutes, on any machine, and a hundred megabytes. */
const endless = (seed: number): string =>
  `arraySum(i -> length(replaceRegexpAll(concat(repeat('abc', 30000), toString(i + ${seed})), '((a|b|c){0,300}?)(c)', 'x')), range(1500))`
const plain = 'n Int64 `json:$.n`'
const restarted = 'The engine ended unexpectedly; it is started again.'

function define(service: TestService, name: string, values: Readonly<Record<string, string>>) {
  return service.call('POST', `/v0/datasources?${new URLSearchParams({ name, schema: plain, ...values })}`)
}

/** What nobody who defines something may hold up. */
async function serves(t: Test, service: TestService, name: string): Promise<void> {
  t.match(await service.create(name, plain), { status: 200 })
  t.match(await service.call('GET', '/v0/datasources'), { status: 200 })
  t.match(await service.call('GET', `/v0/datasources/${name}`), { status: 200 })
  t.match(await service.events(`${name}_sent`, '{"n":1}', { wait: 'true' }), { status: 200 })
  t.match(await service.append(name, 'ndjson', '{"n":1}'), { status: 200 })
  t.match(await service.call('POST', `/v0/datasources/${name}/truncate`), { status: 205 })
}

t.test('definitions that compute for minutes are refused in seconds, hold up nobody, and leave nothing', async (t) => {
  const service = await openTestService(t, { eventsFlushIdleMs: 5 })
  const engine = findEnginePid(process.pid)
  const costly = [
    { schema: `${plain}, d Int64 \`json:$.d\` DEFAULT ${endless(1)}` },
    { engine: 'MergeTree', engine_sorting_key: 'n', engine_partition_key: endless(2) },
  ]
  const ended = costly.map((values, index) => define(service, `costly_${index}`, values))
  await serves(t, service, 'beside')
  for (const answer of await Promise.all(ended)) {
    t.match(answer, { status: 400, json: { documentation: 'docs/errors.md#definition_too_costly' } })
  }
  await service.log.until(restarted)
  await untilEngine(process.pid, engine)
  while ((await service.call('GET', '/health/ready', { token: null })).status !== 200);
  await serves(t, service, 'behind')
  t.match(
    await define(service, 'costly_0', { schema: `${plain}, d Int64 \`json:$.d\` DEFAULT arraySum(x -> x, range(3))` }),
    { status: 200 },
  )
  t.match(await service.call('GET', '/v0/datasources/costly_1'), { status: 404 })
})

t.test('a condition of a replace that takes minutes for one row is refused before anything waits for it', async (t) => {
  const service = await openTestService(t, { queryTimeMaxMs: 1_000 })
  for (const name of ['costly', 'cheap']) await service.create(name, plain, { engine_partition_key: 'n' })
  const replace = (name: string, condition: string) => {
    const parameters = { mode: 'replace', format: 'ndjson', name, replace_condition: condition }
    return service.call('POST', `/v0/datasources?${new URLSearchParams(parameters)}`, { body: '{"n":1}' })
  }
  const costly = endless(1).replace('range(1500)', 'range(1500 + n)')
  t.match(await replace('costly', `n > 0 AND ${costly} > 0`), {
    status: 400,
    json: { error: /replace_condition" cannot be used: The statement did not end within 1000 ms/ },
  })
  t.match(await replace('cheap', 'n > 0'), { status: 200 })
  t.equal(await service.count('cheap'), 1)
})
