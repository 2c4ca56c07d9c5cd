import { type PartExpression, partExpression } from '../../codec/arrow/part-expression.ts'
import type { PartLayout } from '../../codec/arrow/part-layout.types.ts'
import type { CheckedQuery } from '../../schema/expressions/checked-text.types.ts'
import { assert } from '../../shared/assert.ts'
import { quoteName, quoteString } from '../../shared/text-escapes.ts'
import type {
  AppendRequest,
  ParquetSource,
  PartitionBound,
  QueryBounds,
  RefusedRows,
  TableRows,
} from '../store.types.ts'
import { qualified } from './qualified.ts'
import {
  appendRowsMax,
  appendSettings,
  fillSettings,
  type InsertLimits,
  limitSettings,
  parquetSettings,
  type Settings,
  settingsText,
} from './statement-settings.ts'

/** Rows of an append that one INSERT takes. */
export interface AppendSlice {
  /** `insert_deduplication_token`. */
  readonly token: string
  /** Texts of the partitions whose rows are taken; null takes all rows. */
  readonly partitions: readonly string[] | null
  /** True passes over views that fail. */
  readonly passesViews?: boolean
  readonly limits?: InsertLimits
}

/**
 * The INSERT of an append, or of a slice of it, reading all parts that `path` names as one block.
 *
 * @param path absolute path of the part's file, or a pattern `…-{0,1,2}.arrow` over the files of several parts.
 */
export function appendStatement(request: AppendRequest, path: string, slice?: AppendSlice): string {
  const { table, layout, rowCount, blockId, partition, parquet, isNative = false } = request
  assert(layout.targets.length > 0, 'a layout fills at least one column')
  assert(rowCount < appendRowsMax, 'an append has fewer rows than the engine would cut a block at')
  const columns = layout.targets.map(({ column }) => quoteName(column)).join(', ')
  const partitions = slice?.partitions ?? null
  const isCut = partitions !== null && partition !== undefined
  const expressions = isCut && parquet !== undefined ? placesOf(layout) : expressionsOf(layout)
  const source = isCut
    ? `(${partitionedSource(request, partition, path)}) WHERE ${partitionField} IN (${partitions.map(quoteString).join(', ')})`
    : `${orderedSource(request, path)}${whereClause(parquet)}`
  return [
    `INSERT INTO ${qualified(table)} (${columns})`,
    `SELECT ${expressions.join(', ')}`,
    `FROM ${source}`,
    `SETTINGS ${settingsText({ ...settingsOf(parquet), ...(isCut ? cutSettings : {}), ...viewSettings(slice), ...boundSettings(request), ...limitSettings(slice?.limits), ...querySettings(request), ...(isNative ? nativeSettings : {}), insert_deduplication_token: slice?.token ?? blockId })}`,
  ].join('\n')
}

function querySettings({ query, queryThreads = 1, hasDistinctKeys = false }: AppendRequest): Settings {
  if (query === undefined) return {}
  return { ...fillSettings, max_threads: queryThreads, ...(hasDistinctKeys ? { optimize_on_insert: 0 } : {}) }
}

/** Else the columns of the file are taken for those of the table. */
const nativeSettings: Settings = { use_structure_from_insertion_table_in_table_functions: 0 }

function boundSettings({ insertPartitionsMax }: AppendRequest): Settings {
  if (insertPartitionsMax === undefined) return {}
  return { max_partitions_per_insert_block: insertPartitionsMax, throw_on_max_partitions_per_insert_block: 1 }
}

function viewSettings(slice: AppendSlice | undefined): Settings {
  return slice?.passesViews === true ? { materialized_views_ignore_errors: 1 } : {}
}

/** Gives the partitions of the rows, each as a text, in order. */
export function partitionsStatement(
  request: AppendRequest,
  { partition, limits }: { readonly partition: PartitionBound; readonly limits?: InsertLimits },
  path: string,
): string {
  const { insert_deduplicate: _, ...settings } = settingsOf(request.parquet)
  return [
    `SELECT DISTINCT ${partitionField} AS name`,
    `FROM (${partitionedSource(request, partition, path)}) ORDER BY name`,
    `SETTINGS ${settingsText({ ...settings, ...cutSettings, ...limitSettings(limits) })}`,
    'FORMAT JSONEachRow',
  ].join('\n')
}

/** Gives the partition of each row, as a text, and its tag, in the order of the rows. */
export function rowPartitionsStatement(
  request: AppendRequest,
  {
    partition,
    tag = partExpression("''"),
    limits,
  }: { readonly partition: PartitionBound; readonly tag?: PartExpression | undefined; readonly limits?: InsertLimits },
  path: string,
): string {
  const { insert_deduplicate: _, ...settings } = settingsOf(request.parquet)
  return [
    `SELECT ${partitionField} AS name, toString(${tag}) AS tag`,
    `FROM (${partitionedSource(request, partition, path)})`,
    `SETTINGS ${settingsText({ ...settings, ...cutSettings, ...limitSettings(limits) })}`,
    'FORMAT JSONEachRow',
  ].join('\n')
}

/** Of a condition over values that are made of a Parquet file's, the reader takes a part, and then misses its columns. */
const cutSettings: Settings = { optimize_move_to_prewhere: 0 }

const partitionField = '__partition'

