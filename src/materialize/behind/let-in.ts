// Letting in again: blocks of its source pass a view that was parked, and that needs nothing of what is kept.

import { changeView } from '../../catalog/change-view.ts'
import { findView } from '../../catalog/node-views.ts'
import type { NodeView, ViewBehind } from '../../catalog/pipe.types.ts'
import type { Backlog } from './backlog.ts'
import type { BehindDeps } from './behind.types.ts'
import { StoppedCatchUpError } from './catch-up.ts'
import { rootsOf } from './view-reach.ts'

interface LetInDeps extends Pick<BehindDeps, 'catalog' | 'store'> {
  readonly backlog: Pick<Backlog, 'letGo'>
  /** Runs a change while no block of these tables is being stored. */
  readonly whileClosed: (tables: readonly string[], change: () => Promise<void>) => Promise<void>
  /** Another number after each start of the engine. */
  readonly engineStart: () => number
}

/** Gives what a view lacks from then on; undefined where nothing, and null to leave it as it is. */
export type Lacking = (behind: ViewBehind) => ViewBehind | null | undefined

/**
 * Lets blocks pass a view. Precondition: it is not being tried, and nobody else changes which views the engine has. Raises `StoreError`,
 * StoppedCatchUpError, and what the disk refuses with.
 */
export async function letIn(viewId: string, lacking: Lacking, deps: LetInDeps): Promise<void> {
  const { catalog, whileClosed } = deps
  const view = findView(catalog.listPipes(), viewId)?.view
  if (view?.behind === undefined || lacking(view.behind) === null) return
  if (view.behind.isParked) {
    await whileClosed([...rootsOf(view, catalog.listPipes())], () => makeAgain(view, lacking, deps))
  } else if (!(await note(viewId, lacking, deps))) throw new StoppedCatchUpError()
}

/** Nothing is stored beside it. */
async function makeAgain({ id, targetId, select }: NodeView, lacking: Lacking, deps: LetInDeps): Promise<void> {
  const { store, engineStart } = deps
  const startedAt = engineStart()
  const own = { name: id, target: targetId, query: select }
  let isNoted = false
  try {
    await store.views.drop(id)
    await store.views.create(own)
    isNoted = await note(id, lacking, deps)
  } finally {
    // As the catalog says.
    if (!isNoted) await store.views.drop(id)
  }
  // An engine that was started before the catalog said so has lost it; one that is started later makes it by itself.
  if (isNoted && engineStart() !== startedAt) await store.views.create(own)
}

async function note(
  viewId: string,
  lacking: Lacking,
  { catalog, backlog }: Pick<LetInDeps, 'backlog' | 'catalog'>,
): Promise<boolean> {
  const isNoted = await changeView(catalog, viewId, ({ behind, ...view }) => {
    const left = behind === undefined ? null : lacking(behind)
    if (left === null) return null
    return left === undefined ? view : { ...view, behind: left }
  })
  if (isNoted) await backlog.letGo(viewId)
  return isNoted
}
