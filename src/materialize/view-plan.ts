// What is to be made of a node that fills a data source. Nothing is made here.

import type { Catalog } from '../catalog/catalog.ts'
import type { DataSource, DataSourceId } from '../catalog/data-source.types.ts'
import { findDataSourceId, parseDataSourceId } from '../catalog/data-source-id.ts'
import { viewLabel, viewsOn } from '../catalog/node-views.ts'
import type { Pipe, PipeNode, ViewColumn } from '../catalog/pipe.types.ts'
import { withoutQuarantine } from '../catalog/quarantine-name.ts'
import type { CheckedQuery } from '../schema/expressions/checked-text.types.ts'
import { assert } from '../shared/assert.ts'
import { errors } from '../shared/errors/errors.ts'
import type { ReadScope } from '../sql/read-scope.types.ts'
import { toReadingChangeError } from '../store/caller-errors.ts'
import { engineDifferences } from './engine-differences.ts'
import { engineWarnings } from './engine-warnings.ts'
import type { FlatQuery, ViewLink } from './materialize.types.ts'
import { type NewTarget, newTarget } from './new-target.ts'
import { type Fit, fitColumns, otherStates, type TakesStates } from './target-columns.ts'
import { type BranchQuery, branchQueries, type DescribeQuery } from './view-branches.ts'
import { cyclePath, type ViewEdge } from './view-cycle.ts'
import { sourcesBehind } from './view-graph.ts'
import { readViewQuery, type ViewQuery, ViewQueryFault } from './view-query.ts'

export interface ViewPlan {
  readonly link: ViewLink
  readonly node: PipeNode
  readonly flat: FlatQuery
  /** With the types of all SELECTs together. */
  readonly columns: readonly ViewColumn[]
  /** Each is a view; several where it reads its rows through UNION ALL. */
  readonly branches: readonly PlannedBranch[]
  /** The data source that is there and fits, or is made for an earlier link of the request; undefined where one is to be made. */
  readonly existing: DataSource | undefined
  /** What it fills, as it is or will be. */
  readonly target: DataSource
  /** What is to be made: one of a new name, or one that is there and does not fit anew; null makes none. */
  readonly making: 'new' | 'override' | null
  readonly made: NewTarget
  readonly warnings: readonly string[]
}

export interface PlannedBranch {
  readonly select: CheckedQuery
  readonly columns: readonly ViewColumn[]
  readonly query: ViewQuery
  readonly sourceId: DataSourceId
  readonly otherIds: readonly DataSourceId[]
}

export interface ViewPlanDeps {
  readonly catalog: Pick<Catalog, 'find' | 'listPipes'>
  readonly flattenNode: (pipe: Pipe, position: number, author: ReadScope, changed?: Pipe) => Promise<FlatQuery>
  readonly describe: DescribeQuery
  /** See `Trials.takesStates`. */
  readonly takesStates: (given: string, column: string) => Promise<boolean>
  /** Of the request's earlier links. */
  readonly earlier: readonly ViewPlan[]
  /** The data source that would be made. @throws SCHEMA_INVALID, ENGINE_INVALID (400) */
  readonly define: (plan: TargetDefinition) => DataSource
}

export interface TargetDefinition extends Pick<NewTarget, 'engine' | 'schema'> {
  /** Undefined for one of a new name. */
  readonly overridden: DataSource | undefined
  readonly link: ViewLink
}

/**
 * @throws VIEW_INVALID, VIEW_CYCLE, VIEW_MISFIT (400), VIEW_SOURCE_DENIED (403), DATASOURCE_EXISTS, DATASOURCE_NOT_FOUND, OVERRIDE_REFUSED
 *   (409), and states of the engine (503).
 */
export async function planView(link: ViewLink, deps: ViewPlanDeps): Promise<ViewPlan> {
  const node = link.pipe.nodes[link.position]
  assert(node !== undefined, 'the pipe has the node')
  const flat = await deps.flattenNode(link.pipe, link.position, link.author, link.changed)
  const columns = flat.columns.map(({ name, type }) => ({ name, typeText: type }))
  try {
    const queries = await branchQueries(flat.sql, columns, deps.describe)
    const branches = queries.map((query) => plannedBranch(query, deps.catalog))
    const takesStates = await takenStates(branches, { link, deps })
    return planFlat(link, { node, flat, columns, branches, takesStates }, deps)
  } catch (thrown) {
    if (!(thrown instanceof ViewQueryFault)) throw toReadingChangeError(thrown)
    const others = [...thrown.others, ...pipesIn(flat, link, deps.catalog)]
    throw errors.VIEW_INVALID({ node: node.name, reason: thrown.message, others, cause: thrown })
  }
}

