import type { Catalog } from '../catalog/catalog.ts'
import type { DataSource } from '../catalog/data-source.types.ts'
import type { NodeView, ViewId } from '../catalog/pipe.types.ts'
import { createViewId } from '../catalog/pipe-id.ts'
import type { Logger } from '../observe/logger.ts'
import { ChangeQueue } from '../shared/change-queue.ts'
import { errors } from '../shared/errors/errors.ts'
import { toChangeError } from '../store/caller-errors.ts'
import type { ViewsBehind } from './behind/views-behind.ts'
import type {
  Holds,
  Linked,
  Materialize,
  ReconciledEngine,
  Targets,
  ViewAnalysis,
  ViewEngine,
  ViewLink,
} from './materialize.types.ts'
import type { PopulatePlan, Populates } from './populate/populate.types.ts'
import { populatedView } from './populate/populated-view.ts'
import { reconcileViews } from './reconcile-views.ts'
import { planView, type ViewPlan, type ViewPlanDeps } from './view-plan.ts'

export interface MaterializeOptions {
  /** Epoch milliseconds. */
  readonly now: () => number
}

interface MaterializeDeps {
  readonly catalog: Pick<Catalog, 'find' | 'listPipes'>
  readonly store: { readonly views: ViewEngine }
  readonly holds: Holds
  readonly targets: Targets
  readonly populates: Pick<Populates, 'heldFor' | 'pin' | 'plan' | 'unpin'>
  readonly behind: Pick<ViewsBehind, 'forget' | 'refuseBehind'>
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
  /** One after the other, so that two together make no circle. */
  readonly #changes = new ChangeQueue()
  /** Views that stand, or are about to, and that the catalog has not heard of. */
  readonly #underWay = new Set<ViewId>()
  /** Views that are to go, and could not yet. */
  readonly #leftovers = new Set<ViewId>()

  constructor(options: MaterializeOptions, deps: MaterializeDeps) {
    this.#options = options
    this.#deps = deps
  }

