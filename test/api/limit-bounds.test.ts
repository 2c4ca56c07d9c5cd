// Limits of counts, sizes and times as callers meet them: one below, at and above each, with what is told of it. Rates are in
// test/http/rates.test.ts, sizes of bodies in test/http/upload-sizes.test.ts and test/api/limits.test.ts.

import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { jobIdOf, jobOf } from '../support/api/job-calls.ts'
import { type Answer, type Call, openTestService } from '../support/api/test-service.ts'
import { repositoryRoot } from '../support/repository-root.ts'

interface Limit {
  readonly name: string
  readonly used: number | null
  readonly max: number | null
  readonly refused: number
  readonly status: string
}

/** Of ten rows. */
const parquetFile = readFileSync(`${repositoryRoot}/fixtures/parquet/duckdb-days.parquet`)
/** Longer than any test. */
const endless = 'SELECT count() FROM numbers(100000000000) WHERE sipHash64(number) = 1'

const service = await openTestService(t, {
  tokensMax: 6,
  partitionsPerBodyMax: 12,
  parquetBytesMax: parquetFile.byteLength,
  resultBytesMax: 50_000,
  queryTimeMaxMs: 5_000,
  queryJobsWorkingMax: 1,
  queryJobTimeMaxMs: 600_000,
  jobsWaitingMax: 3,
  jobsWaitingPerTokenMax: 2,
  deleteJobsActiveMax: 2,
})

