// What new columns of a data source do to the views that read it: a name may stand for two columns then, or for another one.

import type { Catalog } from '../catalog/catalog.ts'
import type { DataSource } from '../catalog/data-source.types.ts'
import { viewLabel, viewsOn } from '../catalog/node-views.ts'
import type { NodeView, ViewColumn } from '../catalog/pipe.types.ts'
import type { ColumnDefinition } from '../schema/columns/column-definition.types.ts'
import { errors } from '../shared/errors/errors.ts'
import { retargetTables } from '../sql/retarget-tables.ts'
import { withoutInternals } from '../store/engine-message.ts'
import { widenedText } from '../store/sql/table-source.ts'
import type { Store } from '../store/store.types.ts'
import { StoreError } from '../store/store-error.ts'
import { workspaceDatabase } from '../store/workspace-database.ts'

interface Deps {
  readonly catalog: Pick<Catalog, 'listPipes'>
  readonly store: Pick<Store, 'trials'>
}

/**
 * Refuses a change of a data source after which a view that reads it would fail, or give other columns.
 *
 * @throws ALTER_REFUSED (400) that names the view; raises `StoreError`.
 */
export async function refuseBrokenViews(deps: Deps, current: DataSource, changed: DataSource): Promise<void> {
  const added = changed.columns.filter(({ name }) => !current.columns.some((column) => column.name === name))
  if (added.length === 0) return
  for (const one of viewsOn(deps.catalog.listPipes(), current.id)) {
    const { view } = one
    if (view.sourceId !== current.id && !view.otherIds.includes(current.id)) continue
    const fault = await faultOf(view, { source: current, added, store: deps.store })
    if (fault === null) continue
    throw errors.ALTER_REFUSED({ name: current.name, reason: `its Materialized View ${viewLabel(one)} ${fault}` })
  }
}

interface AddedColumns {
  readonly source: DataSource
  readonly added: readonly ColumnDefinition[]
  readonly store: Pick<Store, 'trials'>
}

/** What would become of the view, as a clause about it; null when it stays what it is. */
async function faultOf(view: NodeView, change: AddedColumns): Promise<string | null> {
  try {
    const given = await columnsAfter(view, change)
    const lost = view.columns.find(({ name, typeText }) => {
      return !given.some((column) => column.name === name && column.typeText === typeText)
    })
    return lost === undefined ? null : `would give another column in the place of '${lost.name}'`
  } catch (thrown) {
    if (!(thrown instanceof StoreError) || thrown.kind !== 'engine') throw thrown
    return `would fail: ${withoutInternals(thrown.message)}`
  }
}

async function columnsAfter(
  { select, sourceId, otherIds }: NodeView,
  { source, added, store }: AddedColumns,
): Promise<readonly ViewColumn[]> {
  const ids = [sourceId, ...otherIds]
  const { sql } = retargetTables(select, {
    database: workspaceDatabase,
    tables: new Set([...ids, ...ids.map((id) => `${id}_quarantine`)]),
    replacements: new Map([[source.id, widenedText(source.id, added)]]),
  })
  return await store.trials.describe(sql)
}