  link<Result>(
    links: readonly ViewLink[],
    write: (views: readonly NodeView[]) => Promise<Result>,
  ): Promise<Linked<Result>> {
    return this.#changes.run('views', async () => {
      await this.#endLeftovers()
      const plans = await this.#plan(links)
      const created: DataSource[] = []
      const made: MadeView[] = []
      try {
        for (const plan of plans) made.push(await this.#withTarget(plan, { created, made }))
        const result = await this.#standing(made, () => write(made.map(({ view }) => view)))
        const reports = made.map(({ plan, target, view, populate }) => {
          return {
            view,
            isCreated: created.includes(target),
            warnings: [...plan.warnings, ...(populate?.warnings ?? [])],
          }
        })
        return { result, reports }
      } catch (thrown) {
        for (const { id } of created) await this.#takeBackTarget(id)
        throw thrown
      }
    })
  }

  async unlink<Result>(views: readonly NodeView[], write: () => Promise<Result>): Promise<Result> {
    const result = await write()
    await this.#deps.behind.forget(views.map(({ id }) => id))
    // Nobody knows them any more, so whatever fails here is no failure of the change.
    for (const { id } of views) await this.#drop(id)
    return result
  }

  async analyse(link: ViewLink): Promise<ViewAnalysis> {
    const { catalog, flattenNode } = this.#deps
    const { flat, columns, sourceId, existing, made, warnings } = await planView(link, {
      catalog,
      flattenNode,
      edges: [],
    })
    const { schema, engine } = made
    return { select: flat.sql, columns, sourceId, existing, schema, engine, warnings }
  }

  async reconcile(engine: ReconciledEngine = this.#deps.store): Promise<void> {
    const { catalog, logger } = this.#deps
    await reconcileViews(engine.views, { pipes: () => catalog.listPipes(), underWay: this.#underWay, logger })
    this.#leftovers.clear()
  }

  async #plan(links: readonly ViewLink[]): Promise<readonly ViewPlan[]> {
    const { catalog, flattenNode } = this.#deps
    const plans: ViewPlan[] = []
    for (const link of links) {
      const edges = plans.flatMap(({ sourceId, existing }) =>
        existing === undefined ? [] : [{ from: sourceId, to: existing.id }],
      )
      plans.push(await planView(link, { catalog, flattenNode, edges }))
    }
    return plans
  }

  /** The view with the data source that it fills, which is made where there is none. */
  async #withTarget(plan: ViewPlan, { created, made }: { created: DataSource[]; made: readonly MadeView[] }) {
    const earlier = made.find(
      (other) => other.plan.link.target.name === plan.link.target.name && created.includes(other.target),
    )
    const target = plan.existing ?? earlier?.target ?? (await this.#createTarget(plan, created))
    const { flat, columns, sourceId, otherIds } = plan
    const view: NodeView = {
      id: createViewId(),
      sourceId,
      targetId: target.id,
      otherIds,
      nodeIds: flat.nodeIds,
      select: flat.sql,
      columns,
      createdAt: this.#options.now(),
    }
    return { plan, target, view, populate: await this.#populateOf(plan, view) }
  }

  async #populateOf({ link, node }: ViewPlan, view: NodeView): Promise<PopulatePlan | null> {
    const { populate } = link.target
    if (populate === undefined || populate === null) return null
    return await this.#deps.populates.plan(populatedView({ pipe: link.pipe, node, view }), populate)
  }

  async #createTarget({ link, made, overridden, node }: ViewPlan, created: DataSource[]): Promise<DataSource> {
    const { targets } = this.#deps
    const name = overridden?.name ?? link.target.name
    if (overridden !== undefined) {
      await targets.dropEmpty(overridden.id, (rowCount) => {
        const reason = `it has ${rowCount} rows, those set aside included, which would be lost; truncate both first`
        return errors.OVERRIDE_REFUSED({ datasource: name, reason })
      })
    }
    const description = `Filled by node ${node.name} of Pipe ${link.pipe.name}`
    const { schema, engine } = made
    const dataSource = await targets.create({ name, description, schema, engine, type: 'ndjson' })
    created.push(dataSource)
    return dataSource
  }

  /** Runs `write` while the views stand, and leaves none of them if it fails. */
  async #standing<Result>(made: readonly MadeView[], write: () => Promise<Result>): Promise<Result> {
    const { behind, holds } = this.#deps
    // Before anything is held, after which what is kept for views that are behind counts no more.
    for (const { plan, target } of made) behind.refuseBehind(plan.sourceId, target.id)
    const held = await this.#heldFor(made)
    for (const { view } of made) this.#underWay.add(view.id)
    try {
      // A replace computes the targets of views anew, and must know each of these or none.
      if (held.length === 0) return await this.#createAll(made, held, write)
      return await holds.withHold(held, () => this.#createAll(made, held, write))
    } catch (thrown) {
      for (const { populate } of made) if (populate !== null) await this.#deps.populates.unpin(populate)
      for (const { view } of made) await this.#drop(view.id)
      throw thrown
    } finally {
      for (const { view } of made) this.#underWay.delete(view.id)
    }
  }

  async #heldFor(made: readonly MadeView[]): Promise<readonly DataSource[]> {
    const pinned = made.flatMap(({ populate }) => populate ?? [])
    const forPins = await Promise.all(pinned.map((plan) => this.#deps.populates.heldFor(plan)))
    const all = [...made.flatMap(({ plan }) => plan.existing ?? []), ...forPins.flat()]
    return [...new Map(all.map((dataSource) => [dataSource.id, dataSource])).values()]
  }

  async #createAll<Result>(
    made: readonly MadeView[],
    held: readonly DataSource[],
    write: () => Promise<Result>,
  ): Promise<Result> {
    try {
      this.#refuseHeld(made, held)
      for (const { plan, view } of made) await this.#create(plan, view)
      for (const { populate } of made) if (populate !== null) await this.#deps.populates.pin(populate)
    } catch (thrown) {
      throw toChangeError(thrown)
    }
    // One that began meanwhile may not know of the views.
    this.#refuseHeld(made, held)
    return await write()
  }

  async #create({ node }: ViewPlan, { id, targetId, sourceId, select }: NodeView): Promise<void> {
    const { views } = this.#deps.store
    await views.create({ name: id, target: targetId, query: select })
    // What the engine takes for the first table is what counts.
    if (await views.sees(id, sourceId)) return
    const reason = 'the database takes another table for its first one; put a Data Source after the first FROM'
    throw errors.VIEW_INVALID({ node: node.name, reason })
  }

  /** @param own what is held for this change. */
  #refuseHeld(made: readonly MadeView[], own: readonly DataSource[]): void {
    const { behind, catalog, holds } = this.#deps
    for (const { plan, target } of made) {
      behind.refuseBehind(plan.sourceId, target.id)
      const source = catalog.find(plan.sourceId)
      if (source === undefined) throw errors.DATASOURCE_NOT_FOUND({ name: plan.query.source })
      const isOwn = own.some(({ id }) => id === source.id)
      if (!isOwn && holds.isHeld(source.id)) throw errors.DATASOURCE_BUSY({ name: source.name, what: 'replaced' })
    }
  }

  async #endLeftovers(): Promise<void> {
    for (const id of [...this.#leftovers]) await this.#drop(id)
  }

  async #drop(id: ViewId): Promise<void> {
    try {
      await this.#deps.store.views.drop(id)
      this.#leftovers.delete(id)
    } catch (err) {
      if (this.#leftovers.has(id)) return
      this.#leftovers.add(id)
      this.#deps.logger.error(
        { err, view: id },
        'A view could not be dropped yet; the next change of a view or start does it.',
      )
    }
  }

  async #takeBackTarget(id: string): Promise<void> {
    try {
      await this.#deps.targets.drop(id)
    } catch (err) {
      this.#deps.logger.error({ err, id }, 'A Data Source that was made for a view could not be dropped; it is empty.')
    }
  }
}
