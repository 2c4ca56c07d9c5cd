import { materializedNodes, viewLabel } from '../catalog/node-views.ts'
import type { Pipe, ViewId } from '../catalog/pipe.types.ts'
import { isViewId } from '../catalog/pipe-id.ts'
import type { Logger } from '../observe/logger.ts'
import type { ViewEngine } from './materialize.types.ts'

interface Reconciled {
  /** As they are when it is called. */
  readonly pipes: () => readonly Pipe[]
  /** Views that the catalog is about to hear of, or not; whoever makes them looks after them. */
  readonly underWay: ReadonlySet<ViewId>
  readonly logger: Pick<Logger, 'error' | 'info' | 'warn'>
}

/**
 * Drops the views of the engine that no node knows or that are parked, and makes those again that are missing. What cannot be made is told, and left: its
 * node stays, and the service opens. Views with other names than those of nodes are left alone.
 */
export async function reconcileViews(views: ViewEngine, { pipes, underWay, logger }: Reconciled): Promise<void> {
  const found = new Set(await views.names())
  for (const name of found) {
    // A view that was under way when the engine was asked may be a node's by now: behind an end of the engine changes go on meanwhile.
    if (!isViewId(name) || underWay.has(name) || isKnown(name, pipes())) continue
    logger.info(
      { view: name },
      'A view that no node knows of is dropped: it was being made or dropped when the service ended.',
    )
    await views.drop(name)
  }
  for (const { pipe, node, view } of materializedNodes(pipes())) {
    if (view.behind?.isParked === true) {
      // It was being parked, let in again, or taking what it lacks.
      if (found.has(view.id)) await views.drop(view.id)
      continue
    }
    if (found.has(view.id)) continue
    const fields = { view: view.id, node: viewLabel({ pipe, node }) }
    try {
      await views.create({ name: view.id, target: view.targetId, query: view.select })
      if (!isKnown(view.id, pipes())) {
        // Another one stands in its place by now, or none.
        await views.drop(view.id)
        continue
      }
      logger.warn(
        fields,
        'The view of a node was missing and is made again. Rows that came without it are not in its Data Source.',
      )
    } catch (err) {
      logger.error(
        { ...fields, err },
        'The view of a node is missing and cannot be made. Remove its materialization, and materialize the node again.',
      )
    }
  }
}

function isKnown(name: ViewId, pipes: readonly Pipe[]): boolean {
  return materializedNodes(pipes).some(({ view }) => view.id === name)
}
