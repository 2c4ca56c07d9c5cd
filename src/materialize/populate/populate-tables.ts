// The tables of populates and comparisons, all named by the id of the pin: so a start knows what a kill has left.

import { pinPrefix } from '../../store/pin-names.ts'
import type { Store } from '../../store/store.types.ts'
import { branchesMax } from '../view-branches.ts'

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
  const pin = `${pinPrefix}${pinId}`
  return {
    ...{ pin, staging: `${pin}_target`, mirror: `${pin}_view` },
    ...{ found: `${pin}_found`, arrived: `${pin}_arrived`, fresh: `${pin}_fresh` },
  }
}

/** What is of one SELECT of a UNION ALL: the first has the names that a query without one has. */
export function branchTables(pinId: string, branch: number): Pick<PopulateTables, 'mirror' | 'pin'> {
  if (branch === 0) return populateTables(pinId)
  const pin = `${pinPrefix}${pinId}_b${branch}`
  return { pin, mirror: `${pin}_view` }
}

/** Why what was filled is no more all that there is. */
export const missedRows =
  'it did not take rows that came meanwhile, and is parked until it does; all is as it was, and once it has caught up this can be asked for again'

/** Whether all rows that came meanwhile were taken: a view that fails at some is dropped. Raises `StoreError`. */
export async function hasMirrors(store: Pick<Store, 'views'>, mirrors: readonly string[]): Promise<boolean> {
  const names = new Set(await store.views.names())
  return mirrors.every((mirror) => names.has(mirror))
}

/** Whether it is the name of a mirror. */
export function isMirror(view: string): boolean {
  return /^p_[0-9a-f]{32}(?:_b\d+)?_view$/.test(view)
}

/**
 * The tables of populates that may be in the engine. Those that were made by now are known, so that a populate need not look for what
 * others have left: a look costs more than to make one.
 */
export class PinnedTables {
  readonly #store: Pick<Store, 'pins' | 'tables' | 'views'>
  /** By the id of the pin: the pins that were made under it, or null where other tables may be. */
  readonly #made = new Map<string, readonly string[] | null>()

  constructor(store: Pick<Store, 'pins' | 'tables' | 'views'>) {
    this.#store = store
  }

  /** These pins are about to be made, or null for all tables of populates; none of them is there then. Raises `StoreError`. */
  async begin(pinId: string, pins: readonly string[] | null): Promise<void> {
    await this.drop(pinId)
    this.#made.set(pinId, pins)
  }

  /** Raises `StoreError`, and then the tables are known still. */
  async drop(pinId: string): Promise<void> {
    const pins = this.#made.get(pinId)
    if (pins === undefined) return
    if (pins === null) await dropAll(this.#store, pinId)
    else for (const pin of pins) await this.#store.pins.drop(pin)
    this.#made.delete(pinId)
  }

  /** Drops those of pins that are not kept. Raises `StoreError`. */
  async sweep(isKept: (pinId: string) => boolean): Promise<void> {
    for (const pinId of [...this.#made.keys()]) if (!isKept(pinId)) await this.drop(pinId)
  }

  /** Learns what an earlier start has left, drops what is not kept of it, and gives the ids of that. Raises `StoreError`. */
  async mend(isKept: (pinId: string) => boolean): Promise<readonly string[]> {
    const names = [...(await this.#store.tables.list()).keys()]
    const left = [...new Set(names.flatMap((name) => ownName.exec(name)?.[1] ?? []))]
    for (const pinId of left) this.#made.set(pinId, null)
    await this.sweep(isKept)
    return left.filter((pinId) => !this.#made.has(pinId))
  }
}

const ownName = /^p_([0-9a-f]{32})(?:_target|_view|_found|_arrived|_fresh|_b\d+|_b\d+_view)?$/

/** The view first, as what is inserted for it would fail without its table. */
async function dropAll(store: Pick<Store, 'tables' | 'views'>, pinId: string): Promise<void> {
  const { mirror, ...tables } = populateTables(pinId)
  const others = Array.from({ length: branchesMax - 1 }, (_, index) => branchTables(pinId, index + 1))
  const views = [...others.map((branch) => branch.mirror), mirror]
  const pins = [...others.map(({ pin }) => pin), ...Object.values(tables)]
  // Most of them are never made, and a look at all costs less than to drop one.
  const found = await store.tables.list([...views, ...pins])
  for (const view of views) if (found.has(view)) await store.views.drop(view)
  for (const table of pins) if (found.has(table)) await store.tables.drop(table)
}
