// A populate as it is asked for: what it would read, and what speaks against it.

import type { Catalog } from '../../catalog/catalog.ts'
import type { DataSource } from '../../catalog/data-source.types.ts'
import { findEngineName, isMergeTree } from '../../schema/engines/engine-options.ts'
import type { CheckedExpression } from '../../schema/expressions/checked-text.types.ts'
import { type ApiError, errors } from '../../shared/errors/errors.ts'
import { createResourceHex } from '../../shared/ids.ts'
import { toCopyError, toReadingChangeError } from '../../store/caller-errors.ts'
import { tablesBehind } from '../../store/sql/table-graph.ts'
import type { Store } from '../../store/store.types.ts'
import type { TableGraph, TableState } from '../../store/tables.types.ts'
import { keyNames } from '../verify/engine-keys.ts'
import type { PopulatedView, PopulatePlan, PopulateReads } from './populate.types.ts'
import type { PopulateRequest } from './populate-request.types.ts'
import { populatedBranches } from './populated-view.ts'

export interface PlanDeps {
  readonly catalog: Pick<Catalog, 'find' | 'lastNameOf'>
  readonly store: Pick<Store, 'partitions' | 'tables'>
  readonly checkCondition: CheckCondition
  /** Epoch milliseconds. */
  readonly now: () => number
}

/** Judges a condition over the rows of a data source; `seconds` is what it calls now. @throws POPULATE_INVALID (400). */
export type CheckCondition = (dataSource: DataSource, text: string, seconds: number) => Promise<CheckedExpression>

/** Rows that a part of them has at most. */
const subsetRowsMax = 2_000_000

/** See `Populates.plan`. */
export async function planPopulate(
  view: PopulatedView,
  request: PopulateRequest,
  deps: PlanDeps & { readonly graph: TableGraph; readonly made?: DataSource | undefined },
): Promise<PopulatePlan> {
  const source = findSource(view.sourceId, deps.catalog)
  const sources = populatedBranches(view).map(({ sourceId }) => findSource(sourceId, deps.catalog))
  const target = deps.made ?? findSource(view.targetId, deps.catalog)
  for (const one of sources) refuseSource(one)
  const seconds = Math.floor(deps.now() / 1_000)
  const conditions = await conditionsOn(sources, { request, seconds, deps })
  const { graph } = deps
  if (request.truncates) refuseTruncate(target, view, graph)
  const filled = [...tablesBehind(graph, view.targetId)]
  const [states, counts] = await Promise.all([
    deps.store.tables.list([...sources, target].map(({ id }) => id)),
    countsOfAll(sources, conditions, deps.store),
  ])
  const reads = readsOfAll(sources, { states, counts, request })
  const warnings = request.truncates ? [] : warningsOf(target, states)
  const sourceName = source.name
  return { view, source, sourceName, target, request, seconds, reads, warnings, filled, pinId: createResourceHex() }
}

/** Takes one row of so many; 1 takes all. */
export function stepOf({ subset }: Pick<PopulateRequest, 'subset'>, rowCount: number): number {
  return subset === null ? 1 : Math.max(Math.ceil(1 / subset), Math.ceil(rowCount / subsetRowsMax))
}

function findSource(id: string, catalog: PlanDeps['catalog']): DataSource {
  const found = catalog.find(id)
  if (found === undefined) throw errors.DATASOURCE_NOT_FOUND({ name: catalog.lastNameOf(id) })
  return found
}

/** @throws POPULATE_INVALID (400) */
function refuseSource({ name, engine }: DataSource): void {
  const engineName = findEngineName(engine.name)
  if (engineName !== undefined && isMergeTree(engineName)) return
  const reason =
    engine.name === 'Null'
      ? `Data Source "${name}" has the engine Null, which keeps no rows`
      : `Data Source "${name}" has the engine ${engine.name}, of which no moment can be kept`
  throw errors.POPULATE_INVALID({ reason, others: [name], untold: `its source has the engine ${engine.name}` })
}

