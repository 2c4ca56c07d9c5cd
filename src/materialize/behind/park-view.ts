// Parking: a view that does not take a block goes out of the way of its source.

import { changeView } from '../../catalog/change-view.ts'
import { findView, viewLabel } from '../../catalog/node-views.ts'
import type { MaterializedNode, NodeView, ViewBehind } from '../../catalog/pipe.types.ts'
import { engineErrorName } from '../../shared/engine-error-name.ts'
import type { StoreError } from '../../store/store-error.ts'
import type { Backlog } from './backlog.ts'
import type { BehindDeps, FailedBlock } from './behind.types.ts'
import { closeMsMax } from './drop-mirror.ts'
import { nothingKept, repeatableFrom, rootsOf, viewsAbove } from './view-reach.ts'

interface ParkDeps extends Pick<BehindDeps, 'catalog' | 'gate' | 'logger' | 'now' | 'store'> {
  readonly backlog: Backlog
  /** Blocks of the tables behind a view. */
  readonly tableBlocks: (view: NodeView) => Promise<number>
}

/** A view at which a block failed. */
interface Failed {
  readonly viewId: string
  readonly failure: StoreError
  readonly block: FailedBlock
  /** The data source into which it came. */
  readonly dataSourceId: string
}

/**
 * Parks it, in the catalog first; true when it is out of the way, and the block is kept for it or it is told as incomplete. Precondition:
 * nobody else changes which views the engine has, or from where on blocks are kept for them. Raises `StoreError`, and what the disk refuses with.
 */
export async function parkView(failed: Failed, deps: ParkDeps): Promise<boolean> {
  const { viewId, failure } = failed
  const { catalog, gate, logger, store } = deps
  const found = findView(catalog.listPipes(), viewId)
  // Whoever removed it has dropped it.
  if (found === undefined) return true
  const errorName = engineErrorName(failure.message)
  // Another block that was being stored beside the one that parked it. It may be in the middle of a try, which is left what it works with:
  // where it has to go back, it finds so.
  if (await isOut(found.view, deps)) {
    await note(found.view, { ...failed, errorName }, deps)
    return true
  }
  const isDone = await gate.whileClosed([...rootsOf(found.view, catalog.listPipes())], closeMsMax, async () => {
    const now = findView(catalog.listPipes(), viewId)
    if (now === undefined) return
    await note(now.view, { ...failed, errorName }, deps)
    await store.views.drop(viewId)
  })
  if (!isDone) return false
  const isIncomplete = placeOf(findView(catalog.listPipes(), viewId)) === null
  const fields = { view: viewId, node: viewLabel(found), errorName, isIncomplete }
  logger.warn(fields, 'A Materialized View does not take a block: it is parked, and the others go on.')
  return true
}

/** Whether no block of its source passes it, in the engine too: one that could not be let in may have been left there. */
async function isOut({ id, sourceId, behind }: NodeView, { store }: Pick<ParkDeps, 'store'>): Promise<boolean> {
  return behind?.isParked === true && !(await store.views.sees(id, sourceId))
}

async function note(
  view: NodeView,
  { errorName, block, dataSourceId }: Failed & { readonly errorName: string },
  { catalog, backlog, now, tableBlocks }: ParkDeps,
): Promise<void> {
  const isFirst = view.behind === undefined
  const kept = isFirst
    ? await keepFrom(view, { block, dataSourceId }, { catalog, backlog, tableBlocks })
    : await backlog.goBack(view, dataSourceId, block)
  try {
    await changeView(catalog, view.id, ({ behind = nothingKept, ...rest }) => {
      const sinceMs = behind.sinceMs || now()
      const missCount = behind.missCount + 1
      return { ...rest, behind: { ...behind, sinceMs, missCount, ...kept, isParked: true, errorName } }
    })
  } catch (thrown) {
    if (isFirst) await backlog.letGo(view.id)
    throw thrown
  }
  // What was kept may have been given up meanwhile.
  if (placeOf(findView(catalog.listPipes(), view.id)) === null) await backlog.letGo(view.id)
}

async function keepFrom(
  view: NodeView,
  { block, dataSourceId }: Pick<Failed, 'block' | 'dataSourceId'>,
  { catalog, backlog, tableBlocks }: Pick<ParkDeps, 'backlog' | 'catalog' | 'tableBlocks'>,
): Promise<Partial<ViewBehind>> {
  if (block.kind === 'import' && block.kept === null) return {}
  const pipes = catalog.listPipes()
  const from = repeatableFrom(view, pipes, (id) => catalog.find(id))
  // Nobody keeps a block of what views fill, too.
  if (from?.sourceId !== dataSourceId) return {}
  const blocks = await tableBlocks(view)
  const firstImport = block.kind === 'import' ? block.kept?.number : undefined
  const now = await backlog.keep(view.id, from.sourceId, firstImport)
  if (from.viewIds.length === 0) return { ...now, tableBlocks: blocks }
  // What a view above it has still to take comes to this one behind it.
  const above = viewsAbove(view, pipes).flatMap(({ view: { behind } }) => {
    const { place = null, importPlace = 0, tableBlocks: behindBlocks = 0 } = behind ?? {}
    return place === null ? [] : [{ place, importPlace, tableBlocks: behindBlocks }]
  })
  const first = {
    place: Math.min(now.place, ...above.map(({ place }) => place)),
    importPlace: Math.min(now.importPlace, ...above.map(({ importPlace }) => importPlace)),
  }
  backlog.keepFrom(view.id, from.sourceId, first)
  return { ...first, tableBlocks: Math.min(blocks, ...above.map((one) => one.tableBlocks)), from }
}

function placeOf(found: MaterializedNode | undefined): number | null {
  return found?.view.behind?.place ?? null
}
