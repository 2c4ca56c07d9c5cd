// The step of a replace at which the new content becomes the content.
//
// What is about to be exchanged is written down first, with the identity that each table will have, and only when all of
// the new content is on disk. A start that finds such a note carries it out, however much of it was done; without one, all
// staging tables go. So whatever moment a process dies at, every table of a replace is old or every one is new.

import { assert } from '../../shared/assert.ts'
import type { Settings } from '../../storage/settings.ts'
import type { Store, TablePair } from '../../store/store.types.ts'

/** All that is needed to carry out an exchange, or what is left of it. */
export interface Swap {
  readonly dataSourceId: string
  readonly pairs: readonly SwapPair[]
  readonly quarantine: QuarantineRows
}

export interface SwapPair {
  readonly table: string
  readonly staging: string
  /** Of the staging table before the exchange, and so of the table after it. */
  readonly uuid: string
}

/** Rows that were set aside, to be added to a quarantine. */
export interface QuarantineRows {
  readonly table: string
  readonly staging: string
  readonly importId: string
}

type SwapStore = Pick<Store, 'exchange' | 'partitions' | 'quarantines' | 'sync' | 'tables'>

const settingName = 'replace_swaps'

/** Exchanges that are under way, on disk. */
export class SwapNotes {
  readonly #settings: Pick<Settings, 'read' | 'write'>
  #swaps: readonly Swap[]
  #lastWrite: Promise<void> = Promise.resolve()

  constructor(settings: Pick<Settings, 'read' | 'write'>) {
    this.#settings = settings
    const text = settings.read(settingName)
    // Nobody but this class writes the setting, and lmdb gives back what was written or nothing.
    this.#swaps = text === undefined ? [] : (JSON.parse(text) as readonly Swap[])
  }

  list(): readonly Swap[] {
    return this.#swaps
  }

  /** On disk when it resolves. */
  async add(swap: Swap): Promise<void> {
    await this.#write((swaps) => [...swaps, swap])
  }

  async remove({ dataSourceId }: Swap): Promise<void> {
    await this.#write((swaps) => swaps.filter((swap) => swap.dataSourceId !== dataSourceId))
  }

  async #write(change: (swaps: readonly Swap[]) => readonly Swap[]): Promise<void> {
    const write = this.#lastWrite.then(async () => {
      const swaps = change(this.#swaps)
      await this.#settings.write(settingName, JSON.stringify(swaps))
      this.#swaps = swaps
    })
    this.#lastWrite = write.catch(() => undefined)
    await write
  }
}

/** Reads which content is in the staging tables, and brings it onto the disk. */
export async function prepareSwap(
  store: SwapStore,
  swap: Omit<Swap, 'pairs'>,
  pairs: readonly TablePair[],
): Promise<Swap> {
  await store.sync()
  const tables = await store.tables.list()
  const named = pairs.map(([table, staging]) => {
    const uuid = tables.get(staging)?.uuid
    assert(uuid !== undefined, 'a staging table stands')
    return { table, staging, uuid }
  })
  return { ...swap, pairs: named }
}

/** Carries out a swap, or what is left of it. Raises `StoreError`, and may be called again then. */
export async function carryOut(store: SwapStore, { pairs, quarantine }: Swap): Promise<void> {
  const tables = await store.tables.list()
  const left = pairs.filter(({ table, uuid }) => tables.get(table)?.uuid !== uuid)
  if (left.length > 0) await store.exchange(left.map(({ table, staging }) => [table, staging]))
  if (tables.has(quarantine.staging)) await keepQuarantine(store, quarantine)
  await store.sync()
}

/** Undoes what was carried out of a swap that failed in its middle. Raises `StoreError`. */
export async function takeBack(store: SwapStore, { pairs }: Swap): Promise<void> {
  const tables = await store.tables.list()
  const done = pairs.filter(({ table, uuid }) => tables.get(table)?.uuid === uuid)
  if (done.length > 0) await store.exchange(done.map(({ table, staging }) => [table, staging]))
  await store.sync()
}

/** Adds the rows to their quarantine, once however often it is called. */
export async function keepQuarantine(
  store: Pick<Store, 'partitions' | 'quarantines' | 'tables'>,
  { table, staging, importId }: QuarantineRows,
): Promise<void> {
  if ((await store.tables.countRows(staging)) === 0) return
  if ((await store.quarantines.countOfImport(table, importId)) > 0) return
  await store.partitions.attachWhole({ from: staging, into: table })
}
