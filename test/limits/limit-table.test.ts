// Which test reaches each limit, one below, at and above it. A limit that nobody reaches is no limit that anybody may trust.

import { readFileSync } from 'node:fs'
import t from 'tap'
import { limitTable } from '../../src/limits/limit-table.ts'
import { repositoryRoot } from '../support/repository-root.ts'

/** By limit: the file, and what it says of the limit. */
const reached: Readonly<Record<string, readonly [file: string, text: string]>> = {
  creates_from_schema: ['http/rates', "limit: 'creates_from_schema', max: 25"],
  imports: ['http/rates', "limit: 'imports'"],
  events: ['http/rates', "limit: 'events'"],
  creates_by_events: ['api/plans', '"creates_by_events";q=2;w=60'],
  secret_requests: ['http/rates', "limit: 'secret_requests', max: 5"],
  queries_per_second: ['http/rates', '"queries_per_second";r=0;t=1'],
  queries_per_minute: ['http/rates', '"queries_per_minute";r=0;t=30'],
  queries_per_day: ['http/rates', 'limit "queries_per_day"'],
  processor_time: ['http/rates', '"processor_time";r=0;t=1'],
  overage_costs: ['http/limits', "limit('overage_costs')"],
  token_requests: ['access/jwt/jwt-rates', 'RATE_EXCEEDED'],
  connections: ['http/server/connection-limits', 'connectionsPerAddressMax = 3'],
  data_sources: ['api/plans', 'dataSourcesMax: 3'],
  columns: ['api/limits', 'columnsMax: 3'],
  tokens: ['api/limit-bounds', 'tokensMax: 6'],
  secrets: ['api/limit-bounds', "'secrets'"],
  storage: ['full/storage-overage', 'storageBytesMax: bytes + roomBytes'],
  body_upload_size: ['http/upload-sizes', 'limit "body_upload_size"'],
  multipart_size: ['http/upload-sizes', 'limit "multipart_size"'],
  multipart_parquet_size: ['http/upload-sizes', "'multipart_parquet_size'"],
  form_size: ['api/limits', 'formBytesMax: max'],
  parquet_file_size: ['api/limit-bounds', "'parquet_file_size'"],
  uncompressed_file_size: ['api/limits', 'decompressedBytesMax: 8 * max'],
  events_request_size: ['api/limits', 'eventsBodyBytesMax: max'],
  record_size: ['api/limits', 'recordBytesMax: max'],
  parts_at_once: ['api/limit-bounds', "'parts_at_once'"],
  sql_length: ['api/limits', 'sqlBytesMax: 200'],
  result_size: ['api/limit-bounds', "'result_size'"],
  query_time: ['api/limit-bounds', "'query_time'"],
  query_threads: ['query/query', 'max_threads'],
  delete_jobs: ['api/limit-bounds', "'delete_jobs'"],
  jobs_waiting: ['api/limit-bounds', "'jobs_waiting'"],
  jobs_waiting_per_token: ['api/limit-bounds', "'jobs_waiting_per_token'"],
}

/** Limits that the specification does not have, and that no test reaches at their very border. */
const own = ['url_file_size', 'url_import_time', 'query_memory', 'job_results', 'job_results_per_token']
/** Nothing bounds their number, in no plan. */
const unbounded = ['materialized_views']

t.test('each limit of the specification has a test at its border', async (t) => {
  const others = [...own, ...unbounded]
  const bounded = limitTable.filter(({ group, name }) => group !== 'no object yet' && !others.includes(name))
  t.same(bounded.map(({ name }) => name).toSorted(), Object.keys(reached).toSorted())
  for (const [name, [file, text]] of Object.entries(reached)) {
    t.ok(readFileSync(`${repositoryRoot}/test/${file}.test.ts`, 'utf8').includes(text), `${name}: ${file}`)
  }
})
