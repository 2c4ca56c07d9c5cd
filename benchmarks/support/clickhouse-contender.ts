import type { ClickHouseServer } from '../../test/support/clickhouse-server.ts'
import { clickHouseAt, insertRequest, rowsOf, runCommand } from './clickhouse.ts'
import type { Contender, StoredRows } from './import-case.types.ts'
import { assertStored, selectStored } from './stored-rows.ts'
import type { WorkloadFormat, WorkloadTables } from './workload.types.ts'

/** ClickHouse's names of the formats that the bodies are in. */
export const engineFormats: Readonly<Record<WorkloadFormat, string>> = { ndjson: 'JSONEachRow', csv: 'CSVWithNames' }

/** A ClickHouse server that takes the very bytes the service takes. */
export function textContender(options: {
  readonly server: ClickHouseServer
  readonly format: WorkloadFormat
  readonly tables: WorkloadTables
  readonly bodyPath: string
  readonly byteCount: number
  readonly stored: StoredRows
}): Contender {
  const { tables, format, ...body } = options
  return insertContender({
    ...body,
    name: 'clickhouse',
    columns: tables.clickHouseColumns,
    sortingKey: tables.clickHouseSortingKey,
    insertFormat: engineFormats[format],
    settings: tables.clickHouseSettings,
    checksum: tables.clickHouseChecksum,
  })
}

/** The floor: the same rows, in the same order, already as Arrow, into the flat table that the service fills. */
export function arrowContender(options: {
  readonly server: ClickHouseServer
  readonly tables: WorkloadTables
  readonly arrowPath: string
  readonly byteCount: number
  readonly stored: StoredRows
}): Contender {
  const { tables, arrowPath, ...body } = options
  return insertContender({
    ...body,
    name: 'arrow',
    bodyPath: arrowPath,
    columns: tables.schema.replaceAll(/ `json:[^`]*`/g, ''),
    sortingKey: tables.sortingKey,
    insertFormat: 'ArrowStream',
    settings: {},
    checksum: tables.checksum,
  })
}

function insertContender(options: {
  readonly name: 'clickhouse' | 'arrow'
  readonly server: ClickHouseServer
  readonly bodyPath: string
  readonly byteCount: number
  readonly stored: StoredRows
  readonly columns: string
  readonly sortingKey: string
  readonly insertFormat: string
  readonly settings: Readonly<Record<string, string>>
  readonly checksum: string
}): Contender {
  const table = `bench_rows_${options.name}`
  const client = clickHouseAt(options.server.url)
  // A large body is never gathered with others; saying so keeps the comparison the same in every version.
  const settings = { async_insert: '0', ...options.settings }
  return {
    name: options.name,
    pid: options.server.pid,
    bodyPath: options.bodyPath,
    byteCount: options.byteCount,
    request: insertRequest(options.server.url, `INSERT INTO ${table} FORMAT ${options.insertFormat}`, settings),
    createTable: () =>
      runCommand(
        client,
        `CREATE TABLE ${table} (${options.columns}) ENGINE = MergeTree ORDER BY (${options.sortingKey})`,
      ),
    dropTable: () => runCommand(client, `DROP TABLE ${table} SYNC`),
    verify: async () => {
      const [stored] = await rowsOf<StoredRows>(client, selectStored(table, options.checksum))
      assertStored(options.name, stored, options.stored)
    },
  }
}
