/**
 * Kills a service while it imports files by URL, and counts what is stored in the end.
 *
 * What must be stored is written down before anything is sent. A job is killed so many times, at random moments: the service, its
 * engine, both, the service twice in a row, in the middle of its start, or it is closed and started again. Behind some tables
 * stand two views, one behind the other, made through the store's own interface; some tables refuse rows of their own.
 */
import { statSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type OpenedStore, openEmbeddedStore } from '../../../src/store/embedded/embedded-store.ts'
import { freePort } from '../free-port.ts'
import { SeededRandom } from '../seeded-random.ts'
import { createTestDirectory, silentLogger, testStoreOptions } from '../store/test-store.ts'
import { type FileServer, serveFiles } from './file-server.ts'
import { type Expected, expectedOf, type FileFormat, type FilePlan, schema, writeFiles } from './import-files.ts'
import { KillService, type ServiceWords } from './kill-service.ts'

export interface ImportKillOptions {
  /** Of all imports together. */
  readonly kills: number
  /** Of each file. */
  readonly rows: number
  readonly seed: number
  /** Longest life between two kills. */
  readonly lifeMsMax: number
  /** Which of the imports are made; absent is all of them. */
  readonly kinds?: readonly string[]
}

export interface ImportKillReport {
  readonly kills: number
  /** How many of them hit a job in its work. */
  readonly killsAtWork: number
  readonly jobs: number
  /** Rows of all files. */
  readonly rows: number
  /** Of each import, the bytes of its files, and those that the server has sent of them. */
  readonly bytes: readonly SentBytes[]
  readonly words: ServiceWords
  /** What was found; each must be what was expected. */
  readonly checks: readonly ImportCheck[]
  readonly durationMs: number
}

export interface SentBytes {
  readonly name: string
  readonly fileBytes: number
  readonly sentBytes: number
}

export interface ImportCheck {
  readonly what: string
  readonly expected: unknown
  readonly found: unknown
}

interface ImportPlan {
  readonly name: string
  readonly formats: readonly FileFormat[]
  /** Jobs of these files each, at once. */
  readonly jobs?: number
  /** Rows of the table that are computed from `x`, or its order. */
  readonly refuses?: 'default' | 'key'
  readonly hasViews?: boolean
  readonly mode?: 'append' | 'replace'
}

const importPlans: readonly ImportPlan[] = [
  { name: 'ndjson', formats: ['ndjson'], hasViews: true },
  { name: 'csv', formats: ['csv'], hasViews: true },
  { name: 'packed_ndjson', formats: ['ndjson.gz'], hasViews: true },
  { name: 'packed_csv', formats: ['csv.zst'], refuses: 'key' },
  { name: 'parquet', formats: ['parquet'], hasViews: true },
  { name: 'refused_ndjson', formats: ['ndjson'], refuses: 'default' },
  { name: 'refused_parquet', formats: ['parquet'], refuses: 'key' },
  { name: 'two_files', formats: ['ndjson', 'csv'], hasViews: true },
  { name: 'two_jobs', formats: ['csv'], jobs: 2, hasViews: true },
  { name: 'replaced', formats: ['ndjson.gz'], mode: 'replace' },
]

/** Rows in front of a replace. */
const oldRows = 1_000
const idsPerFile = 100_000_000

export async function runImportKills(options: ImportKillOptions): Promise<ImportKillReport> {
  const startedAtMs = Date.now()
  const directory = await createTestDirectory()
  const port = await freePort()
  const service = new KillService(join(directory.path, 'store'), port, {
    MILLRACE_URL_ALLOW: '127.0.0.1',
    MILLRACE_URL_ALLOW_HTTP: 'true',
    // Small, so that there are many blocks, and pieces of files.
    MILLRACE_INSERT_ROWS_MAX: '200000',
    MILLRACE_FRAME_BYTES: String(1024 * 1024),
    MILLRACE_URL_PIECE_BYTES: String(1024 * 1024),
  })
  const server = await serveFiles(directory.path)
  const run = new ImportKillRun({ service, server, directory: directory.path }, options)
  try {
    await run.prepare()
    await run.importAll()
    await service.end('SIGTERM')
    await run.countAll()
    const { kills, killsAtWork, jobs, rows, bytes, checks } = run
    return { kills, killsAtWork, jobs, rows, bytes, checks, words: service.words, durationMs: Date.now() - startedAtMs }
  } finally {
    await service.end('SIGKILL')
    await server.close()
    await directory.remove()
  }
}