async function limitOf(name: string): Promise<Limit> {
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

function makeToken(name: string): Promise<Answer> {
  return service.call('POST', `/v0/tokens?name=${name}&scope=WORKSPACE:READ_ALL`)
}

/** Other tests check the shape. */
const { token } = (await makeToken('other')).json as { readonly token: string }

t.test('tokens are made up to their maximum', async (t) => {
  const { used } = await limitOf('tokens')
  for (let count = (used ?? 0) + 1; count <= 6; count += 1) {
    const answer = await makeToken(`t${count}`)
    t.equal(answer.status, 200, answer.text)
    t.match(await limitOf('tokens'), { used: count, max: 6, status: count === 6 ? 'reached' : String })
  }
  const refused = await makeToken('more')
  t.match(refused, { status: 400, json: { error: /^There are already 6 tokens/ } })
  hasNoRate(t, refused)
  t.match(await limitOf('tokens'), { used: 6, refused: 1 })
})

t.test('variables are made up to their maximum', async (t) => {
  const make = (name: string) => service.call('POST', '/v0/variables', { body: `name=${name}&value=x` })
  for (let count = 1; count <= 100; count += 1) {
    const answer = await make(`v${count}`)
    if (answer.status !== 200) t.fail(`${count}: ${answer.text}`)
    if (count >= 99) t.match(await limitOf('secrets'), { used: count, max: 100 })
  }
  const refused = await make('more')
  t.equal(refused.status, 400, refused.text)
  hasNoRate(t, refused)
  t.match(await limitOf('secrets'), { used: 100, refused: 1, status: 'reached' })
})

t.test('the rows of a body are of as many partitions as plan free has', async (t) => {
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
  t.match(await limitOf('parts_at_once'), { max: 12, used: null, refused: 2 })
})

t.test('a Parquet file has as many bytes as it may', async (t) => {
  const load = (name: string, body: Uint8Array) =>
    service.call('POST', `/v0/datasources?name=${name}&mode=create&format=parquet&schema=id+Int32`, { body })
  // Without its last byte it is none, and that is what is told.
  t.equal((await load('shorter', parquetFile.subarray(0, -1))).status, 400)
  t.match(await load('whole', parquetFile), { status: 200, json: { imported_rows: 10 } })
  t.match(await limitOf('parquet_file_size'), { max: parquetFile.byteLength, refused: 0 })
  const longer = await load('longer', Buffer.concat([parquetFile, Buffer.from('x')]))
  t.equal(longer.status, 413, longer.text)
  hasNoRate(t, longer)
  t.match(await limitOf('parquet_file_size'), { refused: 1, status: 'limited' })
})

t.test('an answer has as many bytes as it may, counted as the engine holds them', async (t) => {
  const ask = (byteCount: number) =>
    service.call('POST', '/v0/sql', { body: `SELECT materialize(repeat('x', ${byteCount})) FORMAT TSV` })
  let [taken, refused] = [40_000, 50_001]
  t.equal((await ask(taken)).status, 200)
  t.equal((await ask(refused)).status, 400)
  while (refused - taken > 1) {
    const middle = Math.floor((taken + refused) / 2)
    if ((await ask(middle)).status === 200) taken = middle
    else refused = middle
  }
  // A text has some bytes more there, for its length.
  t.ok(taken >= 50_000 - 16 && taken <= 50_000, `${taken}`)
  const answer = await ask(taken + 1)
  t.match(answer, { status: 400, json: { error: /^The result is larger than 50000 bytes/ } })
  hasNoRate(t, answer)
  t.ok((await limitOf('result_size')).refused > 1)
})

t.test('a query runs as long as it may', async (t) => {
  const short = await service.call('POST', '/v0/sql', { body: 'SELECT count() FROM numbers(1000)' })
  t.equal(short.status, 200, short.text)
  const { refused } = await limitOf('query_time')
  const long = await service.call('POST', '/v0/sql', { body: endless })
  t.equal(long.status, 408, long.text)
  hasNoRate(t, long)
  t.match(await limitOf('query_time'), { max: 5_000, used: null, refused: refused + 1, status: 'limited' })
})

t.test('as many deletes of rows wait and work as may', async (t) => {
  await service.create('rows', 'id UInt32')
  await service.append('rows', 'ndjson', Array.from({ length: 2_000 }, (_, id) => `{"id":${id}}`).join('\n'))
  // Each row takes the engine a while.
  const condition = 'arrayExists(x -> sipHash64(x, id) = 1, range(200000))'
  const ask = () =>
    service.call('POST', `/v0/datasources/rows/delete?${new URLSearchParams({ delete_condition: condition })}`)
  // At once: none of them ends as long as the others are judged.
  const answers = await Promise.all([ask(), ask(), ask()])
  t.same(answers.map(({ status }) => status).toSorted(), [200, 200, 429])
  const refused = answers.find(({ status }) => status === 429)
  t.equal(refused?.headers.get('retry-after'), '10')
  t.match(refused?.json, {
    error: /^Jobs of the kind "delete_data" that wait or work are limited to 2 for the whole service/,
  })
  t.match(await limitOf('delete_jobs'), { max: 2, refused: 1 })
})

t.test('as many jobs wait as may, and of one token its share', async (t) => {
  const ask = (call: Call = {}) => service.call('POST', '/v0/sql?job=true', { body: endless, ...call })
  const ids = [jobIdOf(await ask())]
  while ((await jobOf(service, ids[0] ?? '')).status !== 'working');
  // One below, and at it.
  ids.push(jobIdOf(await ask()), jobIdOf(await ask()))
  t.match(await limitOf('jobs_waiting'), { used: 2, max: 3, refused: 0 })
  const ofToken = await ask()
  t.match(await limitOf('jobs_waiting_per_token'), { used: null, max: 2, refused: 1 })
  // One of another token works as a guest beside it.
  ids.push(jobIdOf(await ask({ token })))
  while ((await jobOf(service, ids[3] ?? '')).status !== 'working');
  ids.push(jobIdOf(await ask({ token })))
  t.match(await limitOf('jobs_waiting'), { used: 3, max: 3, refused: 0, status: 'reached' })
  const ofAll = await ask({ token })
  t.match(await limitOf('jobs_waiting'), { used: 3, refused: 1 })
  for (const refused of [ofToken, ofAll]) {
    t.equal(refused.status, 429, refused.text)
    t.equal(refused.headers.get('retry-after'), '10')
    hasNoRate(t, refused)
  }
})
