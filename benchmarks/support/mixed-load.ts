import { setTimeout as delay } from 'node:timers/promises'
import { SeededRandom } from '../../test/support/seeded-random.ts'
import { createEventsTable, eventsTable } from './event-receivers.ts'
import type { ServiceClient } from './service-client.ts'
import { workloads } from './workloads.ts'

/** How often each thing is done, in seconds; 0 never. */
export interface MixedLoadPlan {
  readonly querySeconds: number
  readonly importSeconds: number
  readonly replaceSeconds: number
  readonly alterSeconds: number
  /** Columns at most. */
  readonly alterMax: number
  readonly seed: number
}

/** What was done until now. */
export interface MixedLoadCounts {
  queries: number
  importedRows: number
  replaces: number
  columnsAdded: number
  failures: number
}

const importRowCount = 20_000
const importsTable = 'bench_imports'
const replacedTable = 'bench_replaced'
const pipeName = 'bench_pipe'
const tables = workloads.events.formats.ndjson

const queries: readonly string[] = [
  `SELECT path, count(), sum(n) FROM ${eventsTable} GROUP BY path ORDER BY path`,
  `SELECT count(), max(ts) FROM ${eventsTable} WHERE user = 'u77'`,
  `SELECT user, uniq(path), quantile(0.9)(v) FROM ${importsTable} GROUP BY user ORDER BY user LIMIT 5000 FORMAT CSV`,
  `SELECT * FROM ${replacedTable} LIMIT 20000 FORMAT JSON`,
  `SELECT * FROM ${eventsTable} ORDER BY user, ts LIMIT 100 FORMAT JSON`,
]

/**
 * Everything beside the events: queries by SQL and by an endpoint, imports as CSV and NDJSON, replaces of all and of a part,
 * and alters that add a column to the data source of the events. One loop for each; a failure is counted and told.
 */
export class MixedLoad {
  readonly counts: MixedLoadCounts = { queries: 0, importedRows: 0, replaces: 0, columnsAdded: 0, failures: 0 }
  readonly #client: ServiceClient
  readonly #plan: MixedLoadPlan
  readonly #onFailure: (text: string) => void
  readonly #stop = new AbortController()
  readonly #loops: Promise<void>[] = []
  readonly #bodies: { readonly csv: string; readonly ndjson: string }

  constructor(client: ServiceClient, plan: MixedLoadPlan, onFailure: (text: string) => void) {
    this.#client = client
    this.#plan = plan
    this.#onFailure = onFailure
    const random = new SeededRandom(plan.seed)
    const rows = Array.from({ length: importRowCount }, (_, index) => workloads.events.row(random, index, false))
    this.#bodies = {
      csv: `${workloads.events.csvHeader}\n${rows.map((row) => row.csv).join('\n')}\n`,
      ndjson: `${rows.map((row) => row.ndjson).join('\n')}\n`,
    }
  }

  /** Makes what the load works on, the data source of the events too. */
  async prepare(): Promise<void> {
    const { schema, sortingKey } = tables
    await createEventsTable(this.#client)
    await this.#client.createDataSource({ name: importsTable, schema, format: 'ndjson', sortingKey })
    const partitionKey = 'intDiv(n, 12500)'
    await this.#client.createDataSource({ name: replacedTable, schema, sortingKey, partitionKey })
    const sql = `%\nSELECT user, count() AS events, avg(v) AS mean FROM ${eventsTable} WHERE path = {{String(path, '/p/1')}} GROUP BY user ORDER BY events DESC LIMIT 50`
    const pipe = { name: pipeName, nodes: [{ name: 'by_user', type: 'endpoint', sql }] }
    await this.#client.call('POST', '/v0/pipes', JSON.stringify(pipe))
  }

  start(): void {
    const { querySeconds, importSeconds, replaceSeconds, alterSeconds } = this.#plan
    this.#every(querySeconds, (turn) => this.#query(turn))
    this.#every(importSeconds, (turn) => this.#import(turn))
    this.#every(replaceSeconds, (turn) => this.#replace(turn))
    this.#every(alterSeconds, (turn) => this.#alter(turn))
  }

  /** Resolves when what was begun has ended. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await Promise.all(this.#loops)
  }

  /** Rows of the imports that the service has. */
  async importedRows(): Promise<number> {
    const [found] = await this.#client.rows<{ n: number }>(`SELECT toFloat64(count()) AS n FROM ${importsTable}`)
    return found?.n ?? 0
  }

  #every(seconds: number, work: (turn: number) => Promise<void>): void {
    if (seconds > 0) this.#loops.push(this.#loop(seconds * 1_000, work))
  }

  async #loop(intervalMs: number, work: (turn: number) => Promise<void>): Promise<void> {
    const { signal } = this.#stop
    for (let turn = 0; ; turn += 1) {
      // The abort ends the pause, and the loop with it.
      await delay(intervalMs, undefined, { signal }).catch(() => undefined)
      if (signal.aborted) return
      try {
        await work(turn)
      } catch (error) {
        this.counts.failures += 1
        this.#onFailure(String(error))
      }
    }
  }

  async #query(turn: number): Promise<void> {
    const kind = turn % (queries.length + 1)
    const sql = queries[kind]
    if (sql === undefined) await this.#client.call('GET', `/v0/pipes/${pipeName}.json?path=/p/${turn % 100}`)
    else await this.#client.sql(sql)
    this.counts.queries += 1
  }

  async #import(turn: number): Promise<void> {
    const format = turn % 2 === 0 ? 'csv' : 'ndjson'
    await this.#client.append(importsTable, format, this.#bodies[format])
    this.counts.importedRows += importRowCount
  }

  async #replace(turn: number): Promise<void> {
    const query = new URLSearchParams({ mode: 'replace', name: replacedTable, format: 'csv' })
    if (turn % 2 === 1) query.set('replace_condition', 'intDiv(n, 12500) = 3')
    await this.#client.call('POST', `/v0/datasources?${query}`, this.#bodies.csv)
    this.counts.replaces += 1
  }

  async #alter(turn: number): Promise<void> {
    if (turn >= this.#plan.alterMax) return
    const added = Array.from({ length: turn + 1 }, (_, index) => `, added_${index} Nullable(Int32)`).join('')
    const query = new URLSearchParams({ schema: `${tables.schema}${added}` })
    await this.#client.call('POST', `/v0/datasources/${eventsTable}/alter?${query}`)
    this.counts.columnsAdded += 1
  }
}
