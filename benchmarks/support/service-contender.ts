import { assert } from '../../src/shared/assert.ts'
import type { Contender, ImportCase, StoredRows } from './import-case.types.ts'
import { createServiceClient, parseImportResult, type ServiceClient } from './service-client.ts'
import type { ServiceProcess } from './service-process.ts'
import { assertStored, selectStored } from './stored-rows.ts'
import type { WorkloadTables } from './workload.types.ts'
import { workloads } from './workloads.ts'

/**
 * The service as receiver, with a data source of its own for each run. The answer, the rows and the quarantine are checked
 * after it.
 */
export function serviceContender(options: {
  readonly name: 'millrace' | 'dirty'
  readonly service: ServiceProcess
  readonly importCase: ImportCase
  readonly tables: WorkloadTables
  readonly bodyPath: string
  readonly byteCount: number
  readonly stored: StoredRows
  readonly badCount: number
}): Contender {
  const { service, importCase, tables, badCount } = options
  const { format } = importCase
  const name = `bench_rows_${options.name}`
  const client = createServiceClient(service.url, service.adminToken)
  return {
    name: options.name,
    pid: service.pid,
    bodyPath: options.bodyPath,
    byteCount: options.byteCount,
    request: client.appendRequest(name, format),
    createTable: () => client.createDataSource({ name, format, schema: tables.schema, sortingKey: tables.sortingKey }),
    dropTable: () => client.dropDataSource(name),
    verify: async (answer) => {
      const result = parseImportResult(answer)
      assert(
        (result.quarantine_rows ?? 0) === badCount,
        `${badCount} rows set aside, and the answer is ${answer.slice(0, 500)}`,
      )
      const [stored] = await client.rows<StoredRows>(selectStored(name, tables.checksum))
      assertStored(options.name, stored, options.stored)
      if (badCount > 0)
        await verifyQuarantine(client, { name, badColumn: workloads[importCase.workload].badColumn, badCount })
    },
  }
}

async function verifyQuarantine(
  client: ServiceClient,
  expected: { readonly name: string; readonly badColumn: string; readonly badCount: number },
): Promise<void> {
  const [quarantine] = await client.rows<{ rowCount: string }>(
    `SELECT toString(countIf(has(c__error_column, '${expected.badColumn}'))) AS rowCount FROM ${expected.name}_quarantine`,
  )
  assert(
    quarantine?.rowCount === String(expected.badCount),
    `${expected.badCount} rows in quarantine, not ${quarantine?.rowCount}`,
  )
}
