import type { Catalog } from './catalog.ts'
import { findView, withBehind } from './node-views.ts'
import type { MaterializedNode, NodeView, Pipe } from './pipe.types.ts'

type Changed = Pick<Catalog, 'findPipe' | 'listPipes' | 'replacePipe'>

/**
 * Changes what the catalog says of a view, on disk when it resolves; gives false where it is gone, or `change` gives null. A pipe that is
 * changed meanwhile is changed as it is then. Of one SELECT of several of a UNION ALL, what it lacks is all that can be changed, but for the first.
 */
export async function changeView(
  catalog: Changed,
  viewId: string,
  change: (view: NodeView) => NodeView | null,
): Promise<boolean> {
  return await changePipeOfView(catalog, viewId, ({ pipe, node: { id, view: whole }, view }) => {
    const changed = change(view)
    if (changed === null || whole === undefined) return null
    const all =
      whole.id === viewId
        ? changed
        : withBehind(whole, (branch) => (branch.id === viewId ? changed.behind : branch.behind))
    return { ...pipe, nodes: pipe.nodes.map((node) => (node.id === id ? { ...node, view: all } : node)) }
  })
}

/** The same for all of its pipe. */
export async function changePipeOfView(
  catalog: Changed,
  viewId: string,
  change: (found: MaterializedNode) => Pipe | null,
): Promise<boolean> {
  for (;;) {
    const found = findView(catalog.listPipes(), viewId)
    const changed = found === undefined ? null : change(found)
    if (found === undefined || changed === null) return false
    let isStale = false
    const guard = (): void => {
      isStale = catalog.findPipe(found.pipe.id) !== found.pipe
      if (isStale) throw new Error('the pipe was changed meanwhile')
    }
    try {
      await catalog.replacePipe(changed, guard)
      return true
    } catch (thrown) {
      if (!isStale) throw thrown
    }
  }
}
