// What many jobs cost: their list over HTTP for two kinds of tokens, how long they take at a start, and the start of the whole
// service with and without them, in turn.
//
//   npm run build && UV_THREADPOOL_SIZE=16 node dist/benchmarks/jobs.js

import { join } from 'node:path'
import { Access } from '../src/access/access.ts'
import type { Grant } from '../src/access/grant.types.ts'
import { createApp } from '../src/app.ts'
import { openJobBook } from '../src/jobs/job-book.ts'
import { jobWrite, orderKeyOf, wrappedWrite } from '../src/jobs/job-record.ts'
import type { JobStatus, Jobs } from '../src/jobs/jobs.types.ts'
import { openJobs } from '../src/jobs/open-jobs.ts'
import { createLogger } from '../src/observe/logger.ts'
import { catalogName } from '../src/open-ground.ts'
import { openService } from '../src/service.ts'
import { createImportId } from '../src/shared/ids.ts'
import { openLmdbStorage } from '../src/storage/lmdb-storage.ts'
import type { LoadedWrite } from '../src/storage/loaded-records.ts'
import type { RecordStorage } from '../src/storage/storage.types.ts'
import { testOptions } from '../test/support/api/test-service.ts'
import { ask, createFakeDeps, limits } from '../test/support/http/fake-deps.ts'
import { type Bench, readOptions, withBench } from './support/bench.ts'
import { report } from './support/report.ts'
import { percentilesOf, spreadOf } from './support/statistics.ts'

const options = readOptions({ ended: 10_000, waiting: 100, lists: 200, rounds: 7 })
const logger = createLogger({ level: 'silent' })
const kind = 'import'
const batchSize = 1_000
const dataSourceCount = 100

const rows = await withBench(async (bench) => [...(await measureLists(bench)), ...(await measureStarts(bench))])
report({ header: ['what', 'value'], rows }, options.out, rows)

async function measureLists({ directory }: Bench): Promise<readonly (readonly string[])[]> {
  const path = join(directory, 'jobs.lmdb')
  await fill(path, options.waiting)
  const storage = await openLmdbStorage(path)
  const beginMs = performance.now()
  const jobs = await open(storage)
  const openMs = performance.now() - beginMs
  const rowsOf = [['jobs read and started, ms', openMs.toFixed(1)]]
  // One token sees all, one what it may append to: every second data source.
  const seen = Array.from({ length: dataSourceCount / 2 }, (_, index) => grantOn(`t_${2 * index}`))
  for (const [token, grants] of [
    ['admin', [{ type: 'ADMIN', resource: null, filter: null, fixedParameters: null }]],
    ['appender', seen],
  ] as const) {
    for (const query of ['', '?page_size=100', '?status=waiting', '?page_size=100&page=50']) {
      const { p50, p99 } = percentilesOf(await listTimes(jobs, { token, grants, query }))
      rowsOf.push([`GET /v0/jobs${query} as ${token}, p50 ms`, p50.toFixed(2)])
      rowsOf.push([`GET /v0/jobs${query} as ${token}, p99 ms`, p99.toFixed(2)])
    }
  }
  await jobs.close()
  await storage.close()
  return rowsOf
}

interface Lister {
  readonly token: string
  readonly grants: readonly Grant[]
  readonly query: string
}

function noWarrant(): never {
  throw new Error('no work is done in its name')
}

async function listTimes(jobs: Jobs, { token, grants, query }: Lister): Promise<readonly number[]> {
  const found = { id: token, makerId: token, name: token, expiresAt: null, grants: () => grants, take: () => null }
  const lookup = {
    version: 0,
    kindOf: () => 'datasource' as const,
    find: (_kind: unknown, name: string) => ({ name, id: undefined, isQuarantine: false }),
  }
  const access = new Access({
    sources: [{ find: () => found, version: 0, warrantOf: noWarrant, findWarranted: () => undefined }],
    lookup,
  })
  const app = createApp({ ...createFakeDeps(), access, jobs }, limits)
  const times: number[] = []
  for (let count = 0; count < options.lists; count += 1) {
    const beginMs = performance.now()
    const { statusCode } = await ask(app, { url: `/v0/jobs${query}`, headers: { authorization: 'Bearer x' } })
    times.push(performance.now() - beginMs)
    if (statusCode !== 200) throw new Error(`the list answered ${statusCode}`)
  }
  await app.close()
  return times
}

