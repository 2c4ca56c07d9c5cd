import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { assert } from '../../src/shared/assert.ts'
import { answerOf, type ClickHouseServer } from '../../test/support/clickhouse-server.ts'
import { insertTarget } from './clickhouse.ts'
import type { Target } from './event-requests.ts'
import type { LoadGenerator } from './load-generator.ts'
import type { ServiceProcess } from './processes.ts'
import type { Remote } from './remote-functions.ts'
import { createServiceClient, importResult } from './service-client.ts'
import { type BodyPlan, badRowCount, workloads } from './workloads.ts'

/** The processes of a comparison, and a directory that all of them can read. */
export interface ImportBench {
  readonly directory: string
  readonly generator: Remote<LoadGenerator>
  readonly service: ServiceProcess
  readonly clickHouse: ClickHouseServer
}

/** A receiver of one body: how its table is made and dropped, where the body goes, and what must be stored after. */
export interface ImportReceiver {
  readonly title: string
  readonly pid: number
  readonly path: string
  readonly byteCount: number
  readonly target: Target
  createTable(): Promise<unknown>
  dropTable(): Promise<unknown>
  /** @throws InvariantError when the answer or the stored rows are not as they must be. */
  verify(answer: string): Promise<void>
}

/** Count and checksum over all columns. */
interface StoredRows {
  readonly rowCount: string
  readonly checksum: string
}

/** Every hundredth row of the dirty body has a word where a number belongs. */
const badEvery = 100
const engineFormats = { ndjson: 'JSONEachRow', csv: 'CSVWithNames' } as const
const selectStored = (table: string, checksum: string) =>
  `SELECT toString(count()) AS rowCount, toString(${checksum}) AS checksum FROM ${table}`

