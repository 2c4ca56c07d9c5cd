// Populates, with what they need of the catalog, of data sources and of the views of nodes.

import type { Catalog } from './catalog/catalog.ts'
import { changePipeOfView, changeView } from './catalog/change-view.ts'
import type { DataSource } from './catalog/data-source.types.ts'
import { branchesOf, findView, isParked, viewLabel, withBehind, withUnlinked } from './catalog/node-views.ts'
import type { ViewRemovals } from './catalog/pipe.types.ts'
import { withoutRemovals } from './catalog/view-removals.ts'
import type { Options } from './config.ts'
import { type AskedCondition, readRowCondition, tryRowCondition } from './datasources/row-condition.ts'
import type { ViewsBehind } from './materialize/behind/views-behind.ts'
import type { Materialize } from './materialize/materialize.types.ts'
import type { PopulatedView } from './materialize/populate/populate.types.ts'
import type { PopulatedLinks, PopulatesDeps, ViewLack } from './materialize/populate/populate-deps.types.ts'
import { PopulateService } from './materialize/populate/populates.ts'
import type { CheckedExpression } from './schema/expressions/checked-text.types.ts'
import { type ApiError, errors } from './shared/errors/errors.ts'
import type { Store } from './store/store.types.ts'
import type { TableGraph } from './store/tables.types.ts'

interface OpenPopulatesDeps extends Omit<PopulatesDeps, 'catalog' | 'checkCondition' | 'links' | 'store'> {
  readonly catalog: Catalog
  readonly store: PopulatesDeps['store'] & Pick<Store, 'trials'>
  readonly behind: Pick<ViewsBehind, 'beforeChange' | 'noteStaleReaders' | 'refuseRepeated' | 'withParked'>
  /** There by the time that a populate ends. */
  readonly views: () => Pick<Materialize, 'unlink'>
}

/** What a kill has left of populates is gone when this resolves. Precondition: nobody inserts. Raises `StoreError`. */
export async function openPopulates(options: Options, deps: OpenPopulatesDeps): Promise<PopulateService> {
  const { catalog, store, now } = deps
  const checkCondition = async (
    { id, columns }: DataSource,
    text: string,
    seconds: number,
  ): Promise<CheckedExpression> => {
    const table = { name: id, columns: columns.map(({ name }) => name) }
    const asked: AskedCondition = { text, parameter: 'populate_condition', table, seconds, invalid }
    return await tryRowCondition(store.trials, readRowCondition(asked), asked)
  }
  const links = new NodeLinks(catalog, { now, views: deps.views, behind: deps.behind })
  const populates = new PopulateService(options, { ...deps, checkCondition, links })
  await populates.mend()
  return populates
}

function invalid(reason: string): ApiError {
  return errors.POPULATE_INVALID({ reason: `"populate_condition" cannot be used: ${reason}` })
}

type LinksDeps = Pick<OpenPopulatesDeps, 'behind' | 'now' | 'views'>

/** What the catalog says of views. */
class NodeLinks implements PopulatedLinks {
  readonly #catalog: Catalog
  readonly #deps: LinksDeps

  constructor(catalog: Catalog, deps: LinksDeps) {
    this.#catalog = catalog
    this.#deps = deps
  }

  isLinked(viewId: string): boolean {
    return findView(this.#catalog.listPipes(), viewId) !== undefined
  }

  hasSucceeded(viewId: string): boolean {
    return findView(this.#catalog.listPipes(), viewId)?.view.populatedAt !== undefined
  }

  refuseParked(viewId: string): void {
    const found = findView(this.#catalog.listPipes(), viewId)
    if (found === undefined || !isParked(found.view)) return
    const reason =
      'no block passes it, so it can neither be compared, populated nor repaired; once it takes blocks again it can'
    throw errors.VIEW_BEHIND({ view: viewLabel(found), reason })
  }

  refuseRepeated(view: Pick<PopulatedView, 'more' | 'sourceId'>): void {
    for (const { sourceId } of [view, ...(view.more ?? [])]) this.#deps.behind.refuseRepeated(sourceId)
  }

  withParked(graph: TableGraph): TableGraph {
    return this.#deps.behind.withParked(graph)
  }

  beforeExchange(tables: readonly string[]): Promise<void> {
    return this.#deps.behind.beforeChange(tables)
  }

  lackOf(viewId: string): ViewLack {
    const found = findView(this.#catalog.listPipes(), viewId)
    const branches = found === undefined ? [] : branchesOf(found.view)
    return Object.fromEntries(
      branches.flatMap(({ id, behind }) => (behind === undefined ? [] : [[id, behind.missCount]])),
    )
  }

  async noteWhole(viewId: string, lack: ViewLack, pinnedAt: number): Promise<void> {
    await changeView(this.#catalog, viewId, (view) =>
      withBehind(view, ({ id, behind }) => {
        if (behind === undefined || behind.isParked || behind.place !== null) return behind
        return behind.missCount === lack[id] && (behind.staleAt ?? 0) <= pinnedAt ? undefined : behind
      }),
    )
  }

  noteStaleReaders(table: string): Promise<void> {
    return this.#deps.behind.noteStaleReaders(table)
  }

  async noteSuccess(viewId: string): Promise<void> {
    const populatedAt = this.#deps.now()
    await changeView(this.#catalog, viewId, (view) => ({ ...view, populatedAt }))
  }

  removalsOf(viewId: string): ViewRemovals | undefined {
    return findView(this.#catalog.listPipes(), viewId)?.view.removals
  }

  async clearRemovals(viewId: string, partitions: readonly string[] | null, until: number): Promise<void> {
    if (this.removalsOf(viewId) === undefined) return
    await changeView(this.#catalog, viewId, (view) => {
      // Rows that went later are in what was made meanwhile.
      const isLater = view.removals !== undefined && view.removals.at > until
      return isLater ? view : withoutRemovals(view, partitions)
    })
  }

  async unlink(viewId: string): Promise<void> {
    const found = findView(this.#catalog.listPipes(), viewId)
    if (found === undefined) return
    const write = async (): Promise<void> => {
      await changePipeOfView(this.#catalog, viewId, ({ pipe }) => withUnlinked(pipe, viewId, this.#deps.now()))
    }
    await this.#deps.views().unlink([found.view], write)
  }
}
