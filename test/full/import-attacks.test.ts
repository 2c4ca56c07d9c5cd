// What is done to an import by URL between a kill and its going on: no row is stored twice, and none is lost without a word.
import { appendFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { freePort } from '../support/free-port.ts'
import { serveFiles } from '../support/kill/file-server.ts'
import { expectedOf, type FileFormat, type FilePlan, schema, writeFiles } from '../support/kill/import-files.ts'
import { KillService } from '../support/kill/kill-service.ts'
import { createTestDirectory } from '../support/store/test-store.ts'
import { byTier, everyNth } from '../support/tier.ts'

const rows = 60_000
/** Behind some rows of each file, and before most. */
const cutBytes = 1_250_000
const formats: readonly FileFormat[] = ['ndjson', 'csv', 'parquet']
const plans: readonly FilePlan[] = formats.map((format, index) => {
  return { name: `file.${format}`, format, firstId: (index + 1) * 10_000_000, rows, hasRefused: false }
})
const directory = await createTestDirectory()
t.teardown(() => directory.remove())
await writeFiles(directory.path, plans)

const options = {
  MILLRACE_URL_ALLOW: '127.0.0.1',
  MILLRACE_URL_ALLOW_HTTP: 'true',
  MILLRACE_FRAME_BYTES: '65536',
  MILLRACE_INSERT_ROWS_MAX: '5000',
  MILLRACE_URL_ATTEMPTS_MAX: '2',
  MILLRACE_URL_RETRY_DELAY_MAX_MS: '100',
  MILLRACE_URL_CONNECTIONS_MAX: '1',
}

interface JobFields {
  readonly id: string
  readonly status: string
  readonly error?: string
  readonly imported_rows?: number
  readonly quarantine_rows?: number
  readonly rows_read?: number
}

/** A service whose import of a file was killed in the middle, and that is started again while the file is held back. */
async function killedImport(t: Test, format: FileFormat, more: NodeJS.ProcessEnv = {}) {
  const port = await freePort()
  const path = join(directory.path, `store-${port}`)
  const files = await serveFiles(directory.path)
  const first = new KillService(path, port, options)
  const service = new KillService(path, port, { ...options, ...more })
  t.teardown(async () => {
    await first.end('SIGKILL')
    await service.end('SIGKILL')
    await files.close()
    await rm(path, { recursive: true, force: true })
  })
  await first.start()
  const engine = { engine: 'MergeTree', engine_partition_key: 'grp', engine_sorting_key: 'id' }
  await first.call('POST', `/v0/datasources?${new URLSearchParams({ name: 'a', schema, ...engine })}`)
  files.bytesMax = format === 'parquet' ? Number.POSITIVE_INFINITY : cutBytes
  const query = new URLSearchParams({ name: 'a', mode: 'append', url: `${files.origin}/file.${format}` })
  const { id } = (await first.call('POST', `/v0/datasources?${query}`)) as JobFields
  const jobOf = async (of = service): Promise<JobFields> => (await of.call('GET', `/v0/jobs/${id}`)) as JobFields
  // Blocks are in the table, and some of them not yet noted as stored.
  while ((await countOf(first, 'a')).rows === 0) await delay(50)
  await first.end('SIGKILL')
  files.bytesMax = -1
  return {
    service,
    files,
    id,
    jobOf,
    /** The job's end, with the file let go. */
    async end(): Promise<JobFields> {
      files.bytesMax = Number.POSITIVE_INFINITY
      return await untilEnded(jobOf)
    },
  }
}

async function untilEnded(jobOf: () => Promise<JobFields>): Promise<JobFields> {
  for (;;) {
    const job = await jobOf()
    if (!['cancelling', 'waiting', 'working'].includes(job.status)) return job
    await delay(50)
  }
}

async function countOf(service: KillService, name: string): Promise<{ readonly rows: number; readonly ids: number }> {
  const sql = `SELECT count() AS n, uniqExact(id) AS ids FROM ${name} FORMAT JSON`
  for (let attempt = 1; ; attempt += 1) {
    try {
      const { data } = (await service.call('POST', '/v0/sql', sql)) as {
        readonly data: readonly { readonly n: string; readonly ids: string }[]
      }
      return { rows: Number(data[0]?.n), ids: Number(data[0]?.ids) }
    } catch (error) {
      // The first request of a new life may be sent down a connection to the one before.
      if (attempt === 5) throw error
    }
  }
}

function expected(format: FileFormat) {
  return expectedOf(plans.filter((plan) => plan.format === format))
}

async function isExact(t: Test, service: KillService, { job, format }: { job: JobFields; format: FileFormat }) {
  const { rows: stored, badRows } = expected(format)
  t.match(job, { status: 'done', rows_read: rows, imported_rows: stored, quarantine_rows: badRows })
  t.same(await countOf(service, 'a'), { rows: stored, ids: stored })
  t.same(await countOf(service, 'a_quarantine'), { rows: badRows, ids: badRows })
}

/** What is there is there once, and what the job counted is there. */
async function isOnce(t: Test, service: KillService, job: JobFields) {
  const found = await countOf(service, 'a')
  t.equal(found.rows, found.ids, 'no row is doubled')
  t.ok(found.rows >= (job.imported_rows ?? 0), `${found.rows} rows, ${job.imported_rows} counted`)
}

const otherOptions = [
  { MILLRACE_FRAME_BYTES: '4096', MILLRACE_WORKERS: '2' },
  { MILLRACE_INSERT_ROWS_MAX: '777', MILLRACE_INSERT_BYTES_MAX: '65536' },
  { MILLRACE_FRAME_BYTES: '1048576', MILLRACE_INSERT_ROWS_MAX: '1000000' },
]

t.test('other frames, blocks and workers go on with what others have begun', async (t) => {
  for (const [index, format] of formats.entries()) {
    for (const more of everyNth(otherOptions, byTier({ quick: 3, full: 3, soak: 1 }), index)) {
      await t.test(`${format}: ${JSON.stringify(more)}`, async (t) => {
        const { service, end } = await killedImport(t, format, more)
        await service.start()
        const job = await end()
        if (job.status === 'done') return await isExact(t, service, { job, format })
        t.match(job, { status: 'error', error: /started with other options/ })
        t.equal(format, 'parquet', 'its slices are cut by options alone')
        await isOnce(t, service, job)
      })
    }
  }
})

t.test('a truncate while the file is on its way is told, and no row comes twice', async (t) => {
  const { service, end } = await killedImport(t, 'ndjson')
  await service.start()
  await service
    .call('POST', '/v0/datasources/a/truncate')
    .catch(() => service.call('POST', '/v0/datasources/a/truncate'))
  const job = await end()
  // Blocks in doubt are settled when the job goes on: a change behind that comes between two blocks, as without a kill.
  if (job.status !== 'done') t.match(job, { status: 'error', error: /was truncated, replaced or altered/ })
  const found = await countOf(service, 'a')
  t.equal(found.rows, found.ids)
})

t.test('a replace of some rows while the file is on its way is told, and no row comes twice', async (t) => {
  const { service, end } = await killedImport(t, 'csv')
  await service.start()
  const query = new URLSearchParams({ name: 'a', mode: 'replace', format: 'csv', replace_condition: 'grp = 1' })
  const replace = (): Promise<unknown> => service.call('POST', `/v0/datasources?${query}`, '1,1,1,1,new\n')
  await replace().catch(replace)
  const job = await end()
  // Blocks in doubt are settled when the job goes on: a change behind that comes between two blocks, as without a kill.
  if (job.status !== 'done') t.match(job, { status: 'error', error: /was truncated, replaced or altered/ })
  const found = await countOf(service, 'a')
  t.equal(found.rows, found.ids)
})

t.test('a data source that is dropped meanwhile ends the job, and its namesake gets nothing', async (t) => {
  const { service, end } = await killedImport(t, 'ndjson')
  await service.start()
  const drop = (): Promise<unknown> => service.call('DELETE', '/v0/datasources/a')
  await drop().catch(drop)
  await service.call('POST', `/v0/datasources?${new URLSearchParams({ name: 'a', schema })}`)
  t.match(await end(), { status: 'error' })
  t.same(await countOf(service, 'a'), { rows: 0, ids: 0 })
})

t.test('a column that is added meanwhile changes nothing of what is stored once', async (t) => {
  const { service, end } = await killedImport(t, 'ndjson')
  await service.start()
  const body = new URLSearchParams({ schema: `${schema}, more String DEFAULT 'm'` }).toString()
  const alter = (): Promise<unknown> => service.call('POST', '/v0/datasources/a/alter', body)
  await alter().catch(alter)
  const job = await end()
  if (job.status === 'done') await isExact(t, service, { job, format: 'ndjson' })
  else {
    t.match(job, { status: 'error', error: /altered/ })
    await isOnce(t, service, job)
  }
})

t.test('a file that changed meanwhile ends the job, and what was counted is told', async (t) => {
  const { service, end } = await killedImport(t, 'csv')
  const file = join(directory.path, 'file.csv')
  await appendFile(file, '"x",1,1,1,1\n')
  t.teardown(() =>
    writeFiles(
      directory.path,
      plans.filter(({ format }) => format === 'csv'),
    ),
  )
  await service.start()
  const job = await end()
  t.match(job, { status: 'error', error: /changed/ })
  await isOnce(t, service, job)
})

t.test('a server that is gone ends the job after some tries, and what was counted is told', async (t) => {
  const { service, files, jobOf } = await killedImport(t, 'ndjson')
  await files.close()
  await service.start()
  const before = (await jobOf().catch(() => jobOf())).imported_rows
  const job = await untilEnded(jobOf)
  t.match(job, { status: 'error' })
  t.ok((job.imported_rows ?? 0) >= (before ?? 0), `${job.imported_rows} rows, ${before} before`)
  await isOnce(t, service, job)
})

t.test('a job can be cancelled while it goes on, and a close in between changes nothing', async (t) => {
  const { service, jobOf, id } = await killedImport(t, 'ndjson')
  await service.start()
  await service.end('SIGTERM')
  await service.start()
  const cancel = (): Promise<unknown> => service.call('POST', `/v0/jobs/${id}/cancel`)
  await cancel().catch(cancel)
  const job = await untilEnded(jobOf)
  t.equal(job.status, 'cancelled')
  await isOnce(t, service, job)
  await service.end('SIGTERM')
  await service.start()
  t.equal((await jobOf().catch(() => jobOf())).status, 'cancelled')
})

t.test('blocks of a great many small parts are no more than a job may keep', async (t) => {
  const more = {
    MILLRACE_FRAME_BYTES: '4096',
    MILLRACE_INSERT_ROWS_MAX: '1000000',
    MILLRACE_INSERTS_IN_FLIGHT_MAX: '8',
  }
  const { service, end } = await killedImport(t, 'ndjson', more)
  await service.start()
  await delay(300)
  await service.kill('both')
  await isExact(t, service, { job: await end(), format: 'ndjson' })
})
