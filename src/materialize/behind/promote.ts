/**
 * How a view catches up that reads what other views fill. Nobody keeps the blocks that those make. What is kept are the blocks of the data source
 * above all of them: repeated there, a block goes through the whole way, and each table that has it already only hands it on.
 *
 * 1. The view is tried alone, beside the real tables: while it still fails, no sound view is parked for it.
 * 2. The views that see that data source (the *top* views) are parked at the place from which this view lacks blocks.
 * 3. This view is let in. No block is stored between 2 and 3.
 * 4. The blocks that the top views lack are repeated, as for any parked view. Each goes on to this view, which takes those that it lacks.
 *
 * In the catalog 2 comes first and 3 last. After a kill in between both are parked, each with its blocks.
 */

import { changeView } from '../../catalog/change-view.ts'
import { findView } from '../../catalog/node-views.ts'
import type { NodeView, ViewBehind } from '../../catalog/pipe.types.ts'
import { retargetTables } from '../../sql/retarget-tables.ts'
import { qualified } from '../../store/sql/qualified.ts'
import { workspaceDatabase } from '../../store/workspace-database.ts'
import type { Backlog } from './backlog.ts'
import type { BehindDeps } from './behind.types.ts'
import { beingStored, StoppedCatchUpError, twinOf } from './catch-up.ts'
import { letIn } from './let-in.ts'
import { nothingKept, rootsOf, topViews, viewsAbove } from './view-reach.ts'

interface PromoteDeps extends Pick<BehindDeps, 'catalog' | 'now' | 'store'> {
  readonly backlog: Backlog
  /** Runs a change while no block of these tables is being stored, and nobody else changes which views the engine has. */
  readonly whileClosed: (tables: readonly string[], change: () => Promise<void>) => Promise<void>
  /** Blocks of the tables to which those come that are repeated for a view. */
  readonly tableBlocks: (view: NodeView) => Promise<number>
  readonly engineStart: () => number
  /** Told of each top view that is parked. */
  readonly onParked: (viewId: string) => void
}

/**
 * Lets a view in at whose top views blocks from its place on are kept then. Precondition: what is kept for it is whole, and comes as it did.
 * @throws what the view or the engine fails with; StoppedCatchUpError where a view above it lacks blocks itself.
 */
export async function promote(viewId: string, deps: PromoteDeps): Promise<void> {
  const view = promoted(viewId, deps)
  await tryBeside(view, deps)
  await deps.whileClosed([...rootsOf(view, deps.catalog.listPipes())], () => moveUp(viewId, deps))
}

type Promoted = NodeView & { readonly behind: ViewBehind & Required<Pick<ViewBehind, 'from'>> }

/** The view as it is now. */
function promoted(viewId: string, { catalog }: Pick<PromoteDeps, 'catalog'>): Promoted {
  const pipes = catalog.listPipes()
  const view = findView(pipes, viewId)?.view
  const { from, place = null } = view?.behind ?? {}
  if (view?.behind === undefined || from === undefined || place === null) throw new StoppedCatchUpError()
  if (viewsAbove(view, pipes).some(({ view: { behind } }) => behind !== undefined)) {
    throw new StoppedCatchUpError('a view that fills what it reads lacks blocks itself')
  }
  return { ...view, behind: { ...view.behind, from } }
}

/** Nothing is stored beside it. */
async function moveUp(viewId: string, deps: PromoteDeps): Promise<void> {
  const { catalog, backlog, store, now, tableBlocks, onParked } = deps
  const view = promoted(viewId, deps)
  const { place, importPlace = 0, errorName, from, ...known } = view.behind
  const first = { place: place ?? 0, importPlace }
  const cameSince = (await tableBlocks(view)) - known.tableBlocks
  for (const { view: top } of topViews(view, from, catalog.listPipes())) {
    const lacking = { ...first, tableBlocks: (await tableBlocks(top)) - cameSince }
    backlog.keepFrom(top.id, from.sourceId, first)
    const behind = { ...nothingKept, ...lacking, sinceMs: now(), isParked: true, errorName }
    await changeView(catalog, top.id, (one) => (one.behind === undefined ? { ...one, behind } : null))
    onParked(top.id)
    await store.views.drop(top.id)
  }
  await letIn(viewId, () => undefined, { ...deps, whileClosed: (_tables, change) => change() })
}

/** Has the view take the first block that it lacks, out of tables that keep no rows and into one. */
async function tryBeside(view: Promoted, { catalog, backlog, store }: PromoteDeps): Promise<void> {
  const { place, importPlace = 0, from } = view.behind
  const pipes = catalog.listPipes()
  const dataSource = catalog.find(from.sourceId)
  if (dataSource === undefined) throw new StoppedCatchUpError()
  const views = [view, ...viewsAbove(view, pipes).map((above) => above.view)]
  const twins = new Map([...rootsOf(view, pipes), view.targetId].map((id): [string, string] => [id, twinOf(id, view)]))
  const nameOf = ({ id }: NodeView): string => `${id}_${view.id}`
  try {
    for (const [like, twin] of twins)
      await store.tables.recreateLike(twin, { like, keeps: 'nothing' }, { computes: true })
    for (const one of views) {
      const target = twins.get(one.targetId) ?? twinOf(one.targetId, view)
      await store.views.create({ name: nameOf(one), target, query: onTwin(one, twins) })
    }
    const into = { keeper: view.id, dataSource, table: twinOf(from.sourceId, view) }
    const first = { place: place ?? 0, importPlace }
    const next = await backlog.repeatFrom(first, into)
    if (next === null && backlog.hasMore(view.id, first)) throw new StoppedCatchUpError(beingStored)
  } finally {
    for (const one of views) await store.views.drop(nameOf(one))
    for (const twin of twins.values()) await store.tables.drop(twin)
  }
}

function onTwin({ sourceId, otherIds, select }: NodeView, twins: ReadonlyMap<string, string>): NodeView['select'] {
  const ids = [sourceId, ...otherIds]
  return retargetTables(select, {
    database: workspaceDatabase,
    tables: new Set([...ids, ...ids.map((one) => `${one}_quarantine`)]),
    replacements: new Map([[sourceId, qualified(twins.get(sourceId) ?? sourceId)]]),
    leavesModifiers: true,
  }).sql
}
