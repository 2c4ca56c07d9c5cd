/**
 * Populates views of a data source beside events, again and again, each time with kills at some moments of it.
 *
 * Once the job has ended and the log is empty, each row of the source is in the target once, and in what is behind it at the end of a
 * cascade: by their number and by a sum of hashes. A populate whose answer a kill has cut off is carried out as a whole, or there is no job.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../free-port.ts'
import { SeededRandom } from '../seeded-random.ts'
import { createTestDirectory } from '../store/test-store.ts'
import { KillService, type ServiceWords, victims } from './kill-service.ts'

export interface PopulatesOptions {
  readonly rounds: number
  readonly rows: number
  readonly seed: number
}

export interface PopulatesReport {
  readonly kills: number
  /** Populates that were carried out, and those that a kill came before. */
  readonly done: number
  readonly undone: number
  /** Rows in the source at the end. */
  readonly rows: number
  /** What was seen that must not be. */
  readonly wrong: readonly string[]
  readonly words: ServiceWords
}

const source = 'flowing'
/** Of a populate, so that a kill comes between some. */
const chunkCount = 40
const daySchema = 'day Date, n UInt64, total UInt64'
const byDay = `SELECT day, count() AS n, sum(cityHash64(id)) AS total FROM ${source} GROUP BY day`
const summing = { engine: 'SummingMergeTree', engine_sorting_key: 'day' }

export async function runPopulates(options: PopulatesOptions): Promise<PopulatesReport> {
  const directory = await createTestDirectory()
  const small = { MILLRACE_POPULATE_CHUNK_ROWS_MAX: String(Math.max(1, Math.floor(options.rows / chunkCount))) }
  const service = new KillService(directory.path, await freePort(), small)
  const run = new PopulatesRun(service, options)
  try {
    await service.start()
    await run.fill()
    for (let round = 0; round < options.rounds; round += 1) await run.round(round)
    await service.end('SIGTERM')
    const { kills, done, undone, rows, wrong } = run
    return { kills, done, undone, rows, wrong, words: service.words }
  } finally {
    await service.end('SIGKILL')
    await directory.remove()
  }
}

interface ShownJob {
  readonly id: string
  readonly status: string
  readonly errors?: readonly string[]
}

class PopulatesRun {
  kills = 0
  done = 0
  undone = 0
  rows = 0
  readonly wrong: string[] = []
  readonly #service: KillService
  readonly #options: PopulatesOptions
  readonly #random: SeededRandom
  readonly #jobs = new Set<string>()
  #next = 0
  /** How long a populate took that nobody killed. */
  #populateMs = 1_000

  constructor(service: KillService, options: PopulatesOptions) {
    this.#service = service
    this.#options = options
    this.#random = new SeededRandom(options.seed)
  }

