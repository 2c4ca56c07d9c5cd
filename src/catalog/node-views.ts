// The materialized views of the catalog: which nodes fill what, and out of what. All of it is derived of the nodes.

import type { MaterializedNode, NodeId, NodeView, Pipe, PipeNode, ViewBehind, ViewBranch } from './pipe.types.ts'

/** Every node that fills a data source, in the order of the pipes; once for each SELECT of a UNION ALL, as that is a view. */
export function materializedNodes(pipes: readonly Pipe[]): readonly MaterializedNode[] {
  return pipes.flatMap((pipe) =>
    pipe.nodes.flatMap((node) => {
      return node.view === undefined ? [] : branchesOf(node.view).map((view) => ({ pipe, node, view }))
    }),
  )
}

export function findView(pipes: readonly Pipe[], viewId: string): MaterializedNode | undefined {
  return materializedNodes(pipes).find(({ view }) => view.id === viewId)
}

/** The views that the engine has of a node: itself, and those of the other SELECTs of its UNION ALL as if each were alone. */
export function branchesOf(view: NodeView): readonly [NodeView, ...NodeView[]] {
  // Each lacks blocks of its own.
  const { more = [], behind: _, ...own } = view
  return [view, ...more.map((branch) => ({ ...own, ...branch }))]
}

/** The view of a node with other things that its branches lack; what `lacking` gives of a branch is all that it lacks then. */
export function withBehind(view: NodeView, lacking: (branch: ViewBranch) => ViewBehind | undefined): NodeView {
  const { behind: _, more, ...own } = view
  const behind = lacking(view)
  return {
    ...own,
    ...(behind === undefined ? {} : { behind }),
    ...(more === undefined ? {} : { more: more.map((branch) => branchBehind(branch, lacking(branch))) }),
  }
}

function branchBehind({ behind: _, ...branch }: ViewBranch, behind: ViewBehind | undefined): ViewBranch {
  return behind === undefined ? branch : { ...branch, behind }
}

/** Whether no block passes one of the views of a node. */
export function isParked(view: NodeView): boolean {
  return branchesOf(view).some(({ behind }) => behind?.isParked === true)
}

/** Those that read a data source or fill it. */
export function viewsOn(pipes: readonly Pipe[], dataSourceId: string): readonly MaterializedNode[] {
  return materializedNodes(pipes).filter(({ view: { sourceId, targetId, otherIds } }) => {
    return [sourceId, targetId, ...otherIds].some((id) => id === dataSourceId)
  })
}

/** Those whose view was made of one of these nodes, their own among them. */
export function viewsMadeOf(pipes: readonly Pipe[], nodeIds: ReadonlySet<NodeId>): readonly MaterializedNode[] {
  return materializedNodes(pipes).filter(({ view }) => view.nodeIds.some((id) => nodeIds.has(id)))
}

/** As messages name a view: the pipe and its node. */
export function viewLabel({ pipe, node }: Pick<MaterializedNode, 'node' | 'pipe'>): string {
  return `${pipe.name}.${node.name}`
}

/** The pipe with the node of a view filling nothing, until it is linked again. */
export function withUnlinked(pipe: Pipe, viewId: string, unlinkedAt: number): Pipe {
  const nodes = pipe.nodes.map((node) => {
    if (node.view?.id !== viewId) return node
    const { view, ...rest } = node
    return { ...rest, unlinked: { view, unlinkedAt } }
  })
  return { ...pipe, nodes }
}

/** The pipe with these nodes filling nothing any more. */
export function withoutViews(pipe: Pipe, isGone: (node: PipeNode) => boolean): Pipe {
  const nodes = pipe.nodes.map((node) => {
    const isFilling = node.view !== undefined || node.unlinked !== undefined
    if (!isFilling || !isGone(node)) return node
    const { view: _view, unlinked: _unlinked, ...rest } = node
    return rest
  })
  return { ...pipe, nodes }
}

/** The ids of the views of the other SELECTs of these nodes, which go with them whatever they read. */
export function otherBranches(nodes: readonly MaterializedNode[]): readonly string[] {
  return nodes.flatMap(({ node: { view } }) => (view === undefined ? [] : branchesOf(view).map(({ id }) => id)))
}
