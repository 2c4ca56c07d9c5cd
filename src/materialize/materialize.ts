import type { Catalog } from '../catalog/catalog.ts'
import type { DataSource } from '../catalog/data-source.types.ts'
import { createDataSourceId } from '../catalog/data-source-id.ts'
import { branchesOf, materializedNodes, viewLabel, withBehind, withoutViews } from '../catalog/node-views.ts'
import type { MaterializedNode, NodeView, Pipe, ViewBranch } from '../catalog/pipe.types.ts'
import { createViewId } from '../catalog/pipe-id.ts'
import type { Logger } from '../observe/logger.ts'
import { assert } from '../shared/assert.ts'
import { ChangeQueue } from '../shared/change-queue.ts'
import { ApiError, errors } from '../shared/errors/errors.ts'
import { toReadingChangeError } from '../store/caller-errors.ts'
import { tablesBefore } from '../store/sql/table-graph.ts'
import type { Store } from '../store/store.types.ts'
import { isKept } from './behind/view-reach.ts'
import type { ViewsBehind } from './behind/views-behind.ts'
import { EngineViews } from './engine-views.ts'
import { fillRemedy } from './fill-remedy.ts'
import type {
  Holds,
  Linked,
  LinkReport,
  Materialize,
  ReconciledEngine,
  TargetRequest,
  Targets,
  ViewAnalysis,
  ViewChange,
  ViewEngine,
  ViewLink,
} from './materialize.types.ts'
import type { Pinned, PopulatePlan, Populates } from './populate/populate.types.ts'
import { populatedView } from './populate/populated-view.ts'
import { tellIncomplete } from './told-views.ts'
import { planView, type TargetDefinition, type ViewPlan, type ViewPlanDeps } from './view-plan.ts'

export interface MaterializeOptions {
  /** Epoch milliseconds. */
  readonly now: () => number
}

interface MaterializeDeps {
  readonly catalog: Pick<Catalog, 'find' | 'listPipes'>
  readonly store: { readonly views: ViewEngine } & {
    readonly trials: Pick<Store['trials'], 'describe' | 'takesStates'>
  }
  readonly holds: Holds
  readonly targets: Targets
  readonly populates: Pick<Populates, 'graph' | 'heldFor' | 'isBusy' | 'pin' | 'plan' | 'unpin' | 'withPinned'>
  readonly behind: Pick<ViewsBehind, 'forget' | 'refuseBehind' | 'withoutTries'>
  readonly flattenNode: ViewPlanDeps['flattenNode']
  readonly logger: Pick<Logger, 'error' | 'info' | 'warn'>
}

/** Opens the module: the views of the engine are made those of the catalog before this resolves. Raises `StoreError`. */
export async function openMaterialize(options: MaterializeOptions, deps: MaterializeDeps): Promise<Materialize> {
  const materialize = new Views(options, deps)
  await materialize.reconcile()
  return materialize
}

interface MadeView {
  readonly plan: ViewPlan
  readonly target: DataSource
  readonly view: NodeView
  /** Null where nothing is filled of the rows that are there. */
  readonly populate: PopulatePlan | null
}

class Views implements Materialize {
  readonly #options: MaterializeOptions
  readonly #deps: MaterializeDeps
  readonly #engine: EngineViews
  /** One after the other, so that two together make no circle. */
  readonly #changes = new ChangeQueue()

  constructor(options: MaterializeOptions, deps: MaterializeDeps) {
    this.#options = options
    this.#deps = deps
    const { catalog, store, logger } = deps
    this.#engine = new EngineViews({ catalog, views: store.views, logger })
  }

