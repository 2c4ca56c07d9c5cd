/**
 * A service with a table and three views one behind the other, whose content is replaced.
 *
 * Generation `g` is `rowsMin + g` rows, each of which counts 1 in every table behind it. An event counts a million, so both
 * can be told from what a table says, whatever else is in it.
 */
import { type OpenedStore, openEmbeddedStore } from '../../../src/store/embedded/embedded-store.ts'
import { silentLogger, testStoreOptions } from '../store/test-store.ts'
import { type KillService, killToken } from './kill-service.ts'

/** What a table says of itself. */
export interface TableState {
  readonly generation: number
  /** Events in it, stored since the content that the generation is. */
  readonly events: number
}

export const source = 'swapped'
const tables = [source, 'swapped_days', 'swapped_months', 'swapped_total'] as const
const rowsMin = 5_000
const perEvent = 1_000_000

/** Makes the data sources and the views, and leaves the service open with generation 0. */
export async function setUpReplaces(service: KillService, path: string): Promise<void> {
  await service.start()
  const byMonth = { engine_partition_key: 'toYYYYMM(day)', engine_sorting_key: 'day' }
  const ids = [
    await create(service, source, 'day Date, n UInt64', { engine: 'MergeTree', ...byMonth }),
    await create(service, tables[1], 'day Date, n UInt64', { engine: 'SummingMergeTree', ...byMonth }),
    await create(service, tables[2], 'month UInt32, n UInt64', {
      engine: 'SummingMergeTree',
      engine_partition_key: 'month',
      engine_sorting_key: 'month',
    }),
    await create(service, tables[3], 'one UInt8, n UInt64', { engine: 'SummingMergeTree', engine_sorting_key: 'one' }),
  ].map((id) => `ws_0001.${id}`)
  await service.end('SIGTERM')
  await withStore(path, async (store) => {
    const selects = [
      `SELECT day, sum(n) AS n FROM ${ids[0]} GROUP BY day`,
      `SELECT toYYYYMM(day) AS month, sum(n) AS n FROM ${ids[1]} GROUP BY month`,
      `SELECT 1 AS one, sum(n) AS n FROM ${ids[2]}`,
    ]
    for (const [index, select] of selects.entries()) {
      await store.command(`CREATE MATERIALIZED VIEW ws_0001.swapped_view_${index} TO ${ids[index + 1]} AS ${select}`)
    }
  })
  await service.start()
  await service.call('POST', `/v0/datasources?${new URLSearchParams({ mode: 'replace', name: source })}`, bodyOf(0))
}

async function create(
  service: KillService,
  name: string,
  schema: string,
  engine: Readonly<Record<string, string>>,
): Promise<string> {
  await service.call('POST', `/v0/datasources?${new URLSearchParams({ name, schema, ...engine })}`)
  // The answer's shape is what other tests check.
  return ((await service.call('GET', `/v0/datasources/${name}`)) as { readonly id: string }).id
}

/** Every third one replaces by a condition, under which all rows fall. Resolves with the status; rejects when cut off. */
export async function replaceBy(service: KillService, generation: number): Promise<number> {
  const condition = generation % 3 !== 0 ? {} : { replace_condition: "day >= '2000-01-01'" }
  const parameters = new URLSearchParams({ mode: 'replace', name: source, format: 'csv', ...condition })
  const response = await fetch(`${service.address}/v0/datasources?${parameters}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${killToken}` },
    body: bodyOf(generation),
  })
  await response.arrayBuffer()
  return response.status
}

function bodyOf(generation: number): string {
  const lines = Array.from({ length: rowsMin + generation }, (_, row) => {
    const day = `2024-0${1 + (row % 3)}-${String(1 + (row % 28)).padStart(2, '0')}`
    return `${day},1\n`
  })
  return lines.join('')
}

/** Sends one event; false when it was not acknowledged. */
export async function sendEvent(service: KillService): Promise<boolean> {
  try {
    await service.call('POST', `/v0/events?name=${source}`, `{"day":"2024-02-02","n":${perEvent}}`)
    return true
  } catch {
    return false
  }
}

/** The state of one table, or of all by one query. */
export async function readStates(service: KillService, only?: number): Promise<readonly TableState[]> {
  const read = only === undefined ? tables : tables.slice(only, only + 1)
  const sums = read.map((name) => `(SELECT sum(n) FROM ${name})`)
  const sql = `SELECT [${sums.join(', ')}] AS sums FORMAT JSON`
  // 64-bit numbers of an array come as numbers.
  const { data } = (await service.call('POST', '/v0/sql', sql)) as {
    readonly data: readonly { readonly sums: readonly (number | string)[] }[]
  }
  return (data[0]?.sums ?? []).map((sum) => {
    return { generation: (Number(sum) % perEvent) - rowsMin, events: Math.floor(Number(sum) / perEvent) }
  })
}

export const tableCount = tables.length

/** Tables of replaces that are there while no service is. */
export async function stagingTables(path: string): Promise<readonly string[]> {
  return await withStore(path, async (store) => {
    const rows = await store.rows<{ readonly name: string }>(
      "SELECT name FROM system.tables WHERE database = 'ws_0001' AND name LIKE '%staging'",
    )
    return rows.map(({ name }) => name)
  })
}

async function withStore<Result>(path: string, work: (store: OpenedStore) => Promise<Result>): Promise<Result> {
  const store = await openEmbeddedStore(testStoreOptions(path), silentLogger)
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}
