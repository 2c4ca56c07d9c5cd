import { quoteName } from '../../shared/text-escapes.ts'
import type { CopyRequest, TablePair } from '../store.types.ts'
import { workspaceDatabase } from '../workspace-database.ts'
import { copySettings, settingsText } from './statement-settings.ts'

interface CopyLimits {
  readonly queryMemoryBytesMax: number
  /** Partitions that one block of a copy may be of. */
  readonly copyPartitionsMax: number
}

/** Longest run of one copy, as everything has an end. */
const copyTimeMaxSeconds = 6 * 3_600

/** The INSERT … SELECT of a copy; what does not fit into its memory is grouped and sorted on disk. */
export function copyStatement(
  { table, columns, select }: CopyRequest,
  { queryMemoryBytesMax, copyPartitionsMax }: CopyLimits,
): string {
  const names = columns.map(quoteName).join(', ')
  const limits = {
    max_execution_time: copyTimeMaxSeconds,
    max_partitions_per_insert_block: copyPartitionsMax,
    throw_on_max_partitions_per_insert_block: 1,
    max_memory_usage: queryMemoryBytesMax,
    max_bytes_before_external_group_by: Math.floor(queryMemoryBytesMax / 4),
    max_bytes_before_external_sort: Math.floor(queryMemoryBytesMax / 4),
  }
  return [
    `INSERT INTO ${qualified(table)} (${names})`,
    `SELECT ${names} FROM (${select})`,
    `SETTINGS ${settingsText({ ...copySettings, ...limits })}`,
  ].join('\n')
}

export function exchangeStatement(pairs: readonly TablePair[]): string {
  return `EXCHANGE TABLES ${pairs.map(([table, other]) => `${qualified(table)} AND ${qualified(other)}`).join(', ')}`
}

function qualified(table: string): string {
  return `${quoteName(workspaceDatabase)}.${quoteName(table)}`
}