/** The service knows no job of the benchmark that waits, and would end it: here all have ended. */
async function measureStarts({ directory }: Bench): Promise<readonly (readonly string[])[]> {
  const directories = { without: join(directory, 'without'), with: join(directory, 'with') }
  for (const dataDir of Object.values(directories)) await startMs(dataDir)
  await fill(join(directories.with, catalogName), 0)
  const times = { without: [] as number[], with: [] as number[] }
  for (let round = 0; round < options.rounds; round += 1) {
    times.without.push(await startMs(directories.without))
    times.with.push(await startMs(directories.with))
  }
  // On a machine that others use, the least says more than the median.
  const [without, withJobs] = [spreadOf(times.without), spreadOf(times.with)]
  const pairs = spreadOf(times.with.map((ms, round) => ms / (times.without[round] ?? Number.NaN)))
  return [
    ['start of the service without jobs, least ms', without.min.toFixed(0)],
    ['start of the service without jobs, median ms', without.median.toFixed(0)],
    ['start of the service with jobs, least ms', withJobs.min.toFixed(0)],
    ['start of the service with jobs, median ms', withJobs.median.toFixed(0)],
    ['ratio of the least', (withJobs.min / without.min).toFixed(3)],
    ['ratio of the medians', (withJobs.median / without.median).toFixed(3)],
    ['ratio of pairs, median', pairs.median.toFixed(3)],
    ['ratio of pairs, least and most', `${pairs.min.toFixed(3)} ${pairs.max.toFixed(3)}`],
  ]
}

async function startMs(dataDir: string): Promise<number> {
  const beginMs = performance.now()
  const service = await openService(testOptions({ dataDir }), logger)
  const ms = performance.now() - beginMs
  await service.close()
  return ms
}

async function open(storage: RecordStorage): Promise<Jobs> {
  const jobs = await openJobs(
    { jobsWaitingMax: 1_000, jobsWaitingPerTokenMax: 1_000, jobsKeptMax: 100_000 },
    { storage, logger, now: () => Date.now() },
  )
  // What the list has to tell apart works as long as it is measured.
  jobs.register({
    name: kind,
    workingMax: 2,
    isCancellableWhileWorking: true,
    canResume: true,
    run: ({ signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  })
  await jobs.start()
  return jobs
}

async function fill(path: string, waitingCount: number): Promise<void> {
  const storage = await openLmdbStorage(path)
  const statuses = Array.from({ length: options.ended + waitingCount }, (_, index): JobStatus => {
    if (index >= options.ended) return 'waiting'
    return index % 10 === 0 ? 'error' : 'done'
  })
  const writes = statuses.map((status, index) => writesOf(status, index))
  for (let first = 0; first < writes.length; first += batchSize) {
    const batch = writes.slice(first, first + batchSize).flat()
    await storage.commit(batch.map((write) => ({ ...write, version: null })))
  }
  // They are written one by one, and put together as the module does it.
  const book = await openJobBook({ isCancellable: () => false }, storage)
  while (await book.group());
  await book.close()
  await storage.close()
}

function writesOf(status: JobStatus, index: number): readonly LoadedWrite[] {
  const id = createImportId()
  const atMs = Date.now() - 1_000 * (options.ended - index)
  const dataSource = index % dataSourceCount
  const job = {
    ...{ id, kind, status, owner: { tokenId: 'maker', tokenName: 'maker' } },
    subject: { kind: 'datasource', id: `t_${dataSource}`, name: `events_${dataSource}` },
    ...{ createdAtMs: atMs, updatedAtMs: atMs, startedAtMs: atMs },
    details: { rows: 1_000_000, quarantinedRows: 0, invalidLines: 0, byteCount: 123_456_789, progressPercentage: 100 },
    errors: status === 'error' ? ['The server ended the connection after 1234 of 5678 bytes; send the file again'] : [],
    errorQuotes: [],
  } as const
  const record = jobWrite({ number: index + 1, job, logFields: { requestId: createImportId() } })
  const url = `https://files.example.com/exports/${id}.ndjson.gz`
  return status === 'waiting' ? [record, wrappedWrite(orderKeyOf(id), { urls: [url], mode: 'append' })] : [record]
}

function grantOn(id: string): Grant {
  return { type: 'DATASOURCES:APPEND', resource: id, filter: null, fixedParameters: null }
}
