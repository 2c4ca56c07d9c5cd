/**
 * Deletes rows of a data source beside events, again and again, each time with a kill at some moment of it.
 *
 * What was acknowledged before a delete was asked for and matches is gone once its job has ended, as often as it was killed; what
 * does not match stays; of events that came beside it, a beginning is gone, and no other. No row is there twice. A delete whose
 * answer the kill has cut off is carried out as a whole, or there is no job of it.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '../free-port.ts'
import { SeededRandom } from '../seeded-random.ts'
import { createTestDirectory } from '../store/test-store.ts'
import { KillService, type ServiceWords, victims } from './kill-service.ts'

export interface DeletesOptions {
  readonly rounds: number
  readonly rowsPerRound: number
  readonly seed: number
}

export interface DeletesReport {
  /** Deletes that were carried out, and those that a kill came before. */
  readonly done: number
  readonly undone: number
  readonly rowsDeleted: number
  /** Jobs that knew how many rows they deleted. */
  readonly counted: number
  /** What was seen that must not be. */
  readonly wrong: readonly string[]
  readonly words: ServiceWords
}

const source = 'shrinking'
const bucketCount = 4

export async function runDeletes(options: DeletesOptions): Promise<DeletesReport> {
  const directory = await createTestDirectory()
  const service = new KillService(directory.path, await freePort())
  const run = new DeletesRun(service, options)
  try {
    await service.start()
    const schema = 'id UInt64, bucket UInt8, pad String'
    await service.call('POST', `/v0/datasources?${new URLSearchParams({ name: source, schema })}`)
    for (let round = 0; round < options.rounds; round += 1) await run.round(round)
    await service.end('SIGTERM')
    const { done, undone, rowsDeleted, counted, wrong } = run
    return { done, undone, rowsDeleted, counted, wrong, words: service.words }
  } finally {
    await service.end('SIGKILL')
    await directory.remove()
  }
}

interface SentRow {
  readonly id: number
  /** False for one whose answer a kill has cut off: it may be there. */
  readonly isSure: boolean
}

interface ShownJob {
  readonly id: string
  readonly status: string
  readonly error?: string
  readonly rows_deleted?: number | null
}

class DeletesRun {
  done = 0
  undone = 0
  rowsDeleted = 0
  counted = 0
  readonly wrong: string[] = []
  readonly #service: KillService
  readonly #options: DeletesOptions
  readonly #random: SeededRandom
  /** What may be in the data source. */
  readonly #rows = new Map<number, SentRow>()
  readonly #jobs = new Set<string>()
  #next = 0
  /** How long a delete took that nobody killed. */
  #deleteMs = 300

  constructor(service: KillService, options: DeletesOptions) {
    this.#service = service
    this.#options = options
    this.#random = new SeededRandom(options.seed)
  }

