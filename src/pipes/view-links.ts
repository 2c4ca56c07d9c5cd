// Nodes that fill data sources, as far as pipes are concerned: their views are written with them, and a view is what it was when it
// was made, so what it was made of is not changed without a word.

import { branchesOf, viewLabel, viewsMadeOf, withoutViews } from '../catalog/node-views.ts'
import type { NodeId, NodeView, Pipe, PipeNode } from '../catalog/pipe.types.ts'
import { answeringNode } from '../query/name-scope.ts'
import { errors } from '../shared/errors/errors.ts'
import type { ReadScope } from '../sql/read-scope.types.ts'
import type {
  LinkedPipe,
  NodeAnalysis,
  NodeChange,
  NodeLink,
  NodeTarget,
  NodeViews,
  ViewRights,
} from './pipes.types.ts'
import type { ReadCatalog } from './read-catalog.types.ts'
import { StalePipeError } from './repeated-changes.ts'

interface Deps {
  readonly catalog: ReadCatalog
  /** Absent where nothing is materialized. */
  readonly views: NodeViews | undefined
}

interface AskedViews {
  /** What nodes are to fill, by their positions. */
  readonly targets: ReadonlyMap<number, NodeTarget>
  /** What the author of the views may read. */
  readonly author: ReadScope
}

/** Writes a pipe whose nodes have their views; `guard` is to be called in the turn of the change. */
export type WriteLinked = (views: ReadonlyMap<NodeId, NodeView>, guard: () => void) => Promise<Pipe>

/** A node that fills a data source, with all of its view. */
export interface FillingNode {
  readonly pipe: Pipe
  readonly node: PipeNode
  readonly view: NodeView
}

export interface ChangedViews {
  /** The nodes of the pipe that give something else then. */
  readonly edited: readonly PipeNode[]
  /** Those whose views are made of them, see `madeOf`. */
  readonly filling: readonly FillingNode[]
  readonly author: ReadScope
  readonly rights: Pick<ViewRights, 'mayRead' | 'mayWriteTo'>
}

/** Writes a pipe with the new views of its nodes, and other pipes along. */
export type WriteChanged = (changed: {
  readonly views: ReadonlyMap<NodeId, NodeView>
  readonly along: readonly Pipe[]
  /** To be called in the turn of the change. */
  readonly guard: () => void
}) => Promise<Pipe>

/** What is about to happen to a node or a pipe that views may be made of. */
export interface ViewChange {
  /** With its kind, as messages name it. */
  readonly what: string
  readonly advice: string
}

export const editAdvice = 'remove their materializations first, or make another node'
export const changeAdvice =
  'to have them changed along, the token must be allowed to change their Pipes, and to write to what they read and fill; else make another node'

interface StandingViews {
  readonly views: readonly NodeView[]
  /** Data sources that the write itself shows. */
  readonly madeIds: ReadonlySet<string>
}

export class ViewLinks {
  readonly #catalog: ReadCatalog
  readonly #views: NodeViews | undefined

  constructor({ catalog, views }: Deps) {
    this.#catalog = catalog
    this.#views = views
  }

