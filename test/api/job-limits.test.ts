// Jobs that end by a limit: whoever watches limits is told of them as of requests that are refused.

import { gzipSync } from 'node:zlib'
import t from 'tap'
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