interface RunDeps {
  readonly service: KillService
  readonly server: FileServer
  readonly directory: string
}

interface PlannedJob {
  readonly files: readonly FilePlan[]
}

interface PlannedImport extends ImportPlan {
  readonly jobsOf: readonly PlannedJob[]
  readonly expected: Expected
}

interface JobState {
  readonly status: string
  readonly fields: Readonly<Record<string, unknown>>
}

class ImportKillRun {
  kills = 0
  killsAtWork = 0
  jobs = 0
  rows = 0
  readonly bytes: SentBytes[] = []
  readonly checks: ImportCheck[] = []
  readonly #deps: RunDeps
  readonly #options: ImportKillOptions
  readonly #random: SeededRandom
  readonly #imports: readonly PlannedImport[]
  readonly #ids = new Map<string, string>()

  constructor(deps: RunDeps, options: ImportKillOptions) {
    this.#deps = deps
    this.#options = options
    this.#random = new SeededRandom(options.seed)
    const chosen = importPlans.filter(({ name }) => options.kinds?.includes(name) !== false)
    this.#imports = chosen.map((plan) => planned(plan, options.rows))
  }

  /** Writes the files, what must be stored of them, the data sources and the views. */
  async prepare(): Promise<void> {
    const { service, directory } = this.#deps
    const files = this.#imports.flatMap(({ jobsOf }) => jobsOf.flatMap((job) => job.files))
    const told = this.#imports.map(({ name, expected }) => ({ name, ...expected, idSum: String(expected.idSum) }))
    await writeFile(join(directory, 'expected.json'), JSON.stringify(told))
    await writeFiles(directory, files)
    await service.start()
    for (const plan of this.#imports) await this.#create(plan)
    await service.end('SIGTERM')
    await withStore(join(directory, 'store'), async (store) => {
      for (const { name } of this.#imports.filter(({ hasViews }) => hasViews === true)) {
        await createViews(store, name, this.#idOf(name))
      }
    })
    await service.start()
  }

  async importAll(): Promise<void> {
    const { kills } = this.#options
    for (const [index, plan] of this.#imports.entries()) {
      const until = Math.round((kills * (index + 1)) / this.#imports.length)
      await this.#import(plan, until)
    }
  }

  async countAll(): Promise<void> {
    await withStore(join(this.#deps.directory, 'store'), async (store) => {
      for (const plan of this.#imports) {
        for (const check of await countStored(store, plan, this.#idOf(plan.name))) this.checks.push(check)
      }
    })
  }

  async #create({ name, refuses, mode }: ImportPlan): Promise<void> {
    const { service } = this.#deps
    const columns = refuses === 'default' ? `${schema}, d Int32 DEFAULT intDiv(1000, x)` : schema
    const key = refuses === 'key' ? 'intDiv(1000, x), id' : 'id'
    const engine = { engine: 'MergeTree', engine_partition_key: 'grp', engine_sorting_key: key }
    await service.call('POST', `/v0/datasources?${new URLSearchParams({ name, schema: columns, ...engine })}`)
    // The answer's shape is what other tests check.
    const { id } = (await service.call('GET', `/v0/datasources/${name}`)) as { readonly id: string }
    this.#ids.set(name, id)
    if (mode !== 'replace') return
    const lines = Array.from({ length: oldRows }, (_, n) => JSON.stringify({ id: n, grp: 0, n: 1, x: 1, text: 'old' }))
    await service.call('POST', `/v0/datasources?mode=append&format=ndjson&name=${name}`, lines.join('\n'))
  }

  async #import(plan: PlannedImport, killsUntil: number): Promise<void> {
    const { server, service, directory } = this.#deps
    const sentBefore = server.sentBytes
    const jobIds: string[] = []
    for (const { files } of plan.jobsOf) {
      const query = new URLSearchParams({ name: plan.name, mode: plan.mode ?? 'append' })
      for (const { name } of files) query.append('url', `${server.origin}/${name}`)
      const started = (await service.call('POST', `/v0/datasources?${query}`)) as { readonly id: string }
      jobIds.push(started.id)
      this.jobs += 1
    }
    await this.#killUntilDone(plan, { jobIds, killsUntil })
    const files = plan.jobsOf.flatMap((job) => job.files)
    const fileBytes = files.reduce((total, { name }) => total + statSync(join(directory, name)).size, 0)
    this.bytes.push({ name: plan.name, fileBytes, sentBytes: server.sentBytes - sentBefore })
    for (const [index, id] of jobIds.entries()) await this.#checkJob(plan, id, plan.jobsOf[index]?.files ?? [])
  }

  async #killUntilDone(
    plan: ImportPlan,
    { jobIds, killsUntil }: { readonly jobIds: readonly string[]; readonly killsUntil: number },
  ): Promise<void> {
    let nextKillMs = Date.now() + this.#random.below(this.#options.lifeMsMax)
    for (;;) {
      const states = await Promise.all(jobIds.map((id) => this.#jobOf(id)))
      const isAtWork = states.some(({ status }) => status === 'waiting' || status === 'working')
      if (!isAtWork) return
      const waitMs = this.kills < killsUntil ? nextKillMs - Date.now() : 100
      if (waitMs > 0) {
        await delay(Math.min(100, waitMs))
        continue
      }
      this.killsAtWork += 1
      await this.#kill()
      if (plan.mode === 'replace') await this.#checkReplaced(plan)
      nextKillMs = Date.now() + this.#random.below(this.#options.lifeMsMax)
    }
  }

  async #kill(): Promise<void> {
    const { service } = this.#deps
    this.kills += 1
    switch (this.#random.pick(['service', 'service', 'engine', 'both', 'start', 'twice', 'close'])) {
      case 'service':
        return await service.kill('service')
      case 'engine':
        return await service.kill('engine')
      case 'both':
        return await service.kill('both')
      case 'close':
        await service.end('SIGTERM')
        return await service.start()
      case 'twice':
        await service.kill('service')
        this.kills += 1
        return await service.kill('both')
      default:
        await service.end('SIGKILL')
        this.kills += 1
        await this.#killStart()
        return await service.start()
    }
  }

  /** A start takes a second or two; jobs go on towards its end. */
  async #killStart(): Promise<void> {
    const { service } = this.#deps
    const starting = service.start().catch(() => 'killed')
    await delay(this.#random.below(2_000))
    await service.end('SIGKILL')
    await starting
  }

  /** Nobody sees less or more than the old or the new content. */
  async #checkReplaced({ name }: ImportPlan): Promise<void> {
    const { data } = (await this.#call('POST', '/v0/sql', `SELECT count() AS n FROM ${name} FORMAT JSON`)) as {
      readonly data: readonly { readonly n: string }[]
    }
    const found = Number(data[0]?.n)
    const expected = this.#imports.find((one) => one.name === name)?.expected.rows
    if (found !== expected) this.checks.push({ what: `${name}: rows after a kill`, expected: oldRows, found })
  }

  async #checkJob(plan: PlannedImport, id: string, files: readonly FilePlan[]): Promise<void> {
    const { status, fields } = await this.#jobOf(id)
    const expected = expectedOf(files)
    const refusedRows = plan.refuses === undefined ? 0 : expected.refusedRows
    const rows = files.reduce((sum, file) => sum + file.rows, 0)
    this.rows += rows
    this.checks.push({
      what: `${plan.name}: job`,
      expected: {
        status: 'done',
        rowsRead: rows,
        storedRows: expected.rows,
        quarantinedRows: expected.badRows + refusedRows,
        invalidLines: 0,
      },
      found: {
        status,
        rowsRead: fields['rows_read'],
        storedRows: fields['imported_rows'],
        quarantinedRows: fields['quarantine_rows'],
        invalidLines: fields['invalid_lines'],
        ...(fields['error'] === undefined ? {} : { error: fields['error'] }),
      },
    })
  }

  async #jobOf(id: string): Promise<JobState> {
    const fields = (await this.#call('GET', `/v0/jobs/${id}`)) as Readonly<Record<string, unknown>>
    return { status: String(fields['status']), fields }
  }

  /** The first request of a new life may be sent down a connection to the one before, and the engine may be away. */
  async #call(method: string, path: string, body?: string): Promise<unknown> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#deps.service.call(method, path, body)
      } catch (error) {
        if (attempt === 10) throw error
        await delay(200 * attempt)
      }
    }
  }

  #idOf(name: string): string {
    const id = this.#ids.get(name)
    if (id === undefined) throw new Error(`there is no data source ${name}`)
    return id
  }
}

