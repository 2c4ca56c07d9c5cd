// What the log tells of views, by the names that users know.

import type { Catalog } from '../catalog/catalog.ts'
import { findView, viewLabel } from '../catalog/node-views.ts'
import type { MaterializedNode } from '../catalog/pipe.types.ts'
import type { Logger } from '../observe/logger.ts'
import { behindRemedy } from './fill-remedy.ts'

interface Deps {
  readonly catalog: Pick<Catalog, 'find' | 'listPipes'>
  readonly logger: Pick<Logger, 'info' | 'warn'>
}

/** A view has all that was kept for it. */
export function tellCaughtUp(viewId: string, { catalog, logger }: Deps): void {
  const found = findView(catalog.listPipes(), viewId)
  const node = found === undefined ? {} : { node: viewLabel(found) }
  logger.info({ view: viewId, ...node }, 'A Materialized View has caught up: it has all blocks again.')
}

/** A view lacks something that nobody keeps, as the catalog says by now. */
export function tellIncomplete(
  { pipe, node, view }: MaterializedNode,
  reason: string,
  { catalog, logger }: Deps,
): void {
  const fields = {
    view: view.id,
    node: viewLabel({ pipe, node }),
    reason,
    remedy: remedyOf({ pipe, node, view }, catalog),
  }
  logger.warn(fields, 'A Materialized View is incomplete: what it lacks is not kept any more.')
}

function remedyOf(known: MaterializedNode, catalog: Deps['catalog']): string {
  const pipes = catalog.listPipes()
  return behindRemedy(findView(pipes, known.view.id) ?? known, { pipes, find: (id) => catalog.find(id) })
}
