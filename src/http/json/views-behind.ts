// Views that lack blocks, as answers tell of them: by their names to whoever may know these, and else by their number.

import type { Permissions } from '../../access/permissions.ts'
import { branchesOf, viewLabel } from '../../catalog/node-views.ts'
import type { MaterializedNode } from '../../catalog/pipe.types.ts'
import type { BehindView } from '../../materialize/behind/behind.types.ts'
import { timeText } from './time-text.ts'

/** What the answer to rows says of the views that lack them; empty where none does, as some clients know its fields exactly. */
export function behindFields(
  views: readonly BehindView[],
  permissions: Permissions | undefined,
): { readonly views_behind?: { readonly count: number; readonly views: readonly string[] } } {
  if (views.length === 0) return {}
  // Several SELECTs of a node are one view to whoever made it.
  const nodes = [...new Map(views.map(({ node }) => [node.node.id, node])).values()]
  const names = nodes.flatMap((node) => (isSeen(node, permissions) ? [viewLabel(node)] : []))
  return { views_behind: { count: nodes.length, views: names } }
}

/** One of them, for whoever looks at its data source: `view` is null where he may not know it. */
export function behindShape(one: BehindView, permissions: Permissions, named: (text: string) => string): object {
  const { node, sinceMs, state, isPassed, blockCount, byteCount, reason, errorName, retryAtMs, remedy } = one
  const isKnown = isSeen(node, permissions)
  const told = {
    view: isKnown ? viewLabel(node) : null,
    ...(isKnown ? selectOf(node) : {}),
    ...{ state, takes_new_rows: isPassed },
    ...(isKnown ? { remedy } : {}),
  }
  // How many rows came, when, and what is wrong with one.
  const { sourceId, behind } = node.view
  const ids = [sourceId, behind?.from?.sourceId ?? sourceId]
  if (!ids.every((id) => permissions.allows('quarantine:read', { name: '', id, isQuarantine: false }))) return told
  return {
    ...told,
    since: timeText(sinceMs),
    blocks: blockCount,
    bytes: byteCount,
    // What the engine says may quote rows of all that the view reads.
    error: permissions.readsEverything && reason !== null ? named(reason) : errorName,
    retry_at: retryAtMs === null ? null : timeText(retryAtMs),
  }
}

/** Which SELECT of its UNION ALL a view is, from 1. */
function selectOf({ node, view }: MaterializedNode): { readonly select?: number } {
  if (node.view?.more === undefined) return {}
  return { select: branchesOf(node.view).findIndex(({ id }) => id === view.id) + 1 }
}

function isSeen({ pipe }: MaterializedNode, permissions: Permissions | undefined): boolean {
  return permissions?.sees('pipe', pipe.id) === true
}
