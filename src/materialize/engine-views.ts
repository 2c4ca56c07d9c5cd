// The views of nodes as the engine has them: made, dropped, put in the place of others, and held to what the catalog says.

import type { Catalog } from '../catalog/catalog.ts'
import { branchesOf, findView } from '../catalog/node-views.ts'
import type { NodeView, ViewId } from '../catalog/pipe.types.ts'
import type { Logger } from '../observe/logger.ts'
import { errors } from '../shared/errors/errors.ts'
import { StoreError } from '../store/store-error.ts'
import type { EngineView, ReconciledEngine, ViewEngine } from './materialize.types.ts'
import { reconcileViews } from './reconcile-views.ts'

interface Deps {
  readonly catalog: Pick<Catalog, 'listPipes'>
  readonly views: ViewEngine
  readonly logger: Pick<Logger, 'error' | 'info' | 'warn'>
}

/** A view that is to stand, and the name of its node. */
export interface NewView {
  readonly nodeName: string
  readonly view: NodeView
}

export class EngineViews {
  readonly #deps: Deps
  /** Views that stand, or are about to, and that the catalog has not heard of. */
  readonly #underWay = new Set<ViewId>()
  /** Views that are to go, and could not yet. */
  readonly #leftovers = new Set<ViewId>()

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** Runs a change that makes views, and leaves none of them if it fails: until it ends a start of the engine leaves them alone. */
  async making<Result>(made: readonly NodeView[], change: () => Promise<Result>): Promise<Result> {
    const ids = idsOf(made)
    for (const id of ids) this.#underWay.add(id)
    try {
      return await change()
    } catch (thrown) {
      for (const id of ids) await this.#drop(id)
      throw thrown
    } finally {
      for (const id of ids) this.#underWay.delete(id)
    }
  }

  /** @throws VIEW_INVALID (400) where the engine has it see another table; raises `StoreError`. */
  async make({ nodeName, view }: NewView): Promise<void> {
    const { views } = this.#deps
    for (const { id, targetId, sourceId, select } of branchesOf(view)) {
      await this.#create({ name: id, target: targetId, query: select }, nodeName)
      // What the engine takes for the first table is what counts.
      if (await views.sees(id, sourceId)) continue
      const reason = 'the database takes another table for its first one; put a Data Source after the first FROM'
      throw errors.VIEW_INVALID({ node: nodeName, reason })
    }
  }

  async #create(view: EngineView, nodeName: string): Promise<void> {
    try {
      await this.#deps.views.create(view)
    } catch (thrown) {
      if (!(thrown instanceof StoreError) || !/\(QUERY_IS_NOT_SUPPORTED_IN_MATERIALIZED_VIEW\)$/.test(thrown.message))
        throw thrown
      const reason = 'FINAL, SAMPLE and PREWHERE mean nothing for the rows of a block; leave them out, or write WHERE'
      throw errors.VIEW_INVALID({ node: nodeName, reason, cause: thrown })
    }
  }

  /**
   * Puts views in the places of others and has that written; the others stand again if it fails. Precondition: nothing is inserted
   * meanwhile. @throws what `make` and `write` do; raises `StoreError`.
   */
  async swap<Result>(
    old: readonly NodeView[],
    made: readonly NewView[],
    write: () => Promise<Result>,
  ): Promise<Result> {
    const newViews = made.map(({ view }) => view)
    return await this.making(newViews, async () => {
      try {
        for (const one of made) await this.make(one)
        for (const id of idsOf(old)) await this.#deps.views.drop(id)
        const result = await write()
        // An engine that was started again meanwhile has those that the catalog knew then.
        await this.drop(old)
        return result
      } catch (thrown) {
        await this.#restore(old)
        throw thrown
      }
    })
  }

  /** Drops views that nobody knows any more; what cannot go yet goes later. */
  async drop(views: readonly NodeView[]): Promise<void> {
    for (const id of idsOf(views)) await this.#drop(id)
  }

  async endLeftovers(): Promise<void> {
    for (const id of [...this.#leftovers]) await this.#drop(id)
  }

  /** See `Materialize.reconcile`. */
  async reconcile(engine: ReconciledEngine = this.#deps): Promise<void> {
    const { catalog, logger } = this.#deps
    await reconcileViews(engine.views, { pipes: () => catalog.listPipes(), underWay: this.#underWay, logger })
    this.#leftovers.clear()
  }

  async #restore(old: readonly NodeView[]): Promise<void> {
    for (const { id, targetId, select } of old.flatMap(branchesOf)) {
      // It may have been parked since the change began, or another change has put one in its place: it is not to stand then.
      const found = findView(this.#deps.catalog.listPipes(), id)
      if (found === undefined || found.view.behind?.isParked === true) continue
      try {
        await this.#deps.views.create({ name: id, target: targetId, query: select })
      } catch (err) {
        this.#deps.logger.error(
          { err, view: id },
          'A view that was to be replaced could not be made again; the next start does it. Rows that come until then are not in its Data Source.',
        )
      }
    }
  }

  async #drop(id: ViewId): Promise<void> {
    try {
      await this.#deps.views.drop(id)
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
}

function idsOf(views: readonly NodeView[]): readonly ViewId[] {
  return views.flatMap(branchesOf).map(({ id }) => id)
}
