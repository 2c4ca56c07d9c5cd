/**
 * Damages a view and repairs it beside events, again and again, each time with kills at some moments of it.
 *
 * Once the job has ended and the log is empty, each row of the source is in the view once, by their number and by a sum of hashes. A
 * repair whose answer a kill has cut off is carried out as a whole, or there is no job.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../free-port.ts'
import { SeededRandom } from '../seeded-random.ts'
import { createTestDirectory } from '../store/test-store.ts'
import { KillService, type ServiceWords, victims } from './kill-service.ts'

export interface RepairsOptions {
  readonly rounds: number
  readonly rows: number
  readonly seed: number
}

export interface RepairsReport {
  readonly kills: number
  /** Repairs that were carried out, and those that a kill came before. */
  readonly done: number
  readonly undone: number
  /** Partitions that they made anew. */
  readonly partitions: number
  /** Rows in the source at the end. */
  readonly rows: number
  /** What was seen that must not be. */
  readonly wrong: readonly string[]
  readonly words: ServiceWords
}

const source = 'flowing'
const target = 'near'
const byDay = `SELECT day, count() AS n, sum(cityHash64(id)) AS total FROM ${source} GROUP BY day`
const byMonth = { engine_partition_key: 'toYYYYMM(day)' }
const node = '/v0/pipes/to_near/nodes/to_near_view'

export async function runRepairs(options: RepairsOptions): Promise<RepairsReport> {
  const directory = await createTestDirectory()
  const small = { MILLRACE_POPULATE_CHUNK_ROWS_MAX: String(Math.max(1, Math.floor(options.rows / 40))) }
  const service = new KillService(directory.path, await freePort(), small)
  const run = new RepairsRun(service, options)
  try {
    await service.start()
    await run.fill()
    for (let round = 0; round < options.rounds; round += 1) await run.round(round)
    await service.end('SIGTERM')
    const { kills, done, undone, partitions, rows, wrong } = run
    return { kills, done, undone, partitions, rows, wrong, words: service.words }
  } finally {
    await service.end('SIGKILL')
    await directory.remove()
  }
}

interface ShownJob {
  readonly id: string
  readonly status: string
  readonly partitions_repaired?: number
}

class RepairsRun {
  kills = 0
  done = 0
  undone = 0
  partitions = 0
  rows = 0
  readonly wrong: string[] = []
  readonly #service: KillService
  readonly #options: RepairsOptions
  readonly #random: SeededRandom
  readonly #jobs = new Set<string>()
  #next = 0
  /** How long a repair took that nobody killed. */
  #repairMs = 1_000

  constructor(service: KillService, options: RepairsOptions) {
    this.#service = service
    this.#options = options
    this.#random = new SeededRandom(options.seed)
  }

  async fill(): Promise<void> {
    await this.#create(source, 'day Date, id UInt64', { engine: 'MergeTree', engine_sorting_key: 'id', ...byMonth })
    const summing = { engine: 'SummingMergeTree', engine_sorting_key: 'day', ...byMonth }
    await this.#create(target, 'day Date, n UInt64, total UInt64', summing)
    const nodes = [{ name: 'to_near_first', sql: 'SELECT 1 AS one' }]
    await this.#calm('POST', '/v0/pipes', JSON.stringify({ name: 'to_near', nodes }))
    const parameters = new URLSearchParams({ name: 'to_near_view', type: 'materialized', datasource: target })
    await this.#calm('POST', `/v0/pipes/to_near/nodes?${parameters}`, byDay)
    const lines = Array.from({ length: this.#options.rows }, () => this.#line().join(','))
    await this.#service.call('POST', `/v0/datasources?mode=append&name=${source}`, `day,id\n${lines.join('\n')}\n`)
  }

  async round(round: number): Promise<void> {
    await this.#damage()
    for (;;) {
      const job = await this.#repaired(round)
      if (job === null) continue
      await this.#judge(job)
      return
    }
  }

  /** All of it is gone, or some days have more. */
  async #damage(): Promise<void> {
    if (this.#random.below(3) === 0) {
      await this.#calm('POST', `/v0/datasources/${target}/truncate`)
      return
    }
    const rows = Array.from({ length: 3 }, () =>
      JSON.stringify({ day: this.#day(this.#random.below(50)), n: 1, total: 7 }),
    )
    await this.#calm('POST', `/v0/events?name=${target}&wait=true`, rows.join('\n'))
  }

  /** The job once it has ended, however often it was killed; null where a kill came before it. */
  async #repaired(round: number): Promise<ShownJob | null> {
    let isOver = false
    const sending = (async () => {
      while (!isOver) await this.#send(20)
    })()
    try {
      const startedAtMs = performance.now()
      const asking = this.#service.call('POST', `${node}/repair`).catch(() => null)
      const isCut = this.#random.below(4) === 0
      if (!isCut) await asking
      // The first one tells how long it takes.
      const kills = round === 0 ? 0 : 1 + this.#random.below(3)
      for (let kill = 0; kill < kills; kill += 1) {
        await delay(this.#random.below(Math.ceil(isCut ? 100 : this.#repairMs / 2)))
        await this.#service.kill(victims[this.#random.below(victims.length)] ?? 'service')
        this.kills += 1
      }
      await asking
      const job = await this.#endedJob()
      if (round === 0) this.#repairMs = performance.now() - startedAtMs
      return job
    } finally {
      isOver = true
      await sending
    }
  }

  async #judge(job: ShownJob): Promise<void> {
    if (job.status !== 'done') {
      this.wrong.push(JSON.stringify(job))
      return
    }
    this.done += 1
    this.partitions += job.partitions_repaired ?? 0
    await this.#calm('GET', '/v0/datasources')
    await this.#service.untilStored(source)
    const [expected] = await this.#rowsOf(`SELECT count() AS n, sum(cityHash64(id)) AS total FROM ${source}`)
    this.rows = Number(expected?.['n'] ?? 0)
    const [found] = await this.#rowsOf(`SELECT sum(n) AS n, sum(total) AS total FROM ${target}`)
    if (JSON.stringify(found) !== JSON.stringify(expected)) {
      this.wrong.push(`it has ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`)
    }
    const told = (await this.#calm('GET', `${node}/verify`)) as { readonly equal: boolean | null }
    if (told.equal !== true) this.wrong.push(`it is told as ${JSON.stringify(told)}`)
  }

  #day(number: number): string {
    return `2026-0${1 + (number % 4)}-1${number % 7}`
  }

  #line(): readonly [day: string, id: number] {
    const id = this.#next
    this.#next += 1
    return [this.#day(id), id]
  }

  /** What a kill cuts off may be there or not: it is in the view then, too, or not. */
  async #send(count: number): Promise<void> {
    const lines = Array.from({ length: count }, () => {
      const [day, id] = this.#line()
      return JSON.stringify({ day, id })
    })
    await this.#service.call('POST', `/v0/events?name=${source}`, lines.join('\n')).catch(() => delay(20))
  }

  async #endedJob(): Promise<ShownJob | null> {
    for (;;) {
      const { jobs } = (await this.#calm('GET', '/v0/jobs?kind=repair')) as { readonly jobs: readonly ShownJob[] }
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