/** The other pipes whose SQL stands in a query: what is wrong with it may quote that. */
function pipesIn({ nodeIds }: FlatQuery, { pipe }: ViewLink, catalog: ViewPlanDeps['catalog']) {
  const read = catalog.listPipes().filter(({ id, nodes }) => {
    return id !== pipe.id && nodes.some((node) => nodeIds.includes(node.id))
  })
  return read.map(({ name }) => ({ kind: 'pipe', name }) as const)
}

function plannedBranch({ sql, columns }: BranchQuery, catalog: ViewPlanDeps['catalog']): PlannedBranch {
  const query = readViewQuery(sql)
  const sourceId = triggerId(query.source, catalog)
  // Who reads a quarantine reads its data source.
  const owners = query.others.map((table) => findDataSourceId(withoutQuarantine(table)))
  const otherIds = [...new Set(owners)].flatMap((id) => (id === undefined || id === sourceId ? [] : [id]))
  return { select: sql, columns, query, sourceId, otherIds }
}

const untoldMisfit = 'which of its columns differ is told to tokens that may read it, without a filter'

type FlatNode = Pick<ViewPlan, 'branches' | 'columns' | 'flat' | 'node'> & { readonly takesStates: TakesStates }

/** Asks the engine about what cannot be told by the texts of types. */
async function takenStates(
  branches: readonly PlannedBranch[],
  { link, deps: { catalog, earlier, takesStates } }: { readonly link: ViewLink; readonly deps: ViewPlanDeps },
): Promise<TakesStates> {
  const target = earlier.find((plan) => isTarget(plan.target, link))?.target ?? catalog.find(link.target.name)
  const pairs = branches.flatMap(({ columns }) => otherStates(columns, target?.columns ?? []))
  const taken = new Set<string>()
  for (const [given, column] of pairs) if (await takesStates(given, column)) taken.add(`${given} ${column}`)
  return (given, column) => taken.has(`${given} ${column}`)
}

function planFlat(link: ViewLink, given: FlatNode, { catalog, earlier, define }: ViewPlanDeps): ViewPlan {
  const { target } = link
  const { takesStates, ...planned } = given
  const { node, flat, columns, branches } = planned
  const [first] = branches
  assert(first !== undefined, 'a node has a SELECT')
  for (const { sourceId } of branches) {
    if (!target.mayWriteTo(sourceId)) throw errors.VIEW_SOURCE_DENIED({ node: node.name })
    refuseHiddenCondition(link, { node, sourceId })
  }
  const before = earlier.find((plan) => plan.making !== null && isTarget(plan.target, link))
  const found = before?.target ?? knownTarget(link, catalog)
  const fit = found === undefined ? null : fitAll(branches, found, takesStates)
  const isMisfit = fit !== null && fit.faults.length > 0
  const differences = found === undefined ? [] : engineDifferences(target.engine, found.engine)
  const isRemade = isMisfit || (target.isOverridden && differences.length > 0 && before === undefined)
  const isTold = found === undefined || before !== undefined || target.mayRead(found.id)
  if (found !== undefined && isMisfit && (!target.isOverridden || before !== undefined)) {
    throw errors.VIEW_MISFIT({ node: node.name, datasource: found.name, faults: isTold ? fit.faults : [untoldMisfit] })
  }
  const existing = isRemade ? undefined : found
  const overridden = isRemade ? found : undefined
  if (overridden !== undefined) refuseOverride(overridden, catalog)
  const edges = earlier.flatMap((plan) => plan.branches.map((one) => ({ from: one.sourceId, to: plan.target.id })))
  for (const { sourceId } of branches) {
    if (found !== undefined) refuseCycle({ from: sourceId, to: found.id }, { node, catalog, edges })
    // A view that fails stops whatever rows come from to it, not the last of them alone.
    const stopped = sourcesBehind(sourceId, catalog.listPipes())
    if (!stopped.every((id) => target.mayWriteTo(id))) throw errors.VIEW_SOURCE_DENIED({ node: node.name })
  }
  const made = newTarget(columns, first.query, target.engine)
  const { schema, engine } = made
  const defined = existing ?? define({ overridden, schema, engine, link })
  const isEngineTold = existing === undefined || isTold
  const warnings = new Set([
    ...(existing === undefined ? made.notes : []),
    ...(isEngineTold ? branches.flatMap(({ query }) => engineWarnings(columns, query, defined.engine)) : []),
    ...(branches.length === 1 ? [] : [splitText(branches.length)]),
    ...branches.flatMap(({ query }) => query.warnings),
    ...(flat.writtenSettings.length > 0 ? ['SETTINGS of the query do not hold in a view'] : []),
    ...(existing === undefined || !isTold ? [] : [...differences.map(keptText), ...(fit?.warnings ?? [])]),
  ])
  const making = existing !== undefined ? null : overridden === undefined ? 'new' : 'override'
  return { link, ...planned, existing, target: defined, making, made, warnings: [...warnings] }
}

