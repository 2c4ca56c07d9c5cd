/**
 * Damages a view and repairs it beside events, again and again, each time with kills at some moments of it.
 *
 * Once the job has ended and the log is empty, each row of the source is in the view once, by their number and by a sum of hashes. A
 * repair whose answer a kill has cut off is carried out as a whole, or there is no job.
 */
import { freePort } from '../free-port.ts'
import { SeededRandom } from '../seeded-random.ts'
import { createTestDirectory } from '../store/test-store.ts'
import { KillService, type ServiceWords } from './kill-service.ts'
import { dayOf, type KilledJob, KilledJobs } from './killed-jobs.ts'

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

class RepairsRun {
  done = 0
  partitions = 0
  rows = 0
  readonly wrong: string[] = []
  readonly #service: KillService
  readonly #options: RepairsOptions
  readonly #random: SeededRandom
  readonly #jobs: KilledJobs

  constructor(service: KillService, options: RepairsOptions) {
    this.#service = service
    this.#options = options
    this.#random = new SeededRandom(options.seed)
    this.#jobs = new KilledJobs({ kind: 'repair', source }, { service, random: this.#random })
  }

  get kills(): number {
    return this.#jobs.kills
  }

  get undone(): number {
    return this.#jobs.undone
  }

  async fill(): Promise<void> {
    await this.#jobs.create(source, 'day Date, id UInt64', {
      engine: 'MergeTree',
      engine_sorting_key: 'id',
      ...byMonth,
    })
    const summing = { engine: 'SummingMergeTree', engine_sorting_key: 'day', ...byMonth }
    await this.#jobs.create(target, 'day Date, n UInt64, total UInt64', summing)
    await this.#jobs.node('to_near', byDay, { datasource: target })
    await this.#jobs.fill(this.#options.rows)
  }

  async round(round: number): Promise<void> {
    await this.#damage()
    for (;;) {
      const job = await this.#jobs.ended(round, () => this.#service.call('POST', `${node}/repair`))
      if (job === null) continue
      await this.#judge(job)
      return
    }
  }

  /** All of it is gone, or some days have more. */
  async #damage(): Promise<void> {
    if (this.#random.below(3) === 0) {
      await this.#jobs.calm('POST', `/v0/datasources/${target}/truncate`)
      return
    }
    const rows = Array.from({ length: 3 }, () => JSON.stringify({ day: dayOf(this.#random.below(50)), n: 1, total: 7 }))
    await this.#jobs.calm('POST', `/v0/events?name=${target}&wait=true`, rows.join('\n'))
  }

  async #judge(job: KilledJob): Promise<void> {
    if (job.status !== 'done') {
      this.wrong.push(JSON.stringify(job))
      return
    }
    this.done += 1
    this.partitions += job.partitions_repaired ?? 0
    const expected = await this.#jobs.expected()
    this.rows = Number(expected?.['n'] ?? 0)
    const [found] = await this.#jobs.rowsOf(`SELECT sum(n) AS n, sum(total) AS total FROM ${target}`)
    if (JSON.stringify(found) !== JSON.stringify(expected)) {
      this.wrong.push(`it has ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`)
    }
    const told = (await this.#jobs.calm('GET', `${node}/verify`)) as { readonly equal: boolean | null }
    if (told.equal !== true) this.wrong.push(`it is told as ${JSON.stringify(told)}`)
  }
}