/** Writes the bodies of a case; gives the service, ClickHouse, ClickHouse with Arrow, and the service with bad rows. */
export async function importReceivers(bench: ImportBench, plan: BodyPlan): Promise<readonly ImportReceiver[]> {
  const path = join(bench.directory, `${plan.workload}.${plan.format}`)
  const byteCount = await bench.generator.call('writeBody', { plan, path })
  const dirtyPlan = { ...plan, badEvery }
  const dirtyPath = `${path}.dirty`
  const dirtyByteCount = await bench.generator.call('writeBody', { plan: dirtyPlan, path: dirtyPath })
  const { stored, arrow } = await readByEngine(bench.clickHouse, plan, path)
  assert(stored.rowCount === String(plan.rowCount), 'the engine reads every row of a clean body')
  const arrowPath = `${path}.arrow`
  await writeFile(arrowPath, arrow)
  const tables = workloads[plan.workload].formats[plan.format]
  const text = {
    title: 'ClickHouse HTTP',
    ...{ path, byteCount, stored, checksum: tables.clickHouseChecksum, settings: tables.clickHouseSettings },
    columns: `(${tables.clickHouseColumns}) ENGINE = MergeTree ORDER BY (${tables.clickHouseSortingKey})`,
    format: engineFormats[plan.format],
  }
  const floor = {
    title: 'ClickHouse HTTP, Arrow (floor)',
    ...{ path: arrowPath, byteCount: arrow.length, stored, checksum: tables.checksum, settings: {} },
    columns: `(${tables.schema.replaceAll(/ `json:[^`]*`/g, '')}) ENGINE = MergeTree ORDER BY (${tables.sortingKey})`,
    format: 'ArrowStream',
  }
  return [
    serviceReceiver(bench.service, plan, { title: 'Millrace', path, byteCount, stored }),
    clickHouseReceiver(bench.clickHouse, text),
    clickHouseReceiver(bench.clickHouse, floor),
    serviceReceiver(bench.service, dirtyPlan, {
      ...{ title: 'Millrace, 1 % bad rows', path: dirtyPath, byteCount: dirtyByteCount, stored: null },
    }),
  ]
}

/** Lets the engine read the file itself, outside of any measurement: the checksum, and the rows as Arrow in the file's order. */
async function readByEngine(server: ClickHouseServer, { workload, format }: BodyPlan, path: string) {
  const tables = workloads[workload].formats[format]
  const all = Object.entries({ max_threads: '1', ...tables.clickHouseSettings })
  const settings = all.map(([name, value]) => `${name} = '${value}'`).join(', ')
  const structure = tables.clickHouseColumns.replaceAll("'", "\\'")
  const file = `file('${path}', '${engineFormats[format]}', '${structure}')`
  const select = `SELECT ${tables.floorSelect} FROM ${file} SETTINGS ${settings} FORMAT ArrowStream`
  const arrow = await answerOf(server, select)
  const query = `${selectStored(file, tables.clickHouseChecksum)} SETTINGS ${settings}`
  return { arrow, stored: await onlyRow(server, query) }
}

async function onlyRow({ client }: ClickHouseServer, query: string): Promise<StoredRows> {
  const [row] = await (await client.query({ query, format: 'JSONEachRow' })).json<StoredRows>()
  assert(row !== undefined, 'an aggregate gives one row')
  return row
}

interface TableOrder extends Pick<ImportReceiver, 'byteCount' | 'path' | 'title'> {
  readonly columns: string
  readonly format: string
  readonly settings: Readonly<Record<string, string>>
  readonly checksum: string
  readonly stored: StoredRows
}

function clickHouseReceiver(server: ClickHouseServer, order: TableOrder): ImportReceiver {
  const { title, path, byteCount, columns, format, settings, checksum, stored } = order
  const insert = `INSERT INTO bench_rows FORMAT ${format}`
  return {
    ...{ title, path, byteCount, pid: server.pid },
    // A large body is never gathered with others; saying so keeps the comparison the same in every version.
    target: insertTarget(server.url, insert, { async_insert: '0', ...settings }),
    createTable: () => server.client.command({ query: `CREATE TABLE bench_rows ${columns}` }),
    dropTable: () => server.client.command({ query: 'DROP TABLE bench_rows SYNC' }),
    verify: async () => {
      assertStored(title, await onlyRow(server, selectStored('bench_rows', checksum)), stored)
    },
  }
}

/** Without `stored`, the count alone is known. */
function serviceReceiver(
  service: ServiceProcess,
  plan: BodyPlan,
  { title, path, byteCount, stored }: Pick<TableOrder, 'byteCount' | 'path' | 'title'> & { stored: StoredRows | null },
): ImportReceiver {
  const client = createServiceClient(service)
  const { formats, badColumn } = workloads[plan.workload]
  const { schema, sortingKey, checksum } = formats[plan.format]
  const badCount = badRowCount(plan)
  return {
    ...{ title, path, byteCount, pid: service.pid },
    target: client.appendTarget('bench_rows', plan.format),
    createTable: () => client.createDataSource({ name: 'bench_rows', format: plan.format, schema, sortingKey }),
    dropTable: () => client.dropDataSource('bench_rows'),
    verify: async (answer) => {
      const { quarantine_rows: aside = 0 } = importResult(answer)
      assert(aside === badCount, `${badCount} rows set aside, and the answer is ${answer.slice(0, 500)}`)
      const [found] = await client.rows<StoredRows>(selectStored('bench_rows', checksum))
      const rowCount = String(plan.rowCount - badCount)
      assertStored(title, found, stored ?? { rowCount, checksum: found?.checksum ?? '' })
      const select = `SELECT toFloat64(countIf(has(c__error_column, '${badColumn}'))) AS n FROM bench_rows_quarantine`
      const [kept] = badCount === 0 ? [] : await client.rows<{ readonly n: number }>(select)
      assert((kept?.n ?? 0) === badCount, `${badCount} rows in quarantine, not ${kept?.n}`)
    },
  }
}

function assertStored(title: string, found: StoredRows | undefined, expected: StoredRows): void {
  assert(found?.rowCount === expected.rowCount, `${title} stored ${found?.rowCount} rows of ${expected.rowCount}`)
  assert(found.checksum === expected.checksum, `${title} stored rows with another checksum`)
}
