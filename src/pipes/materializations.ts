// Nodes that are there and are to fill a data source, or no longer.

import type { Catalog } from '../catalog/catalog.ts'
import type { Pipe } from '../catalog/pipe.types.ts'
import type { Query } from '../query/query.types.ts'
import { errors } from '../shared/errors/errors.ts'
import type { ReadScope } from '../sql/read-scope.types.ts'
import { changed } from './changed-node.ts'
import { findNode } from './pipe-nodes.ts'
import type { AnalysedNode, ChangedNode, LinkedPipe, MaterializeOrder, NodeTarget } from './pipes.types.ts'
import { StalePipeError } from './repeated-changes.ts'
import { type ViewLinks, withoutView } from './view-links.ts'

export interface LinkedNodes {
  readonly author: ReadScope
  /** The first node that was changed. */
  readonly start: number
  /** What nodes are to fill, by their positions. */
  readonly targets: ReadonlyMap<number, NodeTarget>
  /** The pipe as it was; absent for one that is made. */
  readonly before?: Pipe
}

interface Deps {
  readonly catalog: Pick<Catalog, 'find'>
  readonly query: Pick<Query, 'checkAuthor'>
  readonly links: Pick<ViewLinks, 'analyse' | 'drop'>
  /** Epoch milliseconds. */
  readonly now: () => number
  /** Changes a pipe as it is when its turn has come. */
  readonly change: (nameOrId: string, change: (pipe: Pipe) => Promise<ChangedNode>) => Promise<ChangedNode>
  readonly saveLinked: (pipe: Pipe, linked: LinkedNodes & { readonly guard: () => void }) => Promise<LinkedPipe>
  readonly replace: (pipe: Pipe, before: Pipe) => Promise<void>
}

export class Materializations {
  readonly #deps: Deps

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** See `Pipes.materialize`. */
  materialize(pipeNameOrId: string, nodeNameOrId: string, order: MaterializeOrder): Promise<ChangedNode> {
    return this.#deps.change(pipeNameOrId, (before) => {
      return this.#link(before, this.#unlinkedAt(before, nodeNameOrId, order), order)
    })
  }

  /** See `Pipes.relink`. */
  relink(pipeNameOrId: string, nodeNameOrId: string, { target, author }: MaterializeOrder): Promise<ChangedNode> {
    return this.#deps.change(pipeNameOrId, (before) => {
      const position = this.#unlinkedAt(before, nodeNameOrId, { target, author })
      const unlinked = before.nodes[position]?.unlinked
      if (unlinked === undefined) throw errors.VIEW_MISSING({ pipe: before.name, node: nodeNameOrId })
      // Rights were judged for the data source that the view filled a moment ago.
      if (unlinked.view.targetId !== target.knownId) throw new StalePipeError()
      const { populatedAt } = unlinked.view
      return this.#link(before, position, { author, target: { ...target, populatedAt } })
    })
  }

  /** See `Pipes.dematerialize`. */
  remove(pipeNameOrId: string, nodeNameOrId: string): Promise<ChangedNode> {
    return this.#deps.change(pipeNameOrId, async (before) => {
      const { node, position } = expectPlaced(before, nodeNameOrId)
      const isFilling = node.view !== undefined || node.unlinked !== undefined
      if (!isFilling) throw errors.VIEW_MISSING({ pipe: before.name, node: node.name })
      const after = { ...withoutView(before, node), updatedAt: this.#deps.now() }
      await this.#deps.links.drop([node], () => this.#deps.replace(after, before))
      return changed(after, position)
    })
  }

  /** See `Pipes.analyse`. */
  async analyse(pipe: Pipe, nodeNameOrId: string, { target, author }: MaterializeOrder): Promise<AnalysedNode> {
    const { node, position } = expectPlaced(pipe, nodeNameOrId)
    this.#deps.query.checkAuthor(pipe, position, author)
    return { pipe, node, analysis: await this.#deps.links.analyse({ pipe, position, target, author }) }
  }

  /** Judges who lets a node that is there fill a data source. @throws READ_DENIED (403), NODE_NOT_FOUND (404), VIEW_EXISTS (409) */
  #unlinkedAt(pipe: Pipe, nodeNameOrId: string, { author }: MaterializeOrder): number {
    const { node, position } = expectPlaced(pipe, nodeNameOrId)
    if (node.view !== undefined) {
      const datasource = this.#deps.catalog.find(node.view.targetId)?.name ?? node.view.targetId
      throw errors.VIEW_EXISTS({ pipe: pipe.name, node: node.name, datasource })
    }
    this.#deps.query.checkAuthor(pipe, position, author)
    return position
  }

  async #link(before: Pipe, position: number, { author, target }: MaterializeOrder): Promise<ChangedNode> {
    const targets = new Map([[position, target]])
    // What the node reads may have another name than when it was judged.
    const guard = (): void => this.#deps.query.checkAuthor(before, position, author)
    const saved = await this.#deps.saveLinked(before, { author, start: position, targets, before, guard })
    return changed(saved.pipe, position, saved.reports[0])
  }
}

/** @throws NODE_NOT_FOUND (404) */
function expectPlaced(pipe: Pipe, nodeNameOrId: string) {
  const node = findNode(pipe, nodeNameOrId)
  if (node === undefined) throw errors.NODE_NOT_FOUND({ pipe: pipe.name, node: nodeNameOrId })
  return { node, position: pipe.nodes.indexOf(node) }
}
