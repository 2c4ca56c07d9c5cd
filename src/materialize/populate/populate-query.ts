// What a view gives of the rows of a chunk: its own query, with those rows in the place of its source.

import type { DataSource } from '../../catalog/data-source.types.ts'
import type { CheckedExpression, CheckedQuery } from '../../schema/expressions/checked-text.types.ts'
import { tokenize } from '../../schema/syntax/lexer.ts'
import type { Token } from '../../schema/syntax/token.types.ts'
import { retargetTables } from '../../sql/retarget-tables.ts'
import { type ChunkRows, chunkRowsText } from '../../store/sql/chunk-rows.ts'
import type { QueryBounds, Store } from '../../store/store.types.ts'
import type { GraphTable, TableGraph } from '../../store/tables.types.ts'
import { workspaceDatabase } from '../../store/workspace-database.ts'
import { keyNames } from '../verify/engine-keys.ts'
import { readViewQuery } from '../view-query.ts'
import type { PopulatedView } from './populate.types.ts'
import type { Chunk } from './populate-chunks.ts'

export interface ChunkFill {
  readonly view: Pick<PopulatedView, 'select' | 'sourceId'>
  readonly graph: TableGraph
  /** The table that has the rows. */
  readonly pin: string
  readonly condition: CheckedExpression | null
  readonly table: string
  readonly columns: readonly string[]
  /** By which the engine takes the chunk once. */
  readonly blockId: string
  /** That compute it: with several its rows come in any order. */
  readonly threads: number
  /** See `FillRequest`. */
  readonly bounds?: QueryBounds | undefined
  readonly hasDistinctKeys?: boolean
  readonly isRepeat?: boolean
}

/** Fills a table with what a view gives of a chunk, as one block. Raises `StoreError`. @throws SQL_INVALID (400) */
export async function fillChunk(
  store: Pick<Store, 'fill'>,
  { rowCount, ...chunk }: Chunk,
  { view, graph, pin, condition, ...into }: ChunkFill,
): Promise<void> {
  const tables = new Set(graph.tables.keys())
  const rows = { pieces: chunk.pieces, areAll: chunk.areAll ?? false, pin, condition }
  await store.fill({ ...into, query: chunkQuery(view, tables, rows), rowCount })
}

/** A view fills the columns that its target has by the same names. */
export function filledColumns(
  { columns }: Pick<PopulatedView, 'columns'>,
  target: Pick<GraphTable, 'columns'>,
): readonly string[] {
  return columns.filter((column) => target.columns.includes(column))
}

/**
 * What a view gives of some rows.
 *
 * @param tables all that the query may read.
 * @throws SQL_INVALID (400) when the query cannot be read.
 */
export function chunkQuery(
  { select, sourceId }: Pick<PopulatedView, 'select' | 'sourceId'>,
  tables: ReadonlySet<string>,
  { pin, ...rows }: ChunkRows & { readonly pin: string },
): CheckedQuery {
  const replacements = new Map([[sourceId, chunkRowsText(pin, rows)]])
  const options = { database: workspaceDatabase, tables, replacements, leavesModifiers: true }
  return retargetTables(select, options).sql
}

/**
 * Whether rows that lie together in the order of a table may come to the same groups. Where a query does not even read the first column of
 * the sorting key, they do not.
 */
export function mayGroupByKey(
  select: CheckedQuery,
  { engine, columns }: Pick<DataSource, 'columns' | 'engine'>,
): boolean {
  const first = keyNames(engine, 'sorting_key').all.find((name) => columns.some((column) => column.name === name))
  return first !== undefined && tokenize(select).some(({ name }) => name === first)
}

/** Whether no two rows that a view gives of a chunk have the same sorting key in its target, which would else merge them as they come. */
export function givesDistinctKeys(
  select: CheckedQuery,
  { engine, columns }: Pick<DataSource, 'columns' | 'engine'>,
): boolean {
  // SummingMergeTree takes away rows of nothing but zeros, and others look at more than the key.
  if (engine.name !== 'AggregatingMergeTree') return false
  const { groups, givesGroups } = readViewQuery(select)
  const { items } = keyNames(engine, 'sorting_key')
  // FINAL goes through a part that was merged as it came without merging it, and other columns than states are read with that.
  const isOfStates = columns.every(
    ({ name, typeText }) => items.includes(name) || /^AggregateFunction\(/.test(typeText),
  )
  // Of floats some are equal in a key and make groups of their own, as the two zeros do.
  const isExact = (name: string): boolean =>
    columns.some((column) => column.name === name && !/Float|Dynamic|Variant/.test(column.typeText))
  return givesGroups && isOfStates && groups?.every((name) => items.includes(name) && isExact(name)) === true
}

/** The names in a query, among them those of all columns that it reads; null where it may read others too. */
export function readNames(select: CheckedQuery): readonly string[] | null {
  const tokens = tokenize(select)
  if (tokens.some(({ key }, index) => key === 'COLUMNS' || (key === '*' && !isOperator(tokens, index)))) return null
  const names = tokens.filter(({ kind }) => kind === 'word' || kind === 'quotedName').map(({ name }) => name)
  // In quotes one name may be that of a column of Nested, or a path.
  return [...new Set(names.flatMap((name) => [name, name.replace(/\..*$/s, '')]))]
}

/** Whether an asterisk multiplies, or is what `count` has in its brackets; all else is taken for all columns. */
function isOperator(tokens: readonly Token[], index: number): boolean {
  const keyAt = (at: number): string => tokens[at]?.key ?? ''
  const isCounted = keyAt(index - 2) === 'COUNT' && keyAt(index - 1) === '(' && keyAt(index + 1) === ')'
  const isBetween = index > 0 && index < tokens.length - 1
  return isCounted || (isBetween && !beforeColumns.test(keyAt(index - 1)) && !behindColumns.test(keyAt(index + 1)))
}

/** What is no operand: an asterisk behind it, or before it, multiplies nothing. */
const beforeColumns = /^(?:SELECT|DISTINCT|ALL|[,.(])$/
const behindColumns =
  /^(?:FROM|EXCEPT|REPLACE|APPLY|WHERE|PREWHERE|GROUP|HAVING|ORDER|LIMIT|OFFSET|UNION|INTERSECT|QUALIFY|WINDOW|SETTINGS|FORMAT|ARRAY|LEFT|INNER|JOIN|SAMPLE|FINAL|AS|[,);])$/

/** What may give something else of the same rows in another order. */
const orderedKey =
  /^(?:ANY|ARGM|ARRAY_AGG|ARRAY_CONCAT_AGG|BLOCKNUMBER|DELTASUM|FIRST_|FIRSTVALUE|GROUP_?ARRAY|GROUP_?CONCAT|LAST_|LASTVALUE|LIMIT|MAX_BY|MIN_BY|NEIGHBOR|NONNEGATIVE|OVER|ROWNUMBER|RUNNING|STOCHASTIC|STRING_AGG)/

/** Whether a query may give something else of the same rows where they come in another order. */
export function dependsOnOrder(select: CheckedQuery): boolean {
  return tokenize(select).some(({ key }) => orderedKey.test(key))
}

/** Whether a query groups rows, at any depth: then what it holds of a chunk are groups, and not the rows. */
export function groupsRows(select: CheckedQuery): boolean {
  const words = tokenize(select).map(({ text }) => text.toUpperCase())
  return words.some((word, index) => word === 'GROUP' && words[index + 1] === 'BY')
}