  /** Makes the views of those nodes of a pipe that are to fill something, and has them written; none of them is nothing special. */
  async save(pipe: Pipe, { targets, author }: AskedViews, write: WriteLinked): Promise<LinkedPipe> {
    if (targets.size === 0) return { pipe: await write(new Map(), () => undefined), reports: [] }
    const links = [...targets].map(([position, target]): NodeLink => ({ pipe, position, target, author }))
    const before = this.#catalog.listPipes()
    const { result, reports } = await this.#known().link(links, (views, madeIds) => {
      const byNode = new Map(links.flatMap(({ position }, index) => pairOf(pipe.nodes[position], views[index])))
      return write(byNode, () => this.#refuseStale(pipe, before, { views, madeIds }))
    })
    return { pipe: result, reports }
  }

  /** The nodes whose views are made of this one, its own among them, each once. */
  madeOf({ id }: PipeNode): readonly FillingNode[] {
    const found = viewsMadeOf(this.#catalog.listPipes(), new Set([id]))
    const nodes = new Map(found.map(({ pipe, node }) => [node.id, { pipe, node }]))
    return [...nodes.values()].flatMap(({ pipe, node }) =>
      node.view === undefined ? [] : [{ pipe, node, view: node.view }],
    )
  }

  /** Puts views of a pipe as it is to be in the places of those that its nodes and other pipes have of it, and has all written. */
  async change(
    pipe: Pipe,
    { edited, filling, author, rights }: ChangedViews,
    write: WriteChanged,
  ): Promise<LinkedPipe> {
    const changedIds = new Set(edited.map(({ id }) => id))
    const links = filling.map(({ pipe: owner, node, view }): NodeChange => {
      const isOwn = owner.id === pipe.id
      const holder = isOwn ? pipe : owner
      const target = {
        ...{ name: view.targetId, knownId: view.targetId, engine: null, isOverridden: false },
        ...{ mayWriteTo: rights.mayWriteTo, mayRead: rights.mayRead, populatedAt: view.populatedAt },
      }
      const position = holder.nodes.findIndex(({ id }) => id === node.id)
      // What the pipe itself reads of its other nodes is as it is to be too.
      return { pipe: holder, position, target, author, old: view, changed: changedIds.has(node.id) ? undefined : pipe }
    })
    const before = this.#catalog.listPipes()
    const { result, reports } = await this.#known().change(links, (views) => {
      const byNode = new Map(links.flatMap((link, index) => pairOf(link.pipe.nodes[link.position], views[index])))
      const others = new Set(filling.flatMap(({ pipe: owner }) => (owner.id === pipe.id ? [] : [owner])))
      const guard = (): void => {
        this.#refuseStale(pipe, before, { views, madeIds: new Set() })
        this.#refuseOthers(pipe, edited, filling)
      }
      return write({ views: byNode, along: [...others].map((other) => withViews(other, byNode)), guard })
    })
    return { pipe: result, reports }
  }

  /** One that was made of the old SQL meanwhile would stay as it is. */
  #refuseOthers({ id }: Pipe, edited: readonly PipeNode[], filling: readonly FillingNode[]): void {
    // The pipe itself is as it was, or is not written.
    const idsOf = (nodes: readonly FillingNode[]): ReadonlySet<string> =>
      new Set(nodes.flatMap(({ pipe, view }) => (pipe.id === id ? [] : [view.id])))
    const known = idsOf(filling)
    const now = idsOf(edited.flatMap((node) => this.madeOf(node)))
    if (now.size !== known.size || [...now].some((one) => !known.has(one))) throw new StalePipeError()
  }

  /** Drops the views of these nodes once it is written that they are gone. */
  async drop<Result>(nodes: readonly PipeNode[], write: () => Promise<Result>): Promise<Result> {
    const views = nodes.flatMap(({ view }) => view ?? [])
    return views.length === 0 ? await write() : await this.#known().unlink(views, write)
  }

  analyse(link: NodeLink): Promise<NodeAnalysis> {
    return this.#known().analyse(link)
  }

  /** Refuses a change of nodes that views are made of, but for those of `own`. @throws VIEW_USED (409) */
  refuse(nodes: readonly PipeNode[], { what, advice }: ViewChange, own: readonly PipeNode[] = []): void {
    const found = viewsMadeOf(this.#catalog.listPipes(), new Set(nodes.map(({ id }) => id)))
    const users = [...new Set(found.filter(({ node }) => !own.some(({ id }) => id === node.id)).map(viewLabel))]
    if (users.length > 0) throw errors.VIEW_USED({ what, users, advice })
  }

  /** Refuses that another node answers for a pipe than the one that views of other pipes are made of. @throws VIEW_USED (409) */
  refuseOtherAnswer(before: Pipe, after: Pipe): void {
    const answering = answeringNode(before)
    if (answering === undefined || answeringNode(after)?.id === answering.id) return
    const advice = `they read what node '${answering.name}' gives; remove their materializations first`
    this.refuse([answering], { what: `Pipe '${before.name}'`, advice }, before.nodes)
  }

  #known(): NodeViews {
    if (this.#views === undefined) throw errors.NODE_TYPE_UNSUPPORTED({ type: 'materialized' })
    return this.#views
  }

  /** The SQL of other pipes that stands in the views, and the data sources, must be there as they were. */
  #refuseStale({ id }: Pipe, before: readonly Pipe[], { views, madeIds }: StandingViews): void {
    const read = new Set(views.flatMap(({ nodeIds }) => nodeIds))
    const isChanged = before.some((pipe) => {
      return pipe.id !== id && pipe.nodes.some((node) => read.has(node.id)) && this.#catalog.findPipe(pipe.id) !== pipe
    })
    const ids = views
      .flatMap(branchesOf)
      .flatMap(({ sourceId, targetId, otherIds }) => [sourceId, targetId, ...otherIds])
    const isGone = ids.some((one) => !madeIds.has(one) && this.#catalog.find(one) === undefined)
    if (isChanged || isGone) throw new StalePipeError()
  }
}

/** Whether somebody may have all of these views changed. */
export function mayChangeAll(filling: readonly FillingNode[], rights: ViewRights): boolean {
  return filling.every(({ pipe, view }) => {
    const mayWrite = branchesOf(view).every(({ sourceId }) => rights.mayWriteTo(sourceId))
    return mayWrite && rights.mayChange(pipe.id) && rights.mayFill(view.targetId)
  })
}

function pairOf(node: PipeNode | undefined, view: NodeView | undefined): readonly (readonly [NodeId, NodeView])[] {
  return node === undefined || view === undefined ? [] : [[node.id, view]]
}

/** The pipe with its nodes filling what the views say; all others fill what they did. */
export function withViews(pipe: Pipe, views: ReadonlyMap<NodeId, NodeView>): Pipe {
  const nodes = pipe.nodes.map((node) => {
    const view = views.get(node.id)
    if (view === undefined) return node
    const { unlinked: _, ...rest } = node
    return { ...rest, view }
  })
  return { ...pipe, nodes }
}

/** The pipe with one of its nodes filling nothing. */
export function withoutView(pipe: Pipe, { id }: PipeNode): Pipe {
  return withoutViews(pipe, (node) => node.id === id)
}
