import type { Catalog } from '../catalog/catalog.ts'
import { changeView } from '../catalog/change-view.ts'
import type { DataSourceId } from '../catalog/data-source.types.ts'
import { materializedNodes } from '../catalog/node-views.ts'
import type { ViewRemovals } from '../catalog/pipe.types.ts'
import { withoutRemovals, withRemoval } from '../catalog/view-removals.ts'
import type { Store } from '../store/store.types.ts'

interface RemovalDeps {
  readonly catalog: Pick<Catalog, 'findPipe' | 'listPipes' | 'replacePipe'>
  readonly store: Pick<Store, 'partitions'>
  /** Epoch milliseconds. */
  readonly now: () => number
}

/**
 * Notes, with each view that sees the rows of a data source, that some of them are about to go: on disk when it resolves. Of rows that
 * come later nothing is gone, so the note names the partitions that the target has by now. Precondition: nothing is inserted
 * meanwhile. Raises `StoreError`.
 */
export async function noteRemoval(
  { catalog, store, now }: RemovalDeps,
  sourceId: DataSourceId,
  kind: ViewRemovals['kind'],
): Promise<void> {
  const views = materializedNodes(catalog.listPipes()).filter(({ view }) => view.sourceId === sourceId)
  for (const { view } of views) {
    const partitions = (await store.partitions.list(view.targetId)).map(({ id }) => id)
    if (partitions.length === 0) continue
    await changeView(catalog, view.id, (found) => withRemoval(found, { kind, at: now() }, partitions))
  }
}

/** Forgets what was noted of views whose targets have nothing of before: on disk when it resolves. */
export async function forgetRemovals(catalog: RemovalDeps['catalog'], targets: ReadonlySet<string>): Promise<void> {
  for (const { view } of materializedNodes(catalog.listPipes())) {
    if (view.removals === undefined || !targets.has(view.targetId)) continue
    await changeView(catalog, view.id, (found) => withoutRemovals(found, null))
  }
}
