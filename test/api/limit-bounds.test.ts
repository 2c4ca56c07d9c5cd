// Limits of counts, sizes and times as callers meet them: one below, at and above each, with what is told of it. Rates are in
// test/http/rates.test.ts, sizes of bodies in test/http/upload-sizes.test.ts and test/api/limits.test.ts.

import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { jobIdOf, jobOf } from '../support/api/job-calls.ts'
import { type Answer, openTestService, type TestService } from '../support/api/test-service.ts'
import { repositoryRoot } from '../support/repository-root.ts'

interface Limit {
  readonly name: string
  readonly used: number | null
  readonly max: number | null
  readonly refused: number
  readonly status: string
}

async function limitOf(service: TestService, name: string): Promise<Limit> {
  const { json } = await service.call('GET', '/v0/limits')
  // Other tests check the shape.
  const found = (json as { readonly limits: readonly Limit[] }).limits.find((limit) => limit.name === name)
  if (found === undefined) throw new Error(`${name} is a limit`)
  return found
}

/** No window, so that no header tells of one. */
function hasNoRate(t: Test, { headers }: Answer): void {
  for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'ratelimit']) {
    t.notOk(headers.has(name), name)
  }
}

t.test('tokens are made up to their maximum', async (t) => {
  const service = await openTestService(t, { tokensMax: 6 })
  const make = (name: string) => service.call('POST', `/v0/tokens?name=${name}&scope=DATASOURCES:CREATE`)
  const { used } = await limitOf(service, 'tokens')
  for (let count = (used ?? 0) + 1; count <= 6; count += 1) {
    const answer = await make(`t${count}`)
    t.equal(answer.status, 200, answer.text)
    t.match(await limitOf(service, 'tokens'), { used: count, max: 6, status: count === 6 ? 'reached' : String })
  }
  const refused = await make('more')
  t.match(refused, { status: 400, json: { error: /^There are already 6 tokens/ } })
  hasNoRate(t, refused)
  t.match(await limitOf(service, 'tokens'), { used: 6, refused: 1 })
})

t.test('variables are made up to their maximum', async (t) => {
  const service = await openTestService(t)
  const make = (name: string) => service.call('POST', '/v0/variables', { body: `name=${name}&value=x` })
  for (let count = 1; count <= 100; count += 1) {
    const answer = await make(`v${count}`)
    if (answer.status !== 200) t.fail(`${count}: ${answer.text}`)
    if (count >= 99) t.match(await limitOf(service, 'secrets'), { used: count, max: 100 })
  }
  const refused = await make('more')
  t.equal(refused.status, 400, refused.text)
  hasNoRate(t, refused)
  t.match(await limitOf(service, 'secrets'), { used: 100, refused: 1, status: 'reached' })
})