  async round(number: number): Promise<void> {
    while (this.#rows.size < this.#options.rowsPerRound) await this.#send(100)
    const bucket = this.#random.below(bucketCount)
    const before = [...this.#rows.values()].filter(({ id }) => id % bucketCount === bucket)
    const firstBeside = this.#next
    let isOver = false
    const sending = (async () => {
      while (!isOver && (await this.#send(10)));
    })()
    const startedAtMs = performance.now()
    const asking = this.#ask(bucket).catch(() => null)
    // The first one tells how long it takes; later ones are killed at some moment of it.
    if (number > 0) {
      await delay(this.#random.below(Math.ceil(1.2 * this.#deleteMs)))
      await this.#service.kill(victims[this.#random.below(victims.length)] ?? 'service')
    }
    const answered = await asking
    const job = await this.#endedJob(answered)
    if (number === 0) this.#deleteMs = performance.now() - startedAtMs
    isOver = true
    await sending
    await this.#service.untilStored(source)
    await this.#judge({ bucket, before, firstBeside, job, wasAnswered: answered !== null })
  }

  async #judge(seen: Seen): Promise<void> {
    const { bucket, before, firstBeside, job, wasAnswered } = seen
    const stored = await this.#stored()
    if (job === null || job.status !== 'done') {
      this.undone += 1
      if (wasAnswered || job !== null) this.wrong.push(`the job of bucket ${bucket}: ${JSON.stringify(job)}`)
      this.#compare(stored, new Set())
      return
    }
    this.done += 1
    for (const { id } of before) if (stored.has(id)) this.wrong.push(`${id} of bucket ${bucket} is there`)
    const beside = [...this.#rows.values()].filter(({ id }) => id >= firstBeside && id % bucketCount === bucket)
    const firstLeft = beside.find(({ id }) => stored.has(id))?.id ?? Number.POSITIVE_INFINITY
    const gone = [...before, ...beside.filter(({ id, isSure }) => id < firstLeft || !(isSure || stored.has(id)))]
    const count = job.rows_deleted ?? null
    const sureCount = gone.filter(({ isSure }) => isSure).length
    if (count !== null) {
      this.counted += 1
      if (count < sureCount || count > gone.length) this.wrong.push(`${count} rows deleted instead of ${sureCount}`)
    }
    this.rowsDeleted += gone.length
    for (const { id } of gone) this.#rows.delete(id)
    this.#compare(stored, new Set(gone.map(({ id }) => id)))
  }

  #compare(stored: ReadonlySet<number>, gone: ReadonlySet<number>): void {
    for (const id of stored) if (!this.#rows.has(id)) this.wrong.push(`${id} is there${gone.has(id) ? ' still' : ''}`)
    for (const [id, { isSure }] of this.#rows) {
      if (stored.has(id)) continue
      if (isSure) this.wrong.push(`${id} is lost`)
      this.#rows.delete(id)
    }
  }

  /** False when they were not acknowledged. */
  async #send(count: number): Promise<boolean> {
    const ids = Array.from({ length: count }, (_, index) => this.#next + index)
    this.#next += count
    const lines = ids.map((id) => JSON.stringify({ id, bucket: id % bucketCount, pad: 'x'.repeat(50) }))
    let isSure = true
    try {
      await this.#service.call('POST', `/v0/events?name=${source}`, lines.join('\n'))
    } catch (error) {
      // What a barrier refuses is not there.
      if (error instanceof Error && error.message.includes(' answered ')) return true
      isSure = false
    }
    for (const id of ids) this.#rows.set(id, { id, isSure })
    return isSure
  }

  async #ask(bucket: number): Promise<string> {
    const body = `delete_condition=bucket = ${bucket}`
    // The answer's shape is what other tests check.
    const { id } = (await this.#service.call('POST', `/v0/datasources/${source}/delete`, body)) as ShownJob
    return id
  }

  /** The job that was made last, once it has ended; null when there is none of this round. */
  async #endedJob(id: string | null): Promise<ShownJob | null> {
    for (;;) {
      const { jobs } = (await this.#calm('GET', '/v0/jobs?kind=delete_data')) as { readonly jobs: readonly ShownJob[] }
      const found = jobs.find((job) => (id === null ? !this.#jobs.has(job.id) : job.id === id))
      if (found === undefined) return null
      if (!['waiting', 'working'].includes(found.status)) {
        this.#jobs.add(found.id)
        return (await this.#calm('GET', `/v0/jobs/${found.id}`)) as ShownJob
      }
      await delay(20)
    }
  }

  async #stored(): Promise<ReadonlySet<number>> {
    const sql = `SELECT groupArray(id) AS ids FROM ${source} FORMAT JSON`
    const { data } = (await this.#calm('POST', '/v0/sql', sql)) as {
      readonly data: readonly { readonly ids: readonly (number | string)[] }[]
    }
    const ids = (data[0]?.ids ?? []).map(Number)
    const distinct = new Set(ids)
    if (distinct.size !== ids.length) this.wrong.push(`${ids.length - distinct.size} rows are there twice`)
    return distinct
  }

  /** The first request of a new life may be sent down a connection to the one before. */
  async #calm(method: string, path: string, body?: string): Promise<unknown> {
    return await this.#service.call(method, path, body).catch(() => this.#service.call(method, path, body))
  }
}

interface Seen {
  readonly bucket: number
  /** What was sent before the delete was asked for, and matches. */
  readonly before: readonly SentRow[]
  readonly firstBeside: number
  readonly job: ShownJob | null
  readonly wasAnswered: boolean
}