  link<Result>(
    links: readonly ViewLink[],
    write: (views: readonly NodeView[], madeIds: ReadonlySet<string>) => Promise<Result>,
  ): Promise<Linked<Result>> {
    return this.#changes.run('views', async () => {
      await this.#engine.endLeftovers()
      const plans = await this.#plan(links, this.#deps.catalog)
      const made: MadeView[] = []
      for (const plan of plans) made.push(await this.#madeOf(plan))
      const making = plans.filter((plan) => plan.making !== null)
      const madeIds = new Set<string>(making.map(({ target }) => target.id))
      const writeAll = (): Promise<Result> =>
        write(
          made.map(({ view }) => view),
          madeIds,
        )
      const { result, jobIds } = await this.#whileMaking(making, () => this.#standing(made, writeAll))
      return { result, reports: withJobs(made, jobIds, madeIds) }
    })
  }

  change<Result>(
    changes: readonly ViewChange[],
    write: (views: readonly NodeView[]) => Promise<Result>,
  ): Promise<Linked<Result>> {
    return this.#changes.run('views', async () => {
      await this.#engine.endLeftovers()
      const { catalog } = this.#deps
      const old = new Set(changes.map((change) => change.old.id))
      // What rows pass on no more makes no circle.
      const listPipes = () =>
        catalog.listPipes().map((pipe) => withoutViews(pipe, ({ view }) => view !== undefined && old.has(view.id)))
      const plans = await this.#plan(changes, { find: (nameOrId) => catalog.find(nameOrId), listPipes })
      const made = plans.map((plan, index) => this.#inPlaceOf(plan, changes[index]))
      const givenUp = new Set(made.filter(({ old }) => isGivenUpWith(old, catalog.listPipes())))
      const result = await this.#switched(made, () => write(made.map(({ view }) => view)))
      for (const { plan, view } of made.filter((one) => givenUp.has(one) && one.view.behind !== undefined)) {
        const changed = { pipe: plan.link.pipe, node: plan.node, view }
        tellIncomplete(changed, 'it got other SQL', this.#deps)
      }
      const { pipes, find } = { pipes: catalog.listPipes(), find: (id: string) => catalog.find(id) }
      return { result, reports: made.map((one) => changedReport(one, { pipes, find, isGivenUp: givenUp.has(one) })) }
    })
  }

  async unlink<Result>(views: readonly NodeView[], write: () => Promise<Result>): Promise<Result> {
    const unlinkNow = async (): Promise<Result> => {
      const result = await write()
      await this.#deps.behind.forget(views.flatMap(branchesOf).map(({ id }) => id))
      // Nobody knows them any more, so whatever fails here is no failure of the change.
      await this.#engine.drop(views)
      return result
    }
    const held = await this.#heldForSplit(views)
    if (held.length === 0) return await unlinkNow()
    try {
      return await this.#deps.holds.withHold(held, unlinkNow)
    } catch (thrown) {
      // What waits cannot be stored, as where a view fails: then no block passes one of them alone, and it must be possible to remove it.
      if (thrown instanceof ApiError && thrown.code === 'CHANGE_BLOCKED') return await unlinkNow()
      throw thrown
    }
  }

  async analyse(link: ViewLink): Promise<ViewAnalysis> {
    const [plan] = await this.#plan([link], this.#deps.catalog)
    assert(plan !== undefined, 'a link has a plan')
    const { flat, columns, branches, existing, made, warnings } = plan
    const { schema, engine } = made
    const sourceIds = branches.map(({ sourceId }) => sourceId)
    return { select: flat.sql, columns, sourceIds, existing, schema, engine, warnings }
  }

  async reconcile(engine?: ReconciledEngine): Promise<void> {
    await this.#engine.reconcile(engine)
  }

  async #plan(links: readonly ViewLink[], catalog: ViewPlanDeps['catalog']): Promise<readonly ViewPlan[]> {
    const { store } = this.#deps
    const flattenNode: ViewPlanDeps['flattenNode'] = (pipe, position, author, changed) =>
      this.#deps.flattenNode(pipe, position, author, changed).catch((thrown: unknown) => {
        throw changed === undefined ? thrown : brokenView(thrown, pipe, position)
      })
    const define = (definition: TargetDefinition): DataSource => this.#deps.targets.define(requestOf(definition))
    const { trials } = store
    const describe: ViewPlanDeps['describe'] = (sql) => trials.describe(sql)
    const takesStates: ViewPlanDeps['takesStates'] = (given, column) => trials.takesStates(given, column)
    const plans: ViewPlan[] = []
    for (const link of links)
      plans.push(await planView(link, { catalog, flattenNode, describe, takesStates, define, earlier: plans }))
    return plans
  }

  async #madeOf(plan: ViewPlan): Promise<MadeView> {
    const { target } = plan
    const view = this.#viewOf(plan, target)
    return { plan, target, view, populate: await this.#populateOf(plan, view) }
  }

  /** Runs a change while these targets are being made, which has them shown. */
  async #whileMaking<Result>(plans: readonly ViewPlan[], change: () => Promise<Result>): Promise<Result> {
    const [first, ...others] = plans
    if (first === undefined) return await change()
    const { targets } = this.#deps
    const { link, made, target } = first
    const { id, name } = target
    const overridden = first.making === 'override' ? target : undefined
    const request = { ...requestOf({ link, overridden, ...made }), id }
    const changeBehind = (): Promise<Result> => this.#whileMaking(others, change)
    if (overridden === undefined) return await targets.whileMaking(request, changeBehind)
    const refusal = (rowCount: number): Error => {
      const reason = `it has ${rowCount} rows, those set aside included, which would be lost; truncate both first`
      return errors.OVERRIDE_REFUSED({ datasource: name, reason })
    }
    return await targets.whileRemaking({ ...request, refusal }, changeBehind)
  }

  #viewOf({ flat, columns, branches, link }: ViewPlan, target: DataSource): NodeView {
    const [first, ...others] = branches.map(({ sourceId, otherIds, select }): ViewBranch => {
      return { id: createViewId(), sourceId, otherIds, select }
    })
    assert(first !== undefined, 'a view has a SELECT')
    const { populatedAt } = link.target
    return {
      ...first,
      targetId: target.id,
      nodeIds: flat.nodeIds,
      ...(others.length === 0 ? {} : { more: others }),
      columns,
      createdAt: this.#options.now(),
      ...(populatedAt === undefined ? {} : { populatedAt }),
    }
  }

  /** The view as it is to be; the one that is there where the engine would see no other. */
  #inPlaceOf(plan: ViewPlan, change: ViewChange | undefined): MadeView & { readonly old: NodeView } {
    const target = plan.existing
    assert(target !== undefined && change !== undefined, 'the target of a view that is there is kept')
    const { old } = change
    const view = this.#viewOf(plan, target)
    const isSame = selectsOf(old) === selectsOf(view)
    const kept = { ...old, nodeIds: view.nodeIds, columns: view.columns }
    return { plan, target, view: isSame ? kept : lackingAs(view, old), populate: null, old }
  }

  async #populateOf({ link, node, target }: ViewPlan, view: NodeView): Promise<PopulatePlan | null> {
    const { populate } = link.target
    if (populate === undefined || populate === null) return null
    const { maker: _, ...request } = populate
    return await this.#deps.populates.plan(populatedView({ pipe: link.pipe, node, view }), request, target)
  }

  /** Runs `write` while the views stand, and leaves none of them if it fails. */
  async #standing<Result>(made: readonly MadeView[], write: () => Promise<Result>): Promise<Pinned<Result>> {
    const { holds, populates } = this.#deps
    // Before anything is held, after which what is kept for views that are behind counts no more.
    this.#refuseBehind(made)
    const held = await this.#heldFor(made)
    const views = made.map(({ view }) => view)
    return await this.#engine.making(views, async () => {
      try {
        // A replace computes the targets of views anew, and must know each of these or none.
        if (held.length === 0) return await this.#createAll(made, held, write)
        return await holds.withHold(held, () => this.#createAll(made, held, write))
      } catch (thrown) {
        for (const { populate } of made) if (populate !== null) await populates.unpin(populate)
        throw thrown
      }
    })
  }

  /** Runs `write` in the moment in which the new views stand in the places of the old ones. */
  async #switched<Result>(
    made: readonly (MadeView & { readonly old: NodeView })[],
    write: () => Promise<Result>,
  ): Promise<Result> {
    const other = made.filter(({ view, old }) => view.id !== old.id)
    if (other.length === 0) return await write()
    const held = await this.#heldBefore(other.flatMap(({ view, old }) => [view, old]))
    const old = other.map((one) => one.old)
    const views = other.map(({ plan, view }) => ({ nodeName: plan.node.name, view }))
    const { behind, holds } = this.#deps
    const ids = new Set<string>(old.flatMap(branchesOf).map(({ id }) => id))
    this.#refuseBehind(other)
    const swap = async (): Promise<Result> => {
      this.#refuseFilling(held)
      this.#refuseBehind(other)
      try {
        return await this.#engine.swap(old, views, write)
      } catch (thrown) {
        throw toReadingChangeError(thrown)
      }
    }
    // One that catches up meanwhile would move a view that is not to stand any more.
    return await behind.withoutTries(
      ({ id }) => ids.has(id),
      async () => {
        const result = await holds.withHold(held, swap)
        await behind.forget([...ids])
        return result
      },
    )
  }

  /** @throws VIEW_BEHIND (409) */
  #refuseBehind(made: readonly (MadeView & { readonly old?: NodeView })[]): void {
    const replaced = new Set(made.flatMap(({ old }) => (old === undefined ? [] : branchesOf(old).map(({ id }) => id))))
    for (const { plan, target } of made) {
      for (const { sourceId } of plan.branches) {
        this.#deps.behind.refuseBehind({ sourceId, targetId: target.id, replaced })
      }
    }
  }

  /** A populate inserts rows that no hold keeps back. @throws DATASOURCE_BUSY (409) */
  #refuseFilling(dataSources: readonly DataSource[]): void {
    const busy = dataSources.find(({ id }) => this.#deps.populates.isBusy(new Set([id])))
    if (busy !== undefined) throw errors.DATASOURCE_BUSY({ name: busy.name, what: 'populated' })
  }

  async #heldFor(made: readonly MadeView[]): Promise<readonly DataSource[]> {
    const pinned = made.flatMap(({ populate }) => populate ?? [])
    const forPins = await Promise.all(pinned.map((plan) => this.#deps.populates.heldFor(plan)))
    const split = await this.#heldForSplit(made.map(({ view }) => view))
    const held = unique([...made.flatMap(({ plan }) => plan.existing ?? []), ...forPins.flat(), ...split])
    // Nothing comes to what is being made.
    const making = new Set(made.flatMap(({ plan }) => (plan.making === null ? [] : [plan.target.id])))
    return held.filter(({ id }) => !making.has(id))
  }

  /** A block must pass all views of a node or none: what keeps it back while there are several of one. */
  async #heldForSplit(views: readonly NodeView[]): Promise<readonly DataSource[]> {
    const split = views.filter(({ more }) => more !== undefined)
    return split.length === 0 ? [] : await this.#heldBefore(split)
  }

  /** Whatever rows come from to these views, and what they fill. Raises `StoreError`. */
  async #heldBefore(views: readonly NodeView[]): Promise<readonly DataSource[]> {
    const { catalog, populates } = this.#deps
    const graph = await populates.graph()
    const branches = views.flatMap(branchesOf)
    const tables = branches.flatMap(({ sourceId, targetId }) => [...tablesBefore(graph, sourceId), targetId])
    return unique(tables.flatMap((table) => catalog.find(table) ?? []))
  }

  async #createAll<Result>(
    made: readonly MadeView[],
    held: readonly DataSource[],
    write: () => Promise<Result>,
  ): Promise<Pinned<Result>> {
    try {
      this.#refuseHeld(made, held)
      for (const { plan, view } of made) await this.#engine.make({ nodeName: plan.node.name, view })
      for (const { populate } of made) if (populate !== null) await this.#deps.populates.pin(populate)
    } catch (thrown) {
      throw toReadingChangeError(thrown)
    }
    // One that began meanwhile may not know of the views.
    this.#refuseHeld(made, held)
    const pinned = made.flatMap(({ populate, plan }) => {
      const { populate: asked } = plan.link.target
      return populate === null || !asked ? [] : [{ plan: populate, maker: asked.maker }]
    })
    return await this.#deps.populates.withPinned(pinned, write)
  }

  /** @param own what is held for this change. */
  #refuseHeld(made: readonly MadeView[], own: readonly DataSource[]): void {
    const { catalog, holds } = this.#deps
    this.#refuseBehind(made)
    for (const { sourceId, query } of made.flatMap(({ plan }) => plan.branches)) {
      const source = catalog.find(sourceId)
      if (source === undefined) throw errors.DATASOURCE_NOT_FOUND({ name: query.source })
      const isOwn = own.some(({ id }) => id === source.id)
      if (!isOwn) holds.refuseHeld(source)
    }
  }
}

