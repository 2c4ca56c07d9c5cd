import type { Catalog } from './catalog.ts'
import { materializedNodes } from './node-views.ts'
import type { MaterializedNode, NodeView, Pipe } from './pipe.types.ts'

type PipeChanges = Pick<Catalog, 'findPipe' | 'listPipes' | 'replacePipe'>

/** The node that has a view; undefined where none has it any more. */
export function findView(catalog: Pick<Catalog, 'listPipes'>, viewId: string): MaterializedNode | undefined {
  return materializedNodes(catalog.listPipes()).find(({ view }) => view.id === viewId)
}

/** Changes the pipe of a view. One that is changed meanwhile is changed as it is then, and one that is gone is left. */
export async function changeViewPipe(
  catalog: PipeChanges,
  viewId: string,
  change: (found: MaterializedNode) => Pipe,
): Promise<void> {
  for (;;) {
    const found = findView(catalog, viewId)
    if (found === undefined) return
    let isStale = false
    const guard = (): void => {
      isStale = catalog.findPipe(found.pipe.id) !== found.pipe
      if (isStale) throw new Error('the pipe was changed meanwhile')
    }
    try {
      await catalog.replacePipe(change(found), guard)
      return
    } catch (thrown) {
      if (!isStale) throw thrown
    }
  }
}

/** The same for what is noted of the view itself. */
export async function changeView(
  catalog: PipeChanges,
  viewId: string,
  change: (view: NodeView) => NodeView,
): Promise<void> {
  await changeViewPipe(catalog, viewId, ({ pipe }) => ({
    ...pipe,
    nodes: pipe.nodes.map((node) => (node.view?.id === viewId ? { ...node, view: change(node.view) } : node)),
  }))
}
