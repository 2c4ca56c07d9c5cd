// Populates, with what they need of the catalog, of data sources and of the views of nodes.

import type { Catalog } from './catalog/catalog.ts'
import type { DataSource } from './catalog/data-source.types.ts'
import { materializedNodes, withUnlinked } from './catalog/node-views.ts'
import type { MaterializedNode, Pipe } from './catalog/pipe.types.ts'
import type { Options } from './config.ts'
import { type AskedCondition, readRowCondition, tryRowCondition } from './datasources/row-condition.ts'
import type { Materialize } from './materialize/materialize.types.ts'
import type { PopulatedLinks, PopulatesDeps } from './materialize/populate/populate-deps.types.ts'
import { PopulateService } from './materialize/populate/populates.ts'
import type { CheckedExpression } from './schema/expressions/checked-text.types.ts'
import { type ApiError, errors } from './shared/errors/errors.ts'
import type { Store } from './store/store.types.ts'

interface OpenPopulatesDeps extends Omit<PopulatesDeps, 'catalog' | 'checkCondition' | 'links' | 'store'> {
  readonly catalog: Catalog
  readonly store: PopulatesDeps['store'] & Pick<Store, 'trials'>
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
  const links = new NodeLinks(catalog, { now, views: deps.views })
  const populates = new PopulateService(options, { ...deps, checkCondition, links })
  await populates.mend()
  return populates
}

function invalid(reason: string): ApiError {
  return errors.POPULATE_INVALID({ reason: `"populate_condition" cannot be used: ${reason}` })
}

/** What the catalog says of views. */
class NodeLinks implements PopulatedLinks {
  readonly #catalog: Catalog
  readonly #deps: Pick<OpenPopulatesDeps, 'now' | 'views'>

  constructor(catalog: Catalog, deps: Pick<OpenPopulatesDeps, 'now' | 'views'>) {
    this.#catalog = catalog
    this.#deps = deps
  }

  isLinked(viewId: string): boolean {
    return this.#find(viewId) !== undefined
  }

  hasSucceeded(viewId: string): boolean {
    return this.#find(viewId)?.view.populatedAt !== undefined
  }

  async noteSuccess(viewId: string): Promise<void> {
    const populatedAt = this.#deps.now()
    await this.#change(viewId, ({ pipe }) => ({
      ...pipe,
      nodes: pipe.nodes.map((node) => {
        return node.view?.id === viewId ? { ...node, view: { ...node.view, populatedAt } } : node
      }),
    }))
  }

  async unlink(viewId: string): Promise<void> {
    const found = this.#find(viewId)
    if (found === undefined) return
    const write = (): Promise<void> => this.#change(viewId, ({ pipe }) => withUnlinked(pipe, viewId, this.#deps.now()))
    await this.#deps.views().unlink([found.view], write)
  }

  #find(viewId: string): MaterializedNode | undefined {
    return materializedNodes(this.#catalog.listPipes()).find(({ view }) => view.id === viewId)
  }

  /** A pipe that was changed meanwhile is changed as it is then. */
  async #change(viewId: string, change: (found: MaterializedNode) => Pipe): Promise<void> {
    for (;;) {
      const found = this.#find(viewId)
      if (found === undefined) return
      let isStale = false
      const guard = (): void => {
        isStale = this.#catalog.findPipe(found.pipe.id) !== found.pipe
        if (isStale) throw new Error('the pipe was changed meanwhile')
      }
      try {
        await this.#catalog.replacePipe(change(found), guard)
        return
      } catch (thrown) {
        if (!isStale) throw thrown
      }
    }
  }
}