function keptText(difference: string): string {
  return `the Data Source takes the columns, and stays as it is: ${difference}; override_datasource=true makes one without rows anew`
}

function splitText(count: number): string {
  return `UNION ALL became ${count} views, one of each SELECT: each sees the blocks of the Data Source after its first FROM`
}

/** Each SELECT by its own types. */
function fitAll(branches: readonly PlannedBranch[], { columns: target }: DataSource, takesStates: TakesStates): Fit {
  const fits = branches.map(({ columns }) => fitColumns(columns, target, takesStates))
  const faults = fits.flatMap((fit, index) => {
    return fit.faults.map((fault) => (branches.length === 1 ? fault : `in SELECT ${index + 1}: ${fault}`))
  })
  return { faults, warnings: fits.flatMap(({ warnings }) => warnings) }
}

/** A condition tells of all values of its data source, also of those that the query leaves out. @throws READ_DENIED (403) */
function refuseHiddenCondition(
  { author, target: { populate } }: ViewLink,
  { node, sourceId }: { readonly node: PipeNode; readonly sourceId: DataSourceId },
): void {
  if (populate === undefined || populate === null || populate.condition === null) return
  if (author.mayRead(sourceId) && author.filterOf(sourceId) === null) return
  const hint =
    'populate_condition is for tokens that read all of the Data Source after the first FROM, without a filter'
  throw errors.READ_DENIED({ name: node.name, hint })
}

/** The data source whose table this is. */
function triggerId(table: string, catalog: ViewPlanDeps['catalog']): DataSourceId {
  if (findDataSourceId(table) !== table || catalog.find(table) === undefined) {
    const owner = catalog.find(withoutQuarantine(table))
    const name = owner === undefined ? 'a table of the service' : `the quarantine of '${owner.name}'`
    const others = owner === undefined ? [] : [{ kind: 'datasource', name: owner.name } as const]
    throw new ViewQueryFault(`it reads ${name} first, whose rows come to no view`, { others })
  }
  return parseDataSourceId(table)
}

function knownTarget({ target }: ViewLink, catalog: ViewPlanDeps['catalog']): DataSource | undefined {
  const found = catalog.find(target.name)
  if ((found?.id ?? null) === target.knownId) return found
  // Rights were judged for another one, or for none.
  throw found === undefined
    ? errors.DATASOURCE_NOT_FOUND({ name: target.name })
    : errors.DATASOURCE_EXISTS({ name: found.name })
}

function refuseOverride({ id, name }: DataSource, catalog: ViewPlanDeps['catalog']): void {
  const users = [...new Set(viewsOn(catalog.listPipes(), id).map(viewLabel))]
  if (users.length === 0) return
  const reason = `the Materialized Views ${users.join(', ')} use it`
  throw errors.OVERRIDE_REFUSED({ datasource: name, reason, users })
}

function isTarget({ id, name }: DataSource, { target }: ViewLink): boolean {
  return target.knownId === null ? target.name === name : target.knownId === id
}

interface CycleSearch extends Pick<ViewPlanDeps, 'catalog'> {
  readonly edges: readonly ViewEdge[]
  readonly node: PipeNode
}

function refuseCycle(edge: ViewEdge, { node, catalog, edges }: CycleSearch): void {
  const path = cyclePath(edge, catalog.listPipes(), edges)
  if (path === null) return
  const names = path.map((id) => catalog.find(id)?.name ?? id)
  throw errors.VIEW_CYCLE({ node: node.name, path: names })
}
