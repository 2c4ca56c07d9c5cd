import type { ClickHouseServer } from '../../test/support/clickhouse-server.ts'
import type { BareFastify } from './bare-fastify.ts'
import { clickHouseAt, insertRequest, rowsOf, runCommand } from './clickhouse.ts'
import type { EventsReceiver, StoredEvents } from './events-case.types.ts'
import { createServiceClient, type ServiceClient } from './service-client.ts'
import type { ServiceProcess } from './service-process.ts'
import { workloads } from './workloads.ts'

/** The data source, or the table, that the events of a run go into. */
export const eventsTable = 'bench_events'

const tables = workloads.events.formats.ndjson

/** Count and sum, as `StoredEvents` wants them, of numbers that a double holds. */
const selectStored = `SELECT toFloat64(count()) AS rowCount, toFloat64(sum(n)) AS total FROM ${eventsTable}`

/** The service, answering when the events are on disk. */
export function serviceReceiver({ url, adminToken, pid }: ServiceProcess): EventsReceiver {
  const client = createServiceClient(url, adminToken)
  return {
    name: 'millrace',
    pid,
    target: { ...client.eventsRequest(eventsTable, false), status: 202 },
    createTable: () => createEventsTable(client, ''),
    dropTable: () => client.dropDataSource(eventsTable),
    stored: () => storedEvents(client),
  }
}

/** Creates the data source of the workload `events`, with further columns behind a comma. */
export async function createEventsTable(client: ServiceClient, moreColumns: string, sortingKey = tables.sortingKey) {
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
export function clickHouseReceiver({ url, pid }: ClickHouseServer): EventsReceiver {
  const client = clickHouseAt(url)
  const settings = { async_insert: '1', wait_for_async_insert: '1' }
  const { clickHouseColumns, clickHouseSortingKey } = tables
  return {
    name: 'clickhouse',
    pid,
    target: { ...insertRequest(url, `INSERT INTO ${eventsTable} FORMAT JSONEachRow`, settings), status: 200 },
    createTable: () =>
      runCommand(
        client,
        `CREATE TABLE ${eventsTable} (${clickHouseColumns}) ENGINE = MergeTree ORDER BY (${clickHouseSortingKey})`,
      ),
    dropTable: () => runCommand(client, `DROP TABLE ${eventsTable} SYNC`),
    stored: async () => only(await rowsOf<StoredEvents>(client, selectStored)),
  }
}

/** The route that does nothing. */
export function fastifyReceiver({ url, pid }: BareFastify): EventsReceiver {
  return {
    name: 'fastify',
    pid,
    target: { url: `${url}/v0/events?name=${eventsTable}`, headers: {}, status: 202 },
    createTable: () => Promise.resolve(),
    dropTable: () => Promise.resolve(),
    stored: () => Promise.resolve(null),
  }
}

function only(rows: readonly StoredEvents[]): StoredEvents {
  const [row] = rows
  if (row === undefined) throw new Error('an aggregate gives one row')
  return row
}