function reportOf({ plan, target, view, populate }: MadeView, madeIds: ReadonlySet<string>): LinkReport {
  // Those of a populate tell that there are rows.
  const isTold = plan.link.target.mayRead(target.id)
  const warnings = [...plan.warnings, ...(isTold ? (populate?.warnings ?? []) : [])]
  return { view, isCreated: madeIds.has(target.id), warnings }
}

/** Each with the job of its populate; the jobs are in the order of the views that have one. */
function withJobs(
  made: readonly MadeView[],
  jobIds: readonly string[],
  madeIds: ReadonlySet<string>,
): readonly LinkReport[] {
  const ids = jobIds.values()
  return made.map((one) => {
    const report = reportOf(one, madeIds)
    return one.populate === null ? report : { ...report, jobId: ids.next().value }
  })
}

/** A change of another pipe breaks this one: its author must be told which. */
function brokenView(thrown: unknown, pipe: Pipe, position: number): unknown {
  const node = pipe.nodes[position]
  if (!(thrown instanceof ApiError) || thrown.status !== 400 || node === undefined) return thrown
  // One that speaks of the node says so once.
  const reason = thrown.message.replace(/^Node '[^']*' cannot be materialized: /, '')
  return errors.VIEW_INVALID({ node: viewLabel({ pipe, node }), reason, cause: thrown })
}

