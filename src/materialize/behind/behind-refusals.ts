// What is refused while views are parked and blocks are kept for them.

import { materializedNodes, viewLabel } from '../../catalog/node-views.ts'
import type { NodeView, Pipe } from '../../catalog/pipe.types.ts'
import { errors } from '../../shared/errors/errors.ts'
import { isKept, repeatedReachOf, rootsOf } from './view-reach.ts'

export interface NewView {
  readonly sourceId: string
  readonly targetId: string
  /** The ids of views in whose place it stands. */
  readonly replaced: ReadonlySet<string>
}

/**
 * @throws VIEW_BEHIND (409) where a new view from a data source to another would see rows twice that one which is parked has yet to take,
 *   or would bring rows to that one which nobody keeps.
 */
export function refuseBehind(pipes: readonly Pipe[], { sourceId, targetId, replaced }: NewView): void {
  const reason = 'until it has caught up no view is made that fills what it reads, or reads what it fills'
  refuseIf(pipes, reason, (view) => {
    // It is incomplete then.
    if (view.behind?.from?.viewIds.some((id) => replaced.has(id)) === true) return false
    return repeatedReachOf(view, pipes).has(sourceId) || rootsOf(view, pipes).has(targetId)
  })
}

/** @throws VIEW_BEHIND (409) where a data source may get rows again that it has, as a view on their way has yet to take the rest of a block. */
export function refuseRepeated(pipes: readonly Pipe[], dataSourceId: string): void {
  const reason = 'until it has caught up nothing is populated or repaired of what it fills'
  refuseIf(pipes, reason, (view) => repeatedReachOf(view, pipes).has(dataSourceId))
}

function refuseIf(pipes: readonly Pipe[], reason: string, isMeant: (view: NodeView) => boolean): void {
  const found = materializedNodes(pipes).find(({ view }) => isKept(view) && isMeant(view))
  if (found !== undefined) throw errors.VIEW_BEHIND({ view: viewLabel(found), reason })
}
