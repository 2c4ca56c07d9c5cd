import { setTimeout as delay } from 'node:timers/promises'
import type { SeededRandom } from '../seeded-random.ts'
import { type KillService, victims } from './kill-service.ts'

export interface KilledJob {
  readonly id: string
  readonly status: string
  readonly errors?: readonly string[]
  readonly partitions_repaired?: number
}

interface KilledJobsDeps {
  readonly service: KillService
  readonly random: SeededRandom
}

/** Days and numbers that a data source of `day Date, id UInt64` gets by an import, and then by events beside the jobs that are killed. */
export class KilledJobs {
  kills = 0
  /** Jobs that a kill came before. */
  undone = 0
  readonly #kind: string
  readonly #source: string
  readonly #service: KillService
  readonly #random: SeededRandom
  readonly #seen = new Set<string>()
  #next = 0
  /** How long a job took that nobody killed. */
  #jobMs = 1_000

  /** @param kind as the list of jobs is asked for it. */
  constructor(
    { kind, source }: { readonly kind: string; readonly source: string },
    { service, random }: KilledJobsDeps,
  ) {
    this.#kind = kind
    this.#source = source
    this.#service = service
    this.#random = random
  }

  async fill(rowCount: number): Promise<void> {
    const lines = Array.from({ length: rowCount }, () => this.#line().join(','))
    const path = `/v0/datasources?mode=append&name=${this.#source}`
    await this.#service.call('POST', path, `day,id\n${lines.join('\n')}\n`)
  }

  /** The job that is asked for once it has ended, however often it was killed; null where a kill came before it. */
  async ended(round: number, ask: () => Promise<unknown>): Promise<KilledJob | null> {
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
        await delay(this.#random.below(Math.ceil(isCut ? 100 : this.#jobMs / 2)))
        await this.#service.kill(victims[this.#random.below(victims.length)] ?? 'service')
        this.kills += 1
      }
      await asking
      const job = await this.#endedJob()
      if (round === 0) this.#jobMs = performance.now() - startedAtMs
      return job
    } finally {
      isOver = true
      await sending
    }
  }

  /** What a view of all rows has to have, once all of them are stored: `n` rows, and the `total` of their hashes. */
  async expected(): Promise<Readonly<Record<string, unknown>> | undefined> {
    await this.calm('GET', '/v0/datasources')
    await this.#service.untilStored(this.#source)
    const [row] = await this.rowsOf(`SELECT count() AS n, sum(cityHash64(id)) AS total FROM ${this.#source}`)
    return row
  }

  async create(name: string, schema: string, engine: Readonly<Record<string, string>>): Promise<void> {
    await this.calm('POST', `/v0/datasources?${new URLSearchParams({ name, schema, ...engine })}`)
  }

  /** A pipe of one node more than there must be, which fills a data source. */
  async node(pipe: string, sql: string, target: Readonly<Record<string, string>>): Promise<unknown> {
    const nodes = [{ name: `${pipe}_first`, sql: 'SELECT 1 AS one' }]
    await this.calm('POST', '/v0/pipes', JSON.stringify({ name: pipe, nodes }))
    const parameters = new URLSearchParams({ name: `${pipe}_view`, type: 'materialized', ...target })
    return await this.#service.call('POST', `/v0/pipes/${pipe}/nodes?${parameters}`, sql)
  }

  async rowsOf(sql: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
    const { data } = (await this.calm('POST', '/v0/sql', `${sql} FORMAT JSON`)) as {
      readonly data: readonly Readonly<Record<string, unknown>>[]
    }
    return data
  }

  /** The first request of a new life may be sent down a connection to the one before. */
  async calm(method: string, path: string, body?: string): Promise<unknown> {
    return await this.#service.call(method, path, body).catch(() => this.#service.call(method, path, body))
  }

  #line(): readonly [day: string, id: number] {
    const id = this.#next
    this.#next += 1
    return [dayOf(id), id]
  }

  /** What a kill cuts off may be there or not: it is in the views then, too, or not. */
  async #send(count: number): Promise<void> {
    const lines = Array.from({ length: count }, () => {
      const [day, id] = this.#line()
      return JSON.stringify({ day, id })
    })
    await this.#service.call('POST', `/v0/events?name=${this.#source}`, lines.join('\n')).catch(() => delay(20))
  }

  async #endedJob(): Promise<KilledJob | null> {
    for (;;) {
      const { jobs } = (await this.calm('GET', `/v0/jobs?kind=${this.#kind}`)) as {
        readonly jobs: readonly KilledJob[]
      }
      const found = jobs.find((job) => !this.#seen.has(job.id))
      if (found === undefined) {
        this.undone += 1
        return null
      }
      if (!['waiting', 'working'].includes(found.status)) {
        this.#seen.add(found.id)
        // The answer's shape is what other tests check.
        return (await this.calm('GET', `/v0/jobs/${found.id}`)) as KilledJob
      }
      await delay(20)
    }
  }
}

/** One of some days in four months. */
export function dayOf(number: number): string {
  return `2026-0${1 + (number % 4)}-1${number % 7}`
}