function changedReport(
  made: MadeView & { readonly old: NodeView },
  { isGivenUp, ...workspace }: Parameters<typeof fillRemedy>[1] & { readonly isGivenUp: boolean },
): LinkReport {
  const report = reportOf(made, new Set())
  const { plan, view } = made
  if (view.id === made.old.id) return report
  const remedy = fillRemedy({ pipe: plan.link.pipe, node: { ...plan.node, view }, view }, workspace)
  const text = `rows that its Data Source has were made by the SQL before; to have them made anew of what its source has: ${remedy}`
  return { ...report, warnings: [text, ...(isGivenUp ? [givenUp] : []), ...report.warnings] }
}

/** Whether blocks are kept for a view, or for one that gets them through it. */
function isGivenUpWith(old: NodeView, pipes: readonly Pipe[]): boolean {
  const ids = branchesOf(old).map(({ id }) => id)
  const isBehind = ({ view }: MaterializedNode): boolean => {
    return isKept(view) && (view.behind?.from?.viewIds ?? []).some((id) => ids.includes(id))
  }
  return branchesOf(old).some(isKept) || materializedNodes(pipes).some(isBehind)
}

const givenUp =
  'rows that were kept for the Materialized View while it was parked, or for one that gets them through it, are given up with the SQL before: its Data Source lacks them'

