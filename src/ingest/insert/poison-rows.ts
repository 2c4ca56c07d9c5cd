/**
 * Finds the rows for which the engine refuses a whole block, and keeps them in quarantine with the engine's reason.
 *
 * The workers judge every value, but a DEFAULT, a key or a type of the engine's may still throw. Halves of the block are
 * tried in a table of the same definition that nobody reads, so that nothing is stored while the search goes on. What was
 * found is written into the log before the block is inserted without it, and holds for every later try; what is found later joins it.
 */

import type { DataSource } from '../../catalog/data-source.types.ts'
import { partExpression } from '../../codec/arrow/part-expression.ts'
import { partLayoutOf } from '../../codec/arrow/part-layout.ts'
import type { PartTarget } from '../../codec/arrow/part-layout.types.ts'
import type { ColumnDefinition } from '../../schema/columns/column-definition.types.ts'
import { quarantineTimeColumn } from '../../schema/columns/column-name.ts'
import { parseColumnType } from '../../schema/types/column-type.ts'
import { quoteString } from '../../shared/text-escapes.ts'
import { quarantineTable } from '../../store/sql/quarantine-table.ts'
import type { AppendRequest, Store } from '../../store/store.types.ts'
import type { LikeTable, Tables } from '../../store/tables.types.ts'
import { ingestPlanOf } from '../ingest-plan.ts'
import type { ParsePool } from '../parse/parse-pool.ts'
import { groupBodies, joinedBodies, type RecordBody } from '../parse/record-body.ts'
import type { NamedBlock } from './block.types.ts'
import { createBlockId } from './block-id.ts'
import { parseBodies } from './block-parser.ts'
import { isPlainTable } from './plain-table.ts'
import { findRefusedRows } from './refused-rows.ts'

export interface PoisonDeps {
  readonly store: Pick<Store, 'append' | 'tables' | 'trials'>
  readonly pool: ParsePool
  readonly frameBytes: number
}

/** Names of tables that are tried; what a kill leaves of them is dropped at the start. */
export const trialSuffix = '_trial'
/** The same of those in which rows are staged. */
export const piecesSuffix = '_pieces'
/** The same of those that hold the rows of an import's block while it is searched. */
export const searchedSuffix = '_searched'
const lineFeed = 0x0a

/** The lines of a block's bodies in order, each as a body; a document that is no JSON is none, as the engine never sees it. */
export function linesOf(bodies: readonly RecordBody[]): readonly RecordBody[] {
  return bodies.flatMap((body) => {
    return body.framing === 'lines' ? splitLines(body.bytes).map((bytes) => ({ ...body, bytes })) : []
  })
}

/** The bodies without the lines that are set aside. */
export function withoutLines(bodies: readonly RecordBody[], setAside: readonly number[]): readonly RecordBody[] {
  const left = new Set(setAside)
  const kept = linesOf(bodies).filter((_, index) => !left.has(index))
  const documents = bodies.filter(({ framing }) => framing === 'document')
  return [...joinLines(kept), ...documents]
}

/**
 * The lines, by number, that the engine refuses; empty when it takes them all. Lines in `known` are set aside already.
 *
 * Two tables stand in for the data source's own: one that keeps nothing shows what a DEFAULT or a cast refuses, at a third
 * of the cost; one like the original shows what a key refuses, of what is left.
 * @throws StoreError when the engine fails for another reason than the rows.
 */
export async function findPoison(
  deps: PoisonDeps,
  dataSource: DataSource,
  { bodies, known }: { readonly bodies: readonly RecordBody[]; readonly known: readonly number[] },
): Promise<readonly number[]> {
  const table = dataSource.id + trialSuffix
  const computes = !isPlainTable(dataSource)
  const search = { deps, dataSource, table, lines: linesOf(bodies) }
  const counts = { tried: 0, taken: 0 }
  const trials = {
    insert: async (numbers: readonly number[]) => {
      await insertTried(search, numbers)
    },
    insertBlank: () => deps.store.trials.insertBlankRow(table, dataSource.columns, { computes }),
  }
  const found = new Set<number>()
  const candidates = (): readonly number[] => {
    const left = new Set([...known, ...found])
    return search.lines.map((_, index) => index).filter((index) => !left.has(index))
  }
  for (const keeps of ['nothing', 'same'] as const) {
    const some = await withTableLike(deps.store.tables, { dataSource, table, keeps }, () =>
      findRefusedRows(trials, candidates(), counts),
    )
    for (const line of some) found.add(line)
  }
  return [...found].toSorted((a, b) => a - b)
}

/** Drops what a kill in the middle of a search left. */
export async function dropTrialTables(tables: Pick<Tables, 'drop' | 'list'>): Promise<void> {
  for (const name of (await tables.list()).keys()) if (trialName.test(name)) await tables.drop(name)
}

