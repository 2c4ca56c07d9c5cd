// The tables of populates and comparisons, all named by the id of the pin: so a start knows what a kill has left.

import type { Store } from '../../store/store.types.ts'

export interface PopulateTables {
  /** Has the rows that are filled. */
  readonly pin: string
  /** Gets the rows where they take the place of the target's; it has the view of `mirror`. */
  readonly staging: string
  /** The view that brings the rows to `staging` that come meanwhile. */
  readonly mirror: string
  /** What the target had when the rows were pinned, where it is compared. */
  readonly found: string
  /** Rows that come meanwhile, where only some partitions are to take the place of the target's. */
  readonly arrived: string
  /** What takes the place of the target then. */
  readonly fresh: string
}

export function populateTables(pinId: string): PopulateTables {
  const pin = `p_${pinId}`
  return {
    ...{ pin, staging: `${pin}_target`, mirror: `${pin}_view` },
    ...{ found: `${pin}_found`, arrived: `${pin}_arrived`, fresh: `${pin}_fresh` },
  }
}

const ownName = /^p_([0-9a-f]{32})(?:_target|_view|_found|_arrived|_fresh)?$/

/** Drops all of them; the view first, as what is inserted for it would fail without its table. Raises `StoreError`. */
export async function dropPopulateTables(store: Pick<Store, 'tables' | 'views'>, pinId: string): Promise<void> {
  const { mirror, ...tables } = populateTables(pinId)
  await store.views.drop(mirror)
  for (const table of Object.values(tables)) await store.tables.drop(table)
}

/** Ids of the pins of which something is there. Raises `StoreError`. */
export async function leftPins(store: Pick<Store, 'tables'>): Promise<readonly string[]> {
  const names = [...(await store.tables.list()).keys()]
  return [...new Set(names.flatMap((name) => ownName.exec(name)?.[1] ?? []))]
}
