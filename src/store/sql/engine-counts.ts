import type { EngineCounts } from '../../metrics/service-state.types.ts'
import { quoteString } from '../../shared/text-escapes.ts'
import type { Statements } from '../statements.types.ts'
import { workspaceDatabase } from '../workspace-database.ts'

const ofWorkspace = `database = ${quoteString(workspaceDatabase)}`

function event(name: string): string {
  return `toFloat64((SELECT sum(value) FROM system.events WHERE event = ${quoteString(name)}))`
}

function running(table: string, condition: string): string {
  return `toFloat64((SELECT count() FROM system.${table} WHERE ${condition}))`
}

const countsStatement = `SELECT toFloat64(sum(parts)) AS partCount, toFloat64(max(parts)) AS partsOfPartitionMax,
  toFloat64(sum(partRows)) AS rowCount, toFloat64(sum(partBytes)) AS diskBytes,
  ${running('merges', ofWorkspace)} AS mergeCount, ${running('mutations', `${ofWorkspace} AND NOT is_done`)} AS mutationCount,
  toFloat64((SELECT sum(value) FROM system.metrics WHERE metric = 'MemoryTracking')) AS trackedBytes,
  ${event('Merge')} AS mergesEnded, ${event('MergedRows')} AS rowsMerged, ${event('Query')} AS queryCount,
  ${event('SelectedRows')} AS rowsRead
  FROM (SELECT count() AS parts, sum(rows) AS partRows, sum(bytes_on_disk) AS partBytes FROM system.parts
    WHERE ${ofWorkspace} AND active GROUP BY table, partition_id)`

/** What the engine says of itself; short, but it looks at each part of each table. Raises `StoreError`. */
export async function engineCounts(statements: Statements): Promise<EngineCounts | null> {
  const [counts] = await statements.rows<EngineCounts>(countsStatement)
  return counts ?? null
}