function planned(plan: ImportPlan, rows: number): PlannedImport {
  const number = importPlans.indexOf(plan)
  const jobsOf = Array.from({ length: plan.jobs ?? 1 }, (_, job) => ({
    files: plan.formats.map((format, index) => ({
      name: `${plan.name}_${job}_${index}.${format}`,
      format,
      firstId: (number * 10 + job * plan.formats.length + index + 1) * idsPerFile,
      rows: Math.floor(rows / plan.formats.length / (plan.jobs ?? 1)),
      hasRefused: plan.refuses !== undefined,
    })),
  }))
  return { ...plan, jobsOf, expected: expectedOf(jobsOf.flatMap(({ files }) => files)) }
}

async function withStore(path: string, work: (store: OpenedStore) => Promise<void>): Promise<void> {
  const store = await openEmbeddedStore(testStoreOptions(path), silentLogger)
  try {
    await work(store)
  } finally {
    await store.close()
  }
}

async function createViews(store: OpenedStore, name: string, id: string): Promise<void> {
  const window = 'SETTINGS non_replicated_deduplication_window = 10000'
  const statements = [
    `CREATE TABLE ws_0001.${name}_sums (grp UInt8, c UInt64, s UInt64) ENGINE = SummingMergeTree ORDER BY grp ${window}`,
    `CREATE TABLE ws_0001.${name}_totals (c UInt64, s UInt64) ENGINE = SummingMergeTree ORDER BY tuple() ${window}`,
    `CREATE MATERIALIZED VIEW ws_0001.${name}_view_1 TO ws_0001.${name}_sums AS
       SELECT grp, count() AS c, sum(id) AS s FROM ws_0001.${id} GROUP BY grp`,
    `CREATE MATERIALIZED VIEW ws_0001.${name}_view_2 TO ws_0001.${name}_totals AS
       SELECT sum(c) AS c, sum(s) AS s FROM ws_0001.${name}_sums`,
  ]
  for (const statement of statements) await store.command(statement)
}