/** @throws POPULATE_REFUSED (409) */
function refuseTruncate({ id, name }: DataSource, view: PopulatedView, { views }: TableGraph): void {
  const own = new Set(populatedBranches(view).map((branch) => branch.id))
  const others = views.filter(({ target, name: other }) => target === id && !own.has(other))
  if (others.length > 0) {
    const reason = 'other Materialized Views fill it too, and their rows would go with truncate; leave truncate out'
    throw errors.POPULATE_REFUSED({ datasource: name, reason })
  }
  if (views.some(({ source }) => source === id)) {
    const reason =
      'Materialized Views read it, which would keep what they made of its old rows; leave truncate out, replace the content of the first Data Source, or use repair with force=true, which tells which views are incomplete then'
    throw errors.POPULATE_REFUSED({ datasource: name, reason })
  }
}

interface AskedConditions {
  readonly request: PopulateRequest
  readonly seconds: number
  readonly deps: Pick<PlanDeps, 'checkCondition'>
}

/** The condition as that of each source; nulls where all rows are meant, or a part of them. @throws POPULATE_INVALID (400) */
export async function conditionsOn(
  sources: readonly DataSource[],
  { request, seconds, deps }: AskedConditions,
): Promise<readonly (CheckedExpression | null)[]> {
  const { condition, subset } = request
  const conditions: (CheckedExpression | null)[] = []
  for (const source of sources) {
    const isMeant = condition !== null && subset === null
    conditions.push(isMeant ? await deps.checkCondition(source, condition, seconds) : null)
  }
  return conditions
}

interface ReadCounts {
  /** Null where there is one, or none where there are no rows. */
  readonly partitionCount: number | null
  /** Null for all rows of the source, or a part of them. */
  readonly matchingRows: number | null
}

/** One source after the other, as each may be read for it. */
async function countsOfAll(
  sources: readonly DataSource[],
  conditions: readonly (CheckedExpression | null)[],
  store: PlanDeps['store'],
): Promise<readonly ReadCounts[]> {
  const counts: ReadCounts[] = []
  for (const [index, source] of sources.entries()) counts.push(await countsOf(source, conditions[index] ?? null, store))
  return counts
}

async function countsOf(
  { id: table, engine }: DataSource,
  condition: CheckedExpression | null,
  store: PlanDeps['store'],
): Promise<ReadCounts> {
  if (condition === null) {
    const isCut = keyNames(engine, 'partition_key').all.length > 0
    return { partitionCount: isCut ? (await store.partitions.list(table)).length : null, matchingRows: null }
  }
  try {
    const matching = await store.partitions.matching(table, condition)
    return { partitionCount: matching.length, matchingRows: await store.tables.countRows(table, condition) }
  } catch (thrown) {
    // It is right for no row at all, and fails on one that is there.
    const invalid = (reason: string): ApiError => errors.POPULATE_INVALID({ reason, cause: thrown })
    throw toReadingChangeError(toCopyError(thrown, invalid))
  }
}

interface ReadStates {
  /** What the tables have. */
  readonly states: ReadonlyMap<string, TableState>
  /** Of each source. */
  readonly counts: readonly ReadCounts[]
  readonly request: PopulateRequest
}

function readsOfAll(sources: readonly DataSource[], { states, counts, request }: ReadStates): PopulateReads {
  const kept = sources.map(({ id }) => states.get(id) ?? { rowCount: 0, byteCount: 0 })
  const step = stepOf(request, sum(kept.map(({ rowCount }) => rowCount)))
  const rowCounts = kept.map(({ rowCount }, index) => counts[index]?.matchingRows ?? Math.ceil(rowCount / step))
  const isWhole = step === 1 && counts.every(({ matchingRows }) => matchingRows === null)
  return {
    rowCount: sum(rowCounts),
    // A table whose rows were deleted keeps files of none.
    byteCount: isWhole ? sum(kept.map(({ rowCount, byteCount }) => (rowCount === 0 ? 0 : byteCount))) : null,
    partitionCount: sum(
      counts.map(({ partitionCount }, index) => partitionCount ?? Math.min(1, rowCounts[index] ?? 0)),
    ),
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

function warningsOf({ id, name }: DataSource, states: ReadStates['states']): readonly string[] {
  const { rowCount = 0 } = states.get(id) ?? {}
  if (rowCount === 0) return []
  return [
    `Data Source "${name}" has rows already, to which those of the populate are added: rows that its Materialized View has made before are there twice then. Use truncate=true to put new rows in their place`,
  ]
}
