// The step of a replace at which the new content becomes the content.
//
// What is about to be exchanged is written down first, with the identity that each table will have, and only when all of
// the new content is on disk. A start that finds such a note carries it out, however much of it was done; without one, all
// staging tables go. So whatever moment a process dies at, every table of a replace is old or every one is new.

import { assert } from '../../shared/assert.ts'
import { quoteString } from '../../shared/text-escapes.ts'
import type { Settings } from '../../storage/settings.ts'
import type { Store, TablePair } from '../../store/store.types.ts'
import { workspaceDatabase } from '../../store/workspace-database.ts'
import { countRows, qualified } from './replace-staging.ts'

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

type SwapStore = Pick<Store, 'command' | 'exchange' | 'rows' | 'sync'>

const settingName = 'replace_swaps'

/** Exchanges that are under way, on disk. */
export class SwapNotes {
  private readonly settings: Settings
  private swaps: readonly Swap[]
  private lastWrite: Promise<void> = Promise.resolve()

  constructor(settings: Settings) {
    this.settings = settings
    const text = settings.read(settingName)
    // Nobody but this class writes the setting, and lmdb gives back what was written or nothing.
    this.swaps = text === undefined ? [] : (JSON.parse(text) as readonly Swap[])
  }

  list(): readonly Swap[] {
    return this.swaps
  }

  /** On disk when it resolves. */
  async add(swap: Swap): Promise<void> {
    await this.write((swaps) => [...swaps, swap])
  }

  async remove({ dataSourceId }: Swap): Promise<void> {
    await this.write((swaps) => swaps.filter((swap) => swap.dataSourceId !== dataSourceId))
  }

  private async write(change: (swaps: readonly Swap[]) => readonly Swap[]): Promise<void> {
    const write = this.lastWrite.then(async () => {
      const swaps = change(this.swaps)
      await this.settings.write(settingName, JSON.stringify(swaps))
      this.swaps = swaps
    })
    this.lastWrite = write.catch(() => undefined)
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
  const uuids = await readUuids(store)
  const named = pairs.map(([table, staging]) => {
    const uuid = uuids.get(staging)
    assert(uuid !== undefined, 'a staging table stands')
    return { table, staging, uuid }
  })
  return { ...swap, pairs: named }
}

/** Carries out a swap, or what is left of it. Raises `StoreError`, and may be called again then. */
export async function carryOut(store: SwapStore, { pairs, quarantine }: Swap): Promise<void> {
  const uuids = await readUuids(store)
  const left = pairs.filter(({ table, uuid }) => uuids.get(table) !== uuid)
  if (left.length > 0) await store.exchange(left.map(({ table, staging }) => [table, staging]))
  if (uuids.has(quarantine.staging)) await keepQuarantine(store, quarantine)
  await store.sync()
}

/** Undoes what was carried out of a swap that failed in its middle. Raises `StoreError`. */
export async function takeBack(store: SwapStore, { pairs }: Swap): Promise<void> {
  const uuids = await readUuids(store)
  const done = pairs.filter(({ table, uuid }) => uuids.get(table) === uuid)
  if (done.length > 0) await store.exchange(done.map(({ table, staging }) => [table, staging]))
  await store.sync()
}

/** Adds the rows to their quarantine, once however often it is called. */
export async function keepQuarantine(
  store: Pick<Store, 'command' | 'rows'>,
  { table, staging, importId }: QuarantineRows,
): Promise<void> {
  if ((await countRows(store, qualified(staging))) === 0) return
  if ((await countRows(store, `${qualified(table)} WHERE c__import_id = ${quoteString(importId)}`)) > 0) return
  // One part comes as a whole or not at all, whatever happens to the process.
  await store.command(`OPTIMIZE TABLE ${qualified(staging)} FINAL`, { isLong: true })
  await store.command(`ALTER TABLE ${qualified(table)} ATTACH PARTITION ID 'all' FROM ${qualified(staging)}`, {
    isLong: true,
  })
}

async function readUuids(store: Pick<Store, 'rows'>): Promise<ReadonlyMap<string, string>> {
  const rows = await store.rows<{ readonly name: string; readonly uuid: string }>(
    `SELECT name, toString(uuid) AS uuid FROM system.tables WHERE database = ${quoteString(workspaceDatabase)}`,
  )
  return new Map(rows.map(({ name, uuid }) => [name, uuid]))
}