t.test('the rows of a body are of as many partitions as plan free has', async (t) => {
  const service = await openTestService(t, { partitionsPerBodyMax: 12 })
  await service.create('parts', 'p UInt32', { engine: 'MergeTree', engine_partition_key: 'p' })
  const body = (format: string, count: number) =>
    Array.from({ length: count }, (_, p) => (format === 'csv' ? `${p}` : `{"p":${p}}`)).join('\n')
  for (const format of ['csv', 'ndjson'] as const) {
    for (const count of [11, 12]) {
      const answer = await service.append('parts', format, body(format, count))
      t.match(answer, { status: 200, json: { imported_rows: count } }, `${format}, ${count}: ${answer.text}`)
    }
    const refused = await service.append('parts', format, body(format, 13))
    t.match(refused, { status: 400, json: { imported_rows: 0, documentation: /#partitions_too_many$/ } }, refused.text)
    hasNoRate(t, refused)
  }
  t.match(await limitOf(service, 'parts_at_once'), { max: 12, used: null, refused: 2 })
})

t.test('a Parquet file has as many bytes as it may', async (t) => {
  const path = `${repositoryRoot}/fixtures/parquet/duckdb-scalars.parquet`
  const file = readFileSync(path)
  const size = file.byteLength
  for (const [parquetBytesMax, status] of [
    [size + 1, 200],
    [size, 200],
    [size - 1, 413],
  ] as const) {
    const service = await openTestService(t, { parquetBytesMax })
    const answer = await service.call('POST', '/v0/datasources?name=p&mode=create&format=parquet', {
      body: file,
    })
    t.equal(answer.status, status, answer.text)
    t.match(await limitOf(service, 'parquet_file_size'), { max: parquetBytesMax, refused: status === 413 ? 1 : 0 })
    await service.close()
  }
})

t.test('an answer has as many bytes as it may, counted as the engine holds them', async (t) => {
  // A text has its bytes and eight for its length; one byte more ends it where the engine stores it so.
  const service = await openTestService(t, { resultBytesMax: 50_000 })
  const ask = (byteCount: number) => service.call('POST', '/v0/sql', { body: `SELECT materialize(repeat('x', ${byteCount})) FORMAT TSV` })
  let [taken, refused] = [40_000, 50_001]
  t.equal((await ask(taken)).status, 200)
  t.equal((await ask(refused)).status, 400)
  while (refused - taken > 1) {
    const middle = Math.floor((taken + refused) / 2)
    if ((await ask(middle)).status === 200) taken = middle
    else refused = middle
  }
  t.ok(taken >= 50_000 - 16 && taken <= 50_000, `${taken}`)
  const answer = await ask(taken + 1)
  t.match(answer, { status: 400, json: { error: /^The result is larger than 50000 bytes/ } })
  hasNoRate(t, answer)
  t.ok((await limitOf(service, 'result_size')).refused > 1)
})

t.test('a query runs as long as it may', async (t) => {
  const service = await openTestService(t, { queryTimeMaxMs: 1_000 })
  const short = await service.call('POST', '/v0/sql', { body: 'SELECT count() FROM numbers(1000)' })
  t.equal(short.status, 200, short.text)
  const long = await service.call('POST', '/v0/sql', {
    body: 'SELECT count() FROM numbers(100000000000) WHERE sipHash64(number) = 1',
  })
  t.equal(long.status, 408, long.text)
  hasNoRate(t, long)
  t.match(await limitOf(service, 'query_time'), { max: 1_000, used: null, refused: 1, status: 'limited' })
})

/** Longer than any test. */
const endless = 'SELECT count() FROM numbers(100000000000) WHERE sipHash64(number) = 1'

t.test('as many jobs wait as may, and of one token its share', async (t) => {
  const given = { queryJobsWorkingMax: 1, queryJobTimeMaxMs: 600_000 }
  for (const [name, more] of [
    ['jobs_waiting', { jobsWaitingMax: 2 }],
    ['jobs_waiting_per_token', { jobsWaitingPerTokenMax: 2 }],
  ] as const) {
    const service = await openTestService(t, { ...given, ...more })
    const ask = () => service.call('POST', '/v0/sql?job=true', { body: endless })
    const ids = [jobIdOf(await ask())]
    while ((await jobOf(service, ids[0] ?? '')).status !== 'working');
    // One below, and at it.
    ids.push(jobIdOf(await ask()), jobIdOf(await ask()))
    const refused = await ask()
    t.equal(refused.status, 429, refused.text)
    t.equal(refused.headers.get('retry-after'), '10')
    hasNoRate(t, refused)
    t.match(await limitOf(service, name), { max: 2, refused: 1 })
    t.match(await limitOf(service, 'jobs_waiting'), { used: 2 })
    for (const id of ids) await service.call('POST', `/v0/jobs/${id}/cancel`)
    await service.close()
  }
})

t.test('as many deletes of rows wait and work as may', async (t) => {
  const service = await openTestService(t, { deleteJobsActiveMax: 2 })
  await service.create('rows', 'id UInt32')
  await service.append('rows', 'ndjson', Array.from({ length: 2_000 }, (_, id) => `{"id":${id}}`).join('\n'))
  // Each row takes the engine a while.
  const condition = 'arrayExists(x -> sipHash64(x, id) = 1, range(200000))'
  const ask = () =>
    service.call('POST', `/v0/datasources/rows/delete?${new URLSearchParams({ delete_condition: condition })}`)
  const answers = [await ask(), await ask(), await ask()]
  t.same(
    answers.map(({ status }) => status),
    [200, 200, 429],
  )
  const [, , refused] = answers
  t.equal(refused?.headers.get('retry-after'), '10')
  t.match(refused?.json, { error: /^Jobs of the kind "delete_data" that wait or work are limited to 2 for the whole service/ })
  t.match(await limitOf(service, 'delete_jobs'), { max: 2, refused: 1 })
})
