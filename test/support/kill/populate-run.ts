/**
 * Populates views of a data source beside events, again and again, each time with kills at some moments of it.
 *
 * Once the job has ended and the log is empty, each row of the source is in the target once, and in what is behind it at the end of a
 * cascade: by their number and by a sum of hashes. A populate whose answer a kill has cut off is carried out as a whole, or there is no job.
 */
import { freePort } from '../free-port.ts'
import { SeededRandom } from '../seeded-random.ts'
import { createTestDirectory } from '../store/test-store.ts'
import { KillService, type ServiceWords } from './kill-service.ts'
import { type KilledJob, KilledJobs } from './killed-jobs.ts'

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

class PopulatesRun {
  done = 0
  rows = 0
  readonly wrong: string[] = []
  readonly #service: KillService
  readonly #options: PopulatesOptions
  readonly #jobs: KilledJobs

  constructor(service: KillService, options: PopulatesOptions) {
    this.#service = service
    this.#options = options
    this.#jobs = new KilledJobs({ kind: 'populate', source }, { service, random: new SeededRandom(options.seed) })
  }

  get kills(): number {
    return this.#jobs.kills
  }

  get undone(): number {
    return this.#jobs.undone
  }

  async fill(): Promise<void> {
    const keys = { engine: 'MergeTree', engine_sorting_key: 'id', engine_partition_key: 'toYYYYMM(day)' }
    await this.#jobs.create(source, 'day Date, id UInt64', keys)
    await this.#jobs.fill(this.#options.rows)
  }

  /** Every second one with a cascade behind it, made and filled at once; the others are filled a second time, with truncate. */
  async round(round: number): Promise<void> {
    const [near, far] = [`near_${round}`, `far_${round}`]
    const hasCascade = round % 2 === 0
    await this.#jobs.create(near, daySchema, summing)
    if (hasCascade) {
      await this.#jobs.create(`landing_${round}`, daySchema, { engine: 'Null' })
      await this.#jobs.create(far, daySchema, summing)
      const all = 'SELECT day, n, total FROM'
      await this.#jobs.node(`to_landing_${round}`, `${all} ${near}`, { datasource: `landing_${round}` })
      await this.#jobs.node(`to_far_${round}`, `${all} landing_${round}`, { datasource: far })
    }
    const pipe = `to_near_${round}`
    const made = await this.#jobs.ended(round, () =>
      this.#jobs.node(pipe, byDay, { datasource: near, populate: 'true' }),
    )
    const isMade = made !== null && (await this.#judge(made, hasCascade ? [near, far] : [near]))
    if (isMade && !hasCascade) {
      const path = `/v0/pipes/${pipe}/nodes/${pipe}_view/population?truncate=true`
      const again = await this.#jobs.ended(round, () => this.#service.call('POST', path))
      if (again !== null) await this.#judge(again, [near])
    }
    for (const name of [`to_landing_${round}`, `to_far_${round}`, pipe]) {
      await this.#jobs.calm('DELETE', `/v0/pipes/${name}?force=true`).catch(() => undefined)
    }
  }

  async #judge(job: KilledJob, tables: readonly string[]): Promise<boolean> {
    if (job.status !== 'done') {
      this.wrong.push(JSON.stringify(job))
      return false
    }
    this.done += 1
    const expected = await this.#jobs.expected()
    this.rows = Number(expected?.['n'] ?? 0)
    for (const table of tables) {
      const [found] = await this.#jobs.rowsOf(`SELECT sum(n) AS n, sum(total) AS total FROM ${table}`)
      if (JSON.stringify(found) === JSON.stringify(expected)) continue
      this.wrong.push(`${table} has ${JSON.stringify(found)} instead of ${JSON.stringify(expected)}`)
    }
    return true
  }
}
