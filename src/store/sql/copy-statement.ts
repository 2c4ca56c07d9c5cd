import { quoteName, quoteString } from '../../shared/text-escapes.ts'
import type { CopyRequest, QueryCopyRequest, RowChoice, TablePair } from '../store.types.ts'
import { qualified } from './qualified.ts'
import { rowsAlias, rowsFor } from './rows-alias.ts'
import { copySettings, settingsText } from './statement-settings.ts'

export interface CopyLimits {
  readonly queryMemoryBytesMax: number
  /** Partitions that one block of a copy may be of. */
  readonly copyPartitionsMax: number
}

/** Longest run of one copy, as everything has an end. */
const copyTimeMaxSeconds = 6 * 3_600

/** The INSERT … SELECT of a copy; what does not fit into its memory is grouped and sorted on disk. */
export function copyStatement(request: CopyRequest, limits: CopyLimits): string {
  const { table, columns } = request
  const into = { table, columns: columns.map(({ name }) => name) }
  return insertSelect({ ...into, select: selectOf(request) }, limits)
}

/** The same of what a query gives. */
export function queryCopyStatement({ table, columns, query }: QueryCopyRequest, limits: CopyLimits): string {
  return insertSelect({ table, columns, select: query }, limits)
}

interface InsertSelect {
  readonly table: string
  readonly columns: readonly string[]
  /** Gives these columns by name, or more. */
  readonly select: string
}

function insertSelect(
  { table, columns, select }: InsertSelect,
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

function selectOf({ from, columns, rows }: CopyRequest): string {
  const values = columns.map(({ name, from: source = name }) => {
    return `${rowsAlias}.${quoteName(source)} AS ${quoteName(name)}`
  })
  return `SELECT ${values.join(', ')} FROM ${rows === undefined ? allRows(from) : chosenRows(from, rows)}`
}

function allRows(from: string): string {
  return `${qualified(from)} AS ${rowsAlias}`
}

function chosenRows(from: string, rows: RowChoice): string {
  switch (rows.kind) {
    case 'matching':
      return rowsFor(from, rows.condition)
    case 'others': {
      const partitions = rows.partitions.map(quoteString).join(', ')
      const others = `${rowsAlias}._partition_id IN (${partitions}) AND NOT ifNull(${rows.condition}, 0)`
      return `${allRows(from)} WHERE ${others}`
    }
  }
}

export function exchangeStatement(pairs: readonly TablePair[]): string {
  return `EXCHANGE TABLES ${pairs.map(([table, other]) => `${qualified(table)} AND ${qualified(other)}`).join(', ')}`
}
