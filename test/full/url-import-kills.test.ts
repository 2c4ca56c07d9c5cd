// Imports by URL that are not gone on with behind a SIGKILL: what their jobs tell is what there is, row by row.

import { join } from 'node:path'
import t, { type Test } from 'tap'
import { freePort } from '../support/free-port.ts'
import { heldFile, type UrlJob } from '../support/imports/url-imports.ts'
import { KillService } from '../support/kill/kill-service.ts'
import { writeParquetFiles } from '../support/parquet-files.ts'
import { type Answer, answerFile, openRemoteServer } from '../support/remote-server.ts'
import { SeededRandom, testSeed } from '../support/seeded-random.ts'
import { createTestDirectory } from '../support/store/test-store.ts'
import { byTier } from '../support/tier.ts'

const rowCount = 60_000
const badEvery = 97
const schema = 'id UInt64 `json:$.id`, n UInt32 `json:$.n`'
const engine = { engine: 'MergeTree', engine_partition_key: 'id % 3', engine_sorting_key: 'id' }
const rounds = byTier({ quick: 2, full: 6, soak: 60 })
/** Many small blocks. */
const small = { MILLRACE_FRAME_BYTES: '65536', MILLRACE_INSERT_ROWS_MAX: '2000', MILLRACE_URL_PIECE_BYTES: '65536' }

function isBad(id: number): boolean {
  return id % badEvery === 5
}

const ndjson = Buffer.from(
  Array.from({ length: rowCount }, (_, id) => `{"id":${id},"n":${isBad(id) ? '"bad"' : id}}\n`).join(''),
)

interface Killed {
  readonly random: SeededRandom
  readonly origin: string
  readonly files: Map<string, Answer>
  /** A service on the directory of this test; one at a time. */
  readonly open: (more: NodeJS.ProcessEnv) => Promise<KillService>
}

async function openKilled(t: Test): Promise<Killed> {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const directory = await createTestDirectory()
  const port = await freePort()
  const files = new Map<string, Answer>()
  const server = await openRemoteServer(t, (request, response) => files.get(request.url ?? '')?.(request, response))
  const opened: KillService[] = []
  t.teardown(async () => {
    for (const service of opened) await service.end('SIGKILL')
    await directory.remove()
  })
  const open: Killed['open'] = async (more) => {
    const given = { MILLRACE_URL_ALLOW: '127.0.0.1', MILLRACE_URL_ALLOW_HTTP: 'true', ...small, ...more }
    const service = new KillService(join(directory.path, 'store'), port, given)
    opened.push(service)
    await service.start()
    return service
  }
  return { random: new SeededRandom(seed), origin: server.origin, files, open }
}

async function startImport(service: KillService, name: string, url: string): Promise<string> {
  await service.call('POST', `/v0/datasources?${new URLSearchParams({ name, schema, ...engine })}`)
  const query = new URLSearchParams({ name, mode: 'append', url })
  const { id } = (await service.call('POST', `/v0/datasources?${query}`)) as { readonly id: string }
  return id
}

async function jobOf(service: KillService, id: string): Promise<UrlJob> {
  return (await service.call('GET', `/v0/jobs/${id}`)) as UrlJob
}

async function untilEnded(service: KillService, id: string): Promise<UrlJob> {
  for (;;) {
    const job = await jobOf(service, id)
    if (['done', 'error', 'cancelled'].includes(job.status)) return job
  }
}

/** Looks at a job so often, and gives it as it was told last. */
async function look(service: KillService, id: string, times: number): Promise<UrlJob> {
  let job = await jobOf(service, id)
  for (let time = 0; time < times; time += 1) job = await jobOf(service, id)
  return job
}

async function idsOf(service: KillService, query: string): Promise<ReadonlySet<number>> {
  const { data } = (await service.call('POST', '/v0/sql', `${query} FORMAT JSON`)) as {
    readonly data: readonly { readonly id: string }[]
  }
  const ids = data.map(({ id }) => Number(id))
  return new Set(ids)
}

async function countOf(service: KillService, table: string): Promise<number> {
  const { data } = (await service.call('POST', '/v0/sql', `SELECT count() AS n FROM ${table} FORMAT JSON`)) as {
    readonly data: readonly { readonly n: string }[]
  }
  return Number(data[0]?.n)
}

interface Told {
  readonly job: UrlJob
  readonly name: string
  /** Whether INSERTs of the process that has cancelled it may still run, if the machine is slow. */
  readonly mayBeLeft?: boolean
}