function requestOf({ overridden, link, schema, engine }: TargetDefinition): TargetRequest {
  const { id = createDataSourceId(), name = link.target.name } = overridden ?? {}
  return {
    id,
    name,
    // Names of pipes are not for all who read it.
    description: 'Filled by a Materialized View',
    schema,
    engine,
    type: 'ndjson',
  }
}

/** What the old view lacks is missing in what the new one fills: told of a SELECT of the same data source, if there is one. */
function lackingAs(view: NodeView, old: NodeView): NodeView {
  const [first, ...others] = branchesOf(old).flatMap(({ sourceId, behind }) => {
    return behind === undefined ? [] : [{ sourceId, behind: { ...behind, place: null, isParked: false } }]
  })
  if (first === undefined) return view
  const found = [first, ...others]
  const behindOf = (id: string) => found.find(({ sourceId }) => sourceId === id)?.behind
  const isKnown = branchesOf(view).some(({ sourceId }) => behindOf(sourceId) !== undefined)
  return withBehind(
    view,
    ({ id, sourceId }) => behindOf(sourceId) ?? (!isKnown && id === view.id ? first.behind : undefined),
  )
}

function selectsOf(view: NodeView): string {
  return JSON.stringify(branchesOf(view).map(({ select }) => select))
}

function unique(dataSources: readonly DataSource[]): readonly DataSource[] {
  return [...new Map(dataSources.map((dataSource) => [dataSource.id, dataSource])).values()]
}