async function countStored(store: OpenedStore, plan: PlannedImport, id: string): Promise<readonly ImportCheck[]> {
  const { name, expected, refuses, hasViews = false } = plan
  const quarantined = expected.badRows + (refuses === undefined ? 0 : expected.refusedRows)
  const stored = { rows: String(expected.rows), ids: String(expected.rows), idSum: String(expected.idSum) }
  const setAside = { rows: String(quarantined), ids: String(quarantined) }
  const checks: ImportCheck[] = []
  const check = async (what: string, wanted: object, sql: string): Promise<void> => {
    const [found] = await store.rows<Readonly<Record<string, unknown>>>(sql)
    const texts = Object.fromEntries(Object.entries(found ?? {}).map(([key, value]) => [key, String(value)]))
    checks.push({ what: `${name}: ${what}`, expected: wanted, found: texts })
  }
  const counts = 'toString(count()) AS rows, toString(uniqExact(id)) AS ids'
  await check('table', stored, `SELECT ${counts}, toString(sum(id)) AS idSum FROM ws_0001.${id}`)
  await check('quarantine', setAside, `SELECT ${counts} FROM ws_0001.${id}_quarantine`)
  if (!hasViews) return checks
  const sums = { rows: stored.rows, idSum: stored.idSum }
  for (const table of [`${name}_sums`, `${name}_totals`]) {
    await check(table, sums, `SELECT toString(sum(c)) AS rows, toString(sum(s)) AS idSum FROM ws_0001.${table}`)
  }
  return checks
}
