import type { Catalog } from './catalog.ts'
import { findView } from './node-views.ts'
import type { MaterializedNode, NodeView, Pipe } from './pipe.types.ts'

type Changed = Pick<Catalog, 'findPipe' | 'listPipes' | 'replacePipe'>

/**
 * Changes what the catalog says of a view, on disk when it resolves; gives false where it is gone, or `change` gives null. A pipe that is
 * changed meanwhile is changed as it is then.
 */
export async function changeView(
  catalog: Changed,
  viewId: string,
  change: (view: NodeView) => NodeView | null,
): Promise<boolean> {
  return await changePipeOfView(catalog, viewId, ({ pipe, view }) => {
    const changed = change(view)
    if (changed === null) return null
    return { ...pipe, nodes: pipe.nodes.map((node) => (node.view?.id === viewId ? { ...node, view: changed } : node)) }
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