function expressionsOf({ targets }: PartLayout): readonly string[] {
  return targets.map(({ expression }) => expression)
}

/** Names for the values of a layout, which its own fields do not have. */
function placesOf({ targets }: PartLayout): readonly string[] {
  return targets.map((_, index) => `__${index}`)
}

/** The parts' fields, or the values made of a Parquet file's, and beside them the text of each row's partition. */
function partitionedSource(request: AppendRequest, { key, columns }: PartitionBound, path: string): string {
  const named = columns.map(({ column, expression }) => `, ${expression} AS ${quoteName(column)}`).join('')
  const withColumns = `SELECT *${named} FROM ${boundSource(request, path)}`
  return `SELECT *, toString(tuple(${key})) AS ${partitionField} FROM (${withColumns})`
}

/** A Parquet file's own names could be those of columns. */
function boundSource(request: AppendRequest, path: string): string {
  const { layout, parquet } = request
  if (parquet === undefined) return orderedSource(request, path)
  const source = fileSource(request, path)
  const places = placesOf(layout)
  const values = expressionsOf(layout).map((expression, index) => `${expression} AS ${places[index]}`)
  return `(SELECT ${values.join(', ')} FROM ${source}${whereClause(parquet)})`
}

/**
 * The engine makes the token of a block of all that its rows came in. Those of a block that is inserted again may come in
 * other parts, so where there are several they are made one before.
 */
function orderedSource(request: AppendRequest, path: string): string {
  const source = fileSource(request, path)
  const isJoined = request.mayBeCutAnew === true && request.from === undefined && request.parts.length > 1
  return isJoined ? `(SELECT * FROM ${source} ORDER BY rowNumberInAllBlocks())` : source
}

/**
 * The bounds stand within the query: outside of it, views that see the rows would have them too, with the rows inserted already. Groups that
 * are put on disk meanwhile would count anew from none. The time there is that of reading alone: the engine looks at it when it has read a
 * block, and at that of the whole INSERT everywhere.
 */
function boundedQuery(query: CheckedQuery, bounds: QueryBounds | undefined): string {
  if (bounds === undefined) return query
  const { groupsMax, readTimeMaxMs } = bounds
  const settings = {
    ...{ max_rows_to_group_by: groupsMax, group_by_overflow_mode: 'throw', ...inMemory },
    ...(readTimeMaxMs === null ? {} : { max_execution_time: readTimeMaxMs / 1_000 }),
  }
  return `SELECT * FROM (${query}) SETTINGS ${settingsText(settings)}`
}

const inMemory: Settings = { max_bytes_before_external_group_by: 0, max_bytes_ratio_before_external_group_by: 0 }

function fileSource(
  {
    layout,
    parquet,
    from,
    fromRows,
    query,
    queryBounds,
    isNative,
  }: Pick<AppendRequest, 'from' | 'fromRows' | 'isNative' | 'layout' | 'parquet' | 'query' | 'queryBounds'>,
  path: string,
): string {
  if (query !== undefined) return `(${boundedQuery(query, queryBounds)})`
  if (from !== undefined) return `(${tableSource(from, fromRows)})`
  // It tells its columns by itself.
  if (isNative === true) return `file(${quoteString(path)}, 'Native')`
  const structure = layout.fields.map(({ name, engineType }) => `${quoteName(name)} ${engineType}`).join(', ')
  const format = parquet === undefined ? 'ArrowStream' : 'Parquet'
  return `file(${quoteString(path)}, '${format}', ${quoteString(structure)})`
}

/** All rows of a table in the order in which they were inserted, its parts merged or not: engines that keep the last of equal rows ask for it. */
function tableSource(table: string, condition: PartExpression | undefined): string {
  const order = "toUInt64OrZero(splitByChar('_', _part)[2]), _part_offset"
  const where = condition === undefined ? '' : ` WHERE ${condition}`
  return `SELECT * FROM ${qualified(table)}${where} ORDER BY ${order}`
}

function whereClause(parquet: ParquetSource | undefined): string {
  const { condition = null } = parquet ?? {}
  return condition === null ? '' : `\nWHERE ${condition}`
}

function settingsOf(parquet: ParquetSource | undefined): Settings {
  return parquet === undefined ? appendSettings : { ...appendSettings, ...parquetSettings }
}

/** Writes the rows that an append takes of a table into a file, from which an append that `isNative` takes them. */
export function writtenRowsStatement({ table, condition }: TableRows, path: string, limits: InsertLimits): string {
  const { insert_deduplicate: _, ...settings } = settingsOf(undefined)
  return [
    tableSource(table, condition),
    `INTO OUTFILE ${quoteString(path)}`,
    'FORMAT Native',
    `SETTINGS ${settingsText({ ...settings, max_block_size: writtenBlockRows, ...limitSettings(limits) })}`,
  ].join('\n')
}

/** Rows that are held at once, sorting aside. */
const writtenBlockRows = 65_536

/** Counts the rows of a Parquet file for which `condition` is not true, in a column `count`. */
export function refusedRowsQuery({ layout, condition, range }: RefusedRows, path: string): string {
  const where = range === null ? '' : ` WHERE ${range}`
  const source = fileSource({ layout, parquet: { condition: null } }, path)
  return `SELECT countIf(NOT ${condition}) AS count FROM ${source}${where} SETTINGS ${settingsText(parquetSettings)}`
}
