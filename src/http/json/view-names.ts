// Views by the names that callers know: the engine calls a view by an id that nobody has given it.

import type { Permissions } from '../../access/permissions.ts'
import { materializedNodes, viewLabel } from '../../catalog/node-views.ts'
import type { Pipe } from '../../catalog/pipe.types.ts'

const viewId = /`?\bv_[0-9a-f]{32}\b`?/g

/** A text of the engine with the pipe and the node of each view in it, as far as the caller may know of them. */
export function withViewNames(
  text: string,
  pipes: () => readonly Pipe[],
  permissions: Permissions | undefined,
): string {
  if (text.search(viewId) < 0) return text
  const nodes = materializedNodes(pipes())
  return text.replaceAll(viewId, (found) => {
    const node = nodes.find(({ view }) => view.id === found.replaceAll('`', ''))
    const isSeen = node !== undefined && permissions?.sees('pipe', node.pipe.id) === true
    return isSeen ? viewLabel(node) : 'a Materialized View'
  })
}
