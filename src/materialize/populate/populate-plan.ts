// A populate as it is asked for: what it would read, and what speaks against it.

import type { Catalog } from '../../catalog/catalog.ts'
import type { DataSource } from '../../catalog/data-source.types.ts'
import { findEngineName, isMergeTree } from '../../schema/engines/engine-options.ts'
import type { CheckedExpression } from '../../schema/expressions/checked-text.types.ts'
import { type ApiError, errors } from '../../shared/errors/errors.ts'
import { createResourceHex } from '../../shared/ids.ts'
import { toChangeError, toCopyError } from '../../store/caller-errors.ts'
import { tablesBehind } from '../../store/sql/table-graph.ts'
import type { Store } from '../../store/store.types.ts'
import type { TableGraph } from '../../store/tables.types.ts'
import type { PopulatedView, PopulatePlan, PopulateReads } from './populate.types.ts'
import type { PopulateRequest } from './populate-request.types.ts'

export interface PlanDeps {
  readonly catalog: Pick<Catalog, 'find'>
  readonly store: Pick<Store, 'partitions' | 'tables' | 'views'>
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
  deps: PlanDeps,
): Promise<PopulatePlan> {
  const source = findSource(view.sourceId, deps.catalog)
  const target = findSource(view.targetId, deps.catalog)
  refuseSource(source)
  if (view.more !== undefined) {
    const reason = 'its node reads its rows through UNION ALL; make a materialized node of each SELECT to populate it'
    throw errors.POPULATE_INVALID({ reason })
  }
  const seconds = Math.floor(deps.now() / 1_000)
  const condition =
    request.condition === null || request.subset !== null
      ? null
      : await deps.checkCondition(source, request.condition, seconds)
  const graph = await deps.store.views.graph()
  if (request.truncates) refuseTruncate(target, view, graph)
  const filled = [...tablesBehind(graph, view.targetId)]
  const reads = await readsOf(source, { request, condition, store: deps.store })
  const warnings = request.truncates ? [] : await warningsOf(target, deps.store)
  const sourceName = source.name
  return { view, source, sourceName, target, request, seconds, reads, warnings, filled, pinId: createResourceHex() }
}

/** Takes one row of so many; 1 takes all. */
export function stepOf({ subset }: Pick<PopulateRequest, 'subset'>, rowCount: number): number {
  return subset === null ? 1 : Math.max(Math.ceil(1 / subset), Math.ceil(rowCount / subsetRowsMax))
}

function findSource(id: string, catalog: PlanDeps['catalog']): DataSource {
  const found = catalog.find(id)
  if (found === undefined) throw errors.DATASOURCE_NOT_FOUND({ name: id })
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
  throw errors.POPULATE_INVALID({ reason })
}

/** @throws POPULATE_REFUSED (409) */
function refuseTruncate({ id, name }: DataSource, view: PopulatedView, { views }: TableGraph): void {
  const others = views.filter(({ target, name: other }) => target === id && other !== view.id)
  if (others.length > 0) {
    const reason = 'other Materialized Views fill it too, and their rows would go with truncate; leave truncate out'
    throw errors.POPULATE_REFUSED({ datasource: name, reason })
  }
  if (views.some(({ source }) => source === id)) {
    const reason =
      'Materialized Views read it, which would keep what they made of its old rows; leave truncate out, or replace the content of the first Data Source'
    throw errors.POPULATE_REFUSED({ datasource: name, reason })
  }
}

interface ReadRows {
  readonly request: PopulateRequest
  readonly condition: CheckedExpression | null
  readonly store: PlanDeps['store']
}

async function readsOf({ id }: DataSource, { request, condition, store }: ReadRows): Promise<PopulateReads> {
  const { rowCount = 0, byteCount = 0 } = (await store.tables.list([id])).get(id) ?? {}
  if (condition === null) {
    const step = stepOf(request, rowCount)
    const partitionCount = (await store.partitions.list(id)).length
    return { rowCount: Math.ceil(rowCount / step), byteCount: step === 1 ? byteCount : null, partitionCount }
  }
  try {
    const matching = await store.partitions.matching(id, condition)
    const rowCount = await store.tables.countRows(id, condition)
    return { rowCount, byteCount: null, partitionCount: matching.length }
  } catch (thrown) {
    // It is right for no row at all, and fails on one that is there.
    const invalid = (reason: string): ApiError => errors.POPULATE_INVALID({ reason, cause: thrown })
    throw toChangeError(toCopyError(thrown, invalid))
  }
}

async function warningsOf({ id, name }: DataSource, store: PlanDeps['store']): Promise<readonly string[]> {
  const { rowCount = 0 } = (await store.tables.list([id])).get(id) ?? {}
  if (rowCount === 0) return []
  return [
    `Data Source "${name}" has rows already, to which those of the populate are added: rows that its Materialized View has made before are there twice then. Use truncate=true to put new rows in their place.`,
  ]
}
