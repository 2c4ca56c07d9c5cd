// Jobs that end by a limit: whoever watches limits is told of them as of requests that are refused.

import { gzipSync } from 'node:zlib'
import t from 'tap'
import { openRequestsMax } from '../../src/http/server/pipelining.ts'
import { endedJob, jobIdOf } from '../support/api/job-calls.ts'
import { untilRows, writingRows } from '../support/api/service-rows.ts'
import { openTestService, type TestService } from '../support/api/test-service.ts'
import { openUrlService } from '../support/imports/url-imports.ts'
import { answerFile } from '../support/remote-server.ts'

async function refusedCount(service: TestService, limit: string): Promise<number | undefined> {
  const { json } = await service.call('GET', '/v0/limits')
  // The shape of the answer is what other tests check.
  const { limits } = json as { readonly limits: readonly { readonly name: string; readonly refused: number }[] }
  return limits.find(({ name }) => name === limit)?.refused
}

t.test('a query that runs too long as a job is told as a refusal, once', async (t) => {
  const service = await openTestService(t, { ...writingRows, queryJobTimeMaxMs: 1_000 })
  const made = await service.call('POST', '/v0/tokens?name=reader&scope=WORKSPACE:READ_ALL')
  const { token, id } = made.json as { readonly token: string; readonly id: string }
  const asked = await service.call('POST', '/v0/sql?job=true', {
    body: 'SELECT count() FROM numbers(100000000000) WHERE sipHash64(number) = 1',
    token,
  })
  t.match(await endedJob(service, jobIdOf(asked)), { status: 'error', error: /ran longer than 1 seconds/ })
  const rows = await untilRows(
    service,
    'SELECT limit_name, error_code, status_code, request_id, token, token_name, resource FROM tinybird.limits_log',
  )
  t.strictSame(rows, [['query_time', 'QUERY_TIMEOUT', '408', asked.headers.get('x-request-id'), id, 'reader', '']])
  t.equal(await refusedCount(service, 'query_time'), 1)
  // Another end is none.
  const failed = await service.call('POST', '/v0/sql?job=true', { body: "SELECT throwIf(1, 'x')" })
  t.match(await endedJob(service, jobIdOf(failed)), { status: 'error' })
  t.equal(await refusedCount(service, 'query_time'), 1)
})

t.test('an import by URL that ends by a size is told with its data source', async (t) => {
  const { service, files, run } = await openUrlService(t, { ...writingRows, decompressedBytesMax: 1_000 })
  files.set('/rows.csv.gz', answerFile({ content: gzipSync('1,a\n'.repeat(1_000)) }))
  t.match(await run({ name: 'large', schema: 'n UInt8, s String' }, '/rows.csv.gz'), { status: 'error' })
  const rows = await untilRows(
    service,
    'SELECT limit_name, error_code, status_code, length(request_id), token_name, resource FROM tinybird.limits_log',
  )
  t.strictSame(rows, [
    ['uncompressed_file_size', 'DECOMPRESSED_TOO_LARGE', '413', '26', 'workspace admin token', 'large'],
  ])
  t.equal(await refusedCount(service, 'uncompressed_file_size'), 1)
})

t.test('each limit of sizes, objects and memory is told with its name', async (t) => {
  const service = await openTestService(t, {
    ...writingRows,
    ...{
      recordBytesMax: 1_000,
      eventsBodyBytesMax: 2_000,
      formBytesMax: 4_000,
      bodyUploadBytesMax: 3_000,
      sqlBytesMax: 2_500,
    },
    ...{ dataSourcesMax: 1, columnsMax: 2, tokensMax: 3, resultBytesMax: 1_000_000, jobResultsBytesPerTokenMax: 100 },
    engineMemoryBytesMax: 512 * 1024 * 1024,
  })
  await service.create('visits', 's String, n UInt8')
  const body = (byteCount: number): string => `{"s":"${'x'.repeat(byteCount)}","n":1}`
  await service.append('visits', 'ndjson', body(1_500))
  await service.events('visits', body(2_500))
  await service.append('visits', 'csv', 'x,1\n'.repeat(1_000))
  await service.create('more', 'n UInt8')
  await service.call('POST', '/v0/datasources/visits/alter', {
    body: new URLSearchParams({ schema: 's String, n UInt8, m UInt8' }).toString(),
  })
  for (const name of ['a', 'b', 'c']) await service.call('POST', `/v0/tokens?name=${name}&scope=PIPES:CREATE`)
  await service.call('POST', '/v0/sql', { body: `SELECT '${'x'.repeat(3_000)}'` })
  await service.call('POST', '/v0/sql', { body: 'SELECT toString(number) FROM numbers(1000000) FORMAT CSV' })
  await service.call('POST', '/v0/sql', { body: 'SELECT groupArray(number) FROM numbers(10000000000)' })
  const job = await service.call('POST', '/v0/sql?job=true', { body: 'SELECT number FROM numbers(1000) FORMAT CSV' })
  t.match(await endedJob(service, jobIdOf(job)), { status: 'error' })
  const rows = await untilRows(
    service,
    'SELECT DISTINCT limit_name, error_code FROM tinybird.limits_log ORDER BY limit_name',
    (found) => found.some(([name]) => name === 'job_results_per_token'),
  )
  t.strictSame(rows, [
    ['body_upload_size', 'PAYLOAD_TOO_LARGE'],
    ['columns', 'SCHEMA_INVALID'],
    ['data_sources', 'DATASOURCES_TOO_MANY'],
    ['events_request_size', 'PAYLOAD_TOO_LARGE'],
    ['job_results_per_token', 'JOB_FILES_OF_TOKEN_FULL'],
    ['query_memory', 'SQL_INVALID'],
    ['record_size', 'RECORD_TOO_LARGE'],
    ['result_size', 'RESULT_TOO_LARGE'],
    ['sql_length', 'SQL_TOO_LONG'],
    ['tokens', 'TOKENS_TOO_MANY'],
  ])
})

t.test('requests that are sent ahead and refused are told once, in the metric and in the rows', async (t) => {
  const service = await openTestService(t, writingRows)
  const client = await service.openRaw()
  t.teardown(() => client.socket.destroy())
  client.send(service.head('GET', '/v0/sql?q=SELECT%201').repeat(openRequestsMax + 10))
  await client.until((text) => text.includes('REQUESTS_AHEAD_TOO_MANY') || text.includes('requests_ahead_too_many'))
  const rows = await untilRows(service, 'SELECT limit_name, error_code, status_code FROM tinybird.limits_log')
  t.strictSame(rows, [['requests_ahead', 'REQUESTS_AHEAD_TOO_MANY', '429']])
  const { text } = await service.call('GET', '/metrics')
  t.match(text, /\{limit="requests_ahead"\} 1$/m)
})
