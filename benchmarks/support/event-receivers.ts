import { setTimeout as delay } from 'node:timers/promises'
import type { ClickHouseServer } from '../../test/support/clickhouse-server.ts'
import { insertTarget } from './clickhouse.ts'
import type { Target } from './event-requests.ts'
import type { ServiceProcess } from './processes.ts'
import { monotonicMs } from './send-events.ts'
import { createServiceClient, type ServiceClient } from './service-client.ts'
import { workloads } from './workloads.ts'

/** The data source, or the table, that the events of a run go into. */
export const eventsTable = 'bench_events'

export interface StoredEvents {
  readonly rowCount: number
  /** Sum of column `n`. */
  readonly total: number
}

/** Who takes events: how its table is made and dropped, where bodies go, and what is stored after. */
export interface EventReceiver {
  readonly title: string
  readonly pid: number
  readonly target: Target
  /** Of the answer that acknowledges. */
  readonly status: number
  createTable(): Promise<unknown>
  dropTable(): Promise<unknown>
  /** Null from one that stores nothing. */
  stored(): Promise<StoredEvents | null>
}

const tables = workloads.events.formats.ndjson
/** Numbers that a double holds. */
const selectStored = `SELECT toFloat64(count()) AS rowCount, toFloat64(sum(n)) AS total FROM ${eventsTable}`

/** The service, answering when the events are on disk. */
export function serviceReceiver(service: ServiceProcess): EventReceiver {
  const client = createServiceClient(service)
  return {
    title: 'Millrace',
    pid: service.pid,
    target: client.eventsTarget(eventsTable, false),
    status: 202,
    createTable: () => createEventsTable(client),
    dropTable: () => client.dropDataSource(eventsTable),
    stored: () => storedEvents(client),
  }
}

/** Creates the data source of the workload `events`, with further columns behind a comma. */
export async function createEventsTable(client: ServiceClient, moreColumns = '', sortingKey = tables.sortingKey) {
  const schema = `${tables.schema}${moreColumns}`
  await client.createDataSource({ name: eventsTable, schema, format: 'ndjson', sortingKey })
}

/** What the service has stored of the events. */
export async function storedEvents(client: ServiceClient): Promise<StoredEvents> {
  return only(await client.rows<StoredEvents>(selectStored))
}

/**
 * ClickHouse gathering the INSERTs of all connections by itself, answering when a block is in the table. It does not
 * sync: an answered row may be lost with the machine's power, and here not even that is asked of it.
 */
export function clickHouseReceiver({ url, pid, client }: ClickHouseServer): EventReceiver {
  const settings = { async_insert: '1', wait_for_async_insert: '1' }
  const columns = `(${tables.clickHouseColumns}) ENGINE = MergeTree ORDER BY (${tables.clickHouseSortingKey})`
  return {
    title: 'ClickHouse, async_insert',
    pid,
    target: insertTarget(url, `INSERT INTO ${eventsTable} FORMAT JSONEachRow`, settings),
    status: 200,
    createTable: () => client.command({ query: `CREATE TABLE ${eventsTable} ${columns}` }),
    dropTable: () => client.command({ query: `DROP TABLE ${eventsTable} SYNC` }),
    stored: async () => {
      const found = await client.query({ query: selectStored, format: 'JSONEachRow' })
      return only(await found.json<StoredEvents>())
    },
  }
}

/** The route that does nothing. */
export function fastifyReceiver({ url, pid }: { readonly url: string; readonly pid: number }): EventReceiver {
  return {
    title: 'bare Fastify route',
    pid,
    target: { url: `${url}/v0/events?name=${eventsTable}`, headers: {} },
    status: 202,
    createTable: () => Promise.resolve(),
    dropTable: () => Promise.resolve(),
    stored: () => Promise.resolve(null),
  }
}

const pollIntervalMs = 20
const timeMaxMs = 120_000

/** What was acknowledged, and how many rows more there may be: of requests whose answers the sender did not wait for. */
export interface AcknowledgedEvents {
  readonly rowCount: number
  /** Undefined when the sender does not know it. */
  readonly total?: number
  readonly surplusMax?: number
}

/**
 * Asks until what was acknowledged is stored; resolves to the milliseconds that took, to within a poll.
 * @throws Error when there is more, when it is something else, or when some does not come within two minutes.
 */
export async function untilStored(
  stored: () => Promise<StoredEvents | null>,
  { rowCount, total, surplusMax = 0 }: AcknowledgedEvents,
): Promise<number> {
  const startedAtMs = monotonicMs()
  for (;;) {
    const found = await stored()
    const elapsedMs = monotonicMs() - startedAtMs
    if (found === null) return 0
    const isWhole = found.rowCount >= rowCount && found.rowCount <= rowCount + surplusMax
    if (isWhole && (total === undefined || found.total === total)) return elapsedMs
    if (found.rowCount >= rowCount || elapsedMs > timeMaxMs) {
      throw new Error(`stored ${JSON.stringify(found)} of ${JSON.stringify({ rowCount, total, surplusMax })}`)
    }
    await delay(pollIntervalMs)
  }
}

function only(rows: readonly StoredEvents[]): StoredEvents {
  const [row] = rows
  if (row === undefined) throw new Error('an aggregate gives one row')
  return row
}