const trialName = new RegExp(`^t_[0-9a-f]{32}(_[0-9a-f]{32})?(${trialSuffix}|${piecesSuffix}|${searchedSuffix})$`)

export interface Search {
  readonly deps: PoisonDeps
  readonly dataSource: DataSource
  /** Unquoted. */
  readonly table: string
  readonly lines: readonly RecordBody[]
}

interface TrialTable {
  readonly dataSource: DataSource
  /** The table that it is like, unquoted; that of the data source when absent. */
  readonly like?: string
  /** Unquoted. */
  readonly table: string
  readonly keeps: LikeTable['keeps']
}

/** Runs `use` while there is a table with the columns of the data source. */
export async function withTableLike<Result>(
  tables: Pick<Tables, 'drop' | 'recreateLike'>,
  { dataSource, like = dataSource.id, table, keeps }: TrialTable,
  use: () => Promise<Result>,
): Promise<Result> {
  await tables.recreateLike(table, { like, keeps }, { computes: !isPlainTable(dataSource) })
  try {
    return await use()
  } finally {
    await tables.drop(table)
  }
}

/** Appends these lines to the search's table, and gives how many rows they were. */
export async function insertTried(
  { deps, dataSource, table, lines }: Search,
  numbers: readonly number[],
): Promise<number> {
  const { store, pool, frameBytes } = deps
  const plan = ingestPlanOf(dataSource, null)
  const bodies = joinLines(numbers.flatMap((number) => lines[number] ?? []))
  const { parts, rowCount } = await parseBodies(pool, plan, bodies, frameBytes)
  if (rowCount === 0) return 0
  await store.append({ ...plan.landing, table, parts, rowCount, blockId: createBlockId(), isTrial: true })
  return rowCount
}

interface QuarantinedLines {
  readonly block: NamedBlock
  readonly bodies: readonly RecordBody[]
  /** By number, over the lines of the bodies. */
  readonly lines: readonly number[]
  readonly reason: string
  /** Behind the block's id. */
  readonly tokenSuffix: 'c' | 'o' | 'p' | 'u'
}

/** Appends lines that are set aside to the quarantine, their values as texts, under the block's own token. */
export async function quarantinePoison(
  { store, pool, frameBytes }: PoisonDeps,
  dataSource: DataSource,
  { block, bodies, lines: numbers, reason, tokenSuffix }: QuarantinedLines,
): Promise<void> {
  if (numbers.length === 0) return
  const left = new Set(numbers)
  const lines = linesOf(bodies).filter((_, index) => left.has(index))
  const columns = dataSource.columns.map(asText)
  const plan = { planKey: `${dataSource.id}:${dataSource.version}:texts`, columns }
  const rows = await parseBodies(pool, plan, joinLines(lines), frameBytes)
  const { fields, targets } = partLayoutOf(columns)
  const reasons: readonly PartTarget[] = [
    { column: 'c__error_column', expression: partExpression("['']") },
    { column: 'c__error', expression: partExpression(`[${quoteString(reason)}]`) },
    {
      column: quarantineTimeColumn(columns),
      expression: partExpression(`toDateTime(${Math.floor(block.namedAtMs / 1000)})`),
    },
  ]
  const request: AppendRequest = {
    table: quarantineTable(dataSource.id),
    layout: { fields, targets: [...targets, ...reasons] },
    parts: rows.parts,
    rowCount: rows.rowCount,
    blockId: `${block.blockId}-${tokenSuffix}`,
    isPlain: true,
  }
  if (rows.rowCount > 0) await store.append(request)
}

/** The reason under which such rows are set aside; the engine's own words are in the log of the service. */
export const poisonReason = 'the database refused the row'
/** The same where it took more than an INSERT may. */
export const costlyReason = 'the database took too much time or memory for the row'
/** The same where others of its block took so much that it was given up before its turn. */
export const untriedReason = 'the row was not tried, as the database took too much time or memory for others beside it'

const textType = parseColumnType('Nullable(String)')

function asText(column: ColumnDefinition): ColumnDefinition {
  return { ...column, typeText: 'Nullable(String)', type: textType, defaultExpression: null, codec: null }
}

function splitLines(bytes: Uint8Array): readonly Uint8Array[] {
  const lines: Uint8Array[] = []
  let start = 0
  while (start < bytes.length) {
    const end = bytes.indexOf(lineFeed, start)
    const stop = end < 0 ? bytes.length : end
    lines.push(bytes.subarray(start, stop))
    start = stop + 1
  }
  return lines
}

/** Neighbouring lines of the same rules as one body. */
function joinLines(lines: readonly RecordBody[]): readonly RecordBody[] {
  return groupBodies(lines, Number.POSITIVE_INFINITY).flatMap(joinedBodies)
}