/** What the job tells is what there is, each row once; and no bad row is missing between those that are stored. */
async function checkTold(t: Test, service: KillService, { job, name, mayBeLeft = false }: Told): Promise<void> {
  const [, doubtful] = /^Up to (\d+) further rows may be stored/.exec(job.warnings?.at(-1) ?? '') ?? []
  const stored = await idsOf(service, `SELECT id FROM ${name}`)
  const setAside = await idsOf(service, `SELECT toUInt64(assumeNotNull(id)) AS id FROM ${name}_quarantine`)
  t.equal(await countOf(service, name), stored.size, 'no row twice')
  t.equal(await countOf(service, `${name}_quarantine`), setAside.size, 'no bad row twice')
  if (mayBeLeft && doubtful !== undefined) {
    const told = job.rows_read ?? -1
    const found = stored.size + setAside.size
    t.ok(told <= found && found <= told + Number(doubtful), `${found} rows, ${told} and up to ${doubtful} told`)
    return
  }
  t.match(job, {
    imported_rows: stored.size,
    quarantine_rows: setAside.size,
    invalid_lines: 0,
    rows_read: stored.size + setAside.size,
  })
  t.equal(job.warnings, undefined, 'nothing is in doubt')
  const missing = Array.from({ length: rowCount }, (_, id) => id).filter(
    (id) => isBad(id) && stored.has(id - 1) && stored.has(id + 1) && !setAside.has(id),
  )
  t.same(missing, [], `${stored.size} rows, ${setAside.size} of them set aside`)
}

t.test('a job that cannot go on behind a kill tells exactly what is stored and set aside', async (t) => {
  const { random, origin, files, open } = await openKilled(t)
  const query = `SELECT number AS id, if(number % ${badEvery} = 5, 'bad', toString(number)) AS n FROM numbers(${rowCount})`
  const parquet = (await writeParquetFiles({ rows: { sql: query, settings: { row_group_size: 1_000 } } }))('rows')
  const service = await open({})
  for (let round = 0; round < rounds; round += 1) {
    for (const [format, content] of Object.entries({ ndjson, parquet })) {
      const name = `${format}_${round}`
      const path = `/${name}.${format}`
      files.set(path, answerFile({ content, writeBytes: 20_000 }))
      if (format === 'ndjson') files.set(path, heldFile(content, Math.floor(content.length * 0.8), { isOpen: false }))
      const id = await startImport(service, name, `${origin}${path}`)
      const told = await look(service, id, random.below(80))
      await service.end('SIGKILL')
      if (told.status !== 'done') files.set(path, answerFile({ content, etag: '"two"' }))
      await service.start()
      const job = await untilEnded(service, id)
      t.ok((job.imported_rows ?? 0) >= (told.imported_rows ?? 0), 'no kill takes back what was told')
      t.ok((job.rows_read ?? 0) >= (told.rows_read ?? 0))
      if (job.imported_rows !== undefined) await checkTold(t, service, { job, name })
      t.comment(`${name}: ${job.status}, told before ${told.imported_rows}`)
    }
  }
  t.same(service.words.errors, [])
})

t.test('a job that is cancelled over a kill tells exactly what is stored and set aside', async (t) => {
  const { random, origin, files, open } = await openKilled(t)
  files.set('/rows.ndjson', heldFile(ndjson, Math.floor(ndjson.length * 0.8), { isOpen: false }))
  let service = await open({ MILLRACE_URL_IMPORTS_MAX: '2' })
  for (let round = 0; round < rounds; round += 1) {
    const names = [`first_${round}`, `second_${round}`, `third_${round}`]
    const ids: string[] = []
    for (const name of names.slice(0, 2)) ids.push(await startImport(service, name, `${origin}/rows.ndjson`))
    const told = await look(service, ids[1] ?? '', random.below(80))
    await service.end('SIGKILL')
    // The second waits to go on, as there is one place.
    service = await open({ MILLRACE_URL_IMPORTS_MAX: '1' })
    for (const id of ids.toReversed()) await service.call('POST', `/v0/jobs/${id}/cancel`)
    for (const [index, id] of ids.entries()) {
      const job = await untilEnded(service, id)
      t.equal(job.status, 'cancelled')
      await checkTold(t, service, { job, name: names[index] ?? '', mayBeLeft: true })
      if (index === 1) t.ok((job.imported_rows ?? 0) >= (told.imported_rows ?? 0), 'no kill takes back what was told')
    }
    // One that is killed while it is being cancelled.
    const third = await startImport(service, names[2] ?? '', `${origin}/rows.ndjson`)
    await look(service, third, random.below(40))
    await service.call('POST', `/v0/jobs/${third}/cancel`)
    await service.end('SIGKILL')
    service = await open({ MILLRACE_URL_IMPORTS_MAX: '2' })
    const job = await untilEnded(service, third)
    t.equal(job.status, 'cancelled')
    await checkTold(t, service, { job, name: names[2] ?? '' })
  }
  t.same(service.words.errors, [])
})