  async fill(): Promise<void> {
    const keys = { engine: 'MergeTree', engine_sorting_key: 'id', engine_partition_key: 'toYYYYMM(day)' }
    await this.#create(source, 'day Date, id UInt64', keys)
    const lines = Array.from({ length: this.#options.rows }, () => this.#line().join(','))
    await this.#service.call('POST', `/v0/datasources?mode=append&name=${source}`, `day,id\n${lines.join('\n')}\n`)
  }

  /** Every second one with a cascade behind it, made and filled at once; the others are filled a second time, with truncate. */
  async round(round: number): Promise<void> {
    const [near, far] = [`near_${round}`, `far_${round}`]
    const hasCascade = round % 2 === 0
    await this.#create(near, daySchema, summing)
    if (hasCascade) {
      await this.#create(`landing_${round}`, daySchema, { engine: 'Null' })
      await this.#create(far, daySchema, summing)
      const all = 'SELECT day, n, total FROM'
      await this.#node(`to_landing_${round}`, `${all} ${near}`, { datasource: `landing_${round}` })
      await this.#node(`to_far_${round}`, `${all} landing_${round}`, { datasource: far })
    }
    const pipe = `to_near_${round}`
    const made = await this.#populated(round, () => this.#node(pipe, byDay, { datasource: near, populate: 'true' }))
    const isMade = made !== null && (await this.#judge(made, hasCascade ? [near, far] : [near]))
    if (isMade && !hasCascade) {
      const path = `/v0/pipes/${pipe}/nodes/${pipe}_view/population?truncate=true`
      const again = await this.#populated(round, () => this.#service.call('POST', path))
      if (again !== null) await this.#judge(again, [near])
    }
    for (const name of [`to_landing_${round}`, `to_far_${round}`, pipe]) {
      await this.#calm('DELETE', `/v0/pipes/${name}?force=true`).catch(() => undefined)
    }
  }

  /** The job once it has ended, however often it was killed; null where a kill came before it. */
  async #populated(round: number, ask: () => Promise<unknown>): Promise<ShownJob | null> {
    let isOver = false
    const sending = (async () => {
      while (!isOver) await this.#send(20)
    })()
    try {
      const startedAtMs = performance.now()
      const asking = ask().catch(() => null)
      const isCut = this.#random.below(4) === 0
      if (!isCut) await asking
      // The first one tells how long it takes.
      const kills = round === 0 ? 0 : 1 + this.#random.below(3)
      for (let kill = 0; kill < kills; kill += 1) {
        await delay(this.#random.below(Math.ceil(isCut ? 100 : this.#populateMs / 2)))
        await this.#service.kill(victims[this.#random.below(victims.length)] ?? 'service')
        this.kills += 1
      }
      await asking
      const job = await this.#endedJob()
      if (round === 0) this.#populateMs = performance.now() - startedAtMs
      return job
    } finally {
      isOver = true
      await sending
    }
  }

  async #judge(job: ShownJob, tables: readonly string[]): Promise<boolean> {
    if (job.status !== 'done') {
      this.wrong.push(JSON.stringify(job))
      return false
    }
    this.done += 1
    await this.#calm('GET', '/v0/datasources')
    await this.#service.untilStored(source)
    const [expected] = await this.#rowsOf(`SELECT count() AS n, sum(cityHash64(id)) AS total FROM ${source}`)
    this.rows = Number(expected?.['n'] ?? 0)
    for (const table of tables) {
      const [found] = await this.#rowsOf(`SELECT sum(n) AS n, sum(total) AS total FROM ${table}`)
      if (JSON.stringify(found) === JSON.stringify(expected)) continue
      this.wrong.push(`${table} has ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`)
    }
    return true
  }

  #line(): readonly [day: string, id: number] {
    const id = this.#next
    this.#next += 1
    return [`2026-0${1 + (id % 4)}-1${id % 7}`, id]
  }

  /** What a kill cuts off may be there or not: it is in the views then, too, or not. */
  async #send(count: number): Promise<void> {
    const lines = Array.from({ length: count }, () => {
      const [day, id] = this.#line()
      return JSON.stringify({ day, id })
    })
    await this.#service.call('POST', `/v0/events?name=${source}`, lines.join('\n')).catch(() => delay(20))
  }

  async #endedJob(): Promise<ShownJob | null> {
    for (;;) {
      const { jobs } = (await this.#calm('GET', '/v0/jobs?kind=populate')) as { readonly jobs: readonly ShownJob[] }
      const found = jobs.find((job) => !this.#jobs.has(job.id))
      if (found === undefined) {
        this.undone += 1
        return null
      }
      if (!['waiting', 'working'].includes(found.status)) {
        this.#jobs.add(found.id)
        // The answer's shape is what other tests check.
        return (await this.#calm('GET', `/v0/jobs/${found.id}`)) as ShownJob
      }
      await delay(20)
    }
  }

  async #create(name: string, schema: string, engine: Readonly<Record<string, string>>): Promise<void> {
    await this.#calm('POST', `/v0/datasources?${new URLSearchParams({ name, schema, ...engine })}`)
  }

  /** A pipe of one node more than there must be, which fills a data source. */
  async #node(pipe: string, sql: string, target: Readonly<Record<string, string>>): Promise<unknown> {
    const nodes = [{ name: `${pipe}_first`, sql: 'SELECT 1 AS one' }]
    await this.#calm('POST', '/v0/pipes', JSON.stringify({ name: pipe, nodes }))
    const parameters = new URLSearchParams({ name: `${pipe}_view`, type: 'materialized', ...target })
    return await this.#service.call('POST', `/v0/pipes/${pipe}/nodes?${parameters}`, sql)
  }

  async #rowsOf(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const { data } = (await this.#calm('POST', '/v0/sql', `${sql} FORMAT JSON`)) as {
      readonly data: readonly Readonly<Record<string, unknown>>[]
    }
    return data
  }

  /** The first request of a new life may be sent down a connection to the one before. */
  async #calm(method: string, path: string, body?: string): Promise<unknown> {
    return await this.#service.call(method, path, body).catch(() => this.#service.call(method, path, body))
  }
}
