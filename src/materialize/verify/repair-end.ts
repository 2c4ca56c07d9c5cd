// The end of a repair: what was filled is compared with what the target had, and takes the place of the partitions that differ.
//
// All of it happens by one exchange of tables, so a kill leaves the old content or the new one. What takes the target's place is made
// while nothing is inserted, of three: the partitions of the target that are equal, as they are by then; of the others what was
// filled of the pinned rows; and what came to these since the rows were pinned. It is made anew whenever that is cut off.

import type { ViewRemovals } from '../../catalog/pipe.types.ts'
import type { WorkingJob } from '../../jobs/jobs.types.ts'
import { assert } from '../../shared/assert.ts'
import { type ApiError, errors } from '../../shared/errors/errors.ts'
import type { PopulateCheckpoint, PopulateJobOrder, RepairOrder } from '../populate/populate.types.ts'
import type { Pinning, PopulatesDeps } from '../populate/populate-deps.types.ts'
import { hasMirrors, missedRows, populateTables } from '../populate/populate-tables.ts'
import { whenFree } from '../populate/when-free.ts'
import { comparePinned } from './compare-pinned.ts'
import type { RepairDetails } from './repair.types.ts'
import type { VerifiedPartition } from './verify.types.ts'

export interface RepairEndDeps extends Pick<PopulatesDeps, 'catalog' | 'holds' | 'links' | 'store'> {
  readonly pinning: Pick<Pinning, 'heldFor'>
}

interface Chosen {
  readonly partitions: readonly string[]
  /** Whether the view has all that it is to have, once these are made anew. */
  readonly isWhole: boolean
}

/** Longest comparison, as everything has an end. */
const compareTimeMaxMs = 6 * 3_600_000
/** Partitions that a job tells of. */
const toldMax = 100

export class RepairEnd {
  readonly #job: WorkingJob
  readonly #deps: RepairEndDeps
  readonly #order: PopulateJobOrder
  readonly #repair: RepairOrder
  readonly #tables: ReturnType<typeof populateTables>

  constructor(job: WorkingJob, deps: RepairEndDeps) {
    this.#job = job
    this.#deps = deps
    // `Populates.add` has made it.
    this.#order = job.order as PopulateJobOrder
    const { repair, pinId } = this.#order
    assert(repair !== undefined, 'the job is a repair')
    this.#repair = repair
    this.#tables = populateTables(pinId)
  }

  /** @throws REPAIR_FAILED (422); raises `StoreError`. */
  async run(checkpoint: PopulateCheckpoint): Promise<void> {
    const { lack = {}, pinnedAt = 0 } = checkpoint
    const fresh = checkpoint.fresh ?? this.#chosenOf(await this.#compare())
    if (this.#repair.isDry) return
    const { partitions: ids, isWhole = false } = fresh
    if (ids.length > 0) await this.#exchange({ ...checkpoint, done: checkpoint.total }, { ids, isWhole })
    const details: Partial<RepairDetails> = { partitionsRepaired: ids.length }
    this.#job.tell({ ...details })
    // What an incomplete view lacked is there now, but for what it did not take since its rows were pinned.
    if (isWhole) await this.#deps.links.noteWhole(this.#order.view.id, lack, pinnedAt)
  }

  async #compare(): Promise<readonly VerifiedPartition[]> {
    const { store, links } = this.#deps
    const { view, pinId } = this.#order
    const { columns, manner } = this.#repair
    const removals: ViewRemovals | undefined = links.removalsOf(view.id)
    return await comparePinned(store, { pinId, columns, manner, removals, timeMaxMs: compareTimeMaxMs })
  }

  #chosenOf(partitions: readonly VerifiedPartition[]): Chosen {
    const differing = partitions.filter(({ isEqual }) => !isEqual)
    const chosen = differing.filter(({ reason }) => this.#repair.isForced || reason === null)
    const details: RepairDetails = {
      partitionsDiffering: differing.length,
      partitionsRepaired: 0,
      partitionsSkipped: differing.length - chosen.length,
      differing: differing.slice(0, toldMax).map(({ text: partition, id: _, isEqual: __, samples: ___, ...counts }) => {
        return { partition, ...counts }
      }),
    }
    this.#job.tell({ ...details })
    return { partitions: chosen.map(({ id }) => id), isWhole: chosen.length === differing.length }
  }

  async #exchange(
    checkpoint: PopulateCheckpoint,
    { ids, isWhole }: { readonly ids: readonly string[]; readonly isWhole: boolean },
  ): Promise<void> {
    const { holds, links, pinning, store } = this.#deps
    const { view } = this.#order
    const { signal } = this.#job
    let { fresh } = checkpoint
    const held = () => pinning.heldFor(this.#order)
    const refuseGone = () => this.#refuseGone()
    const restartsMax = Number.POSITIVE_INFINITY
    await whenFree({ holds, held, refuseGone, restartsMax, signal }, async () => {
      const uuid = await this.#uuidOf(view.targetId)
      // Else it was exchanged before a kill.
      if (uuid !== fresh?.uuid) {
        await this.#refuseChanged(uuid, checkpoint)
        if (!(await hasMirrors(store, [this.#tables.mirror]))) throw this.#failure(missedRows)
        fresh = { uuid: await this.#makeFresh(ids), partitions: ids, isWhole }
        await store.sync()
        await this.#job.saveCheckpoint({ ...checkpoint, fresh })
        await links.beforeExchange([view.targetId])
        await store.exchange([[view.targetId, this.#tables.fresh]])
      }
      await store.views.drop(this.#tables.mirror)
      await store.sync()
      await links.noteStaleReaders(view.targetId)
      await links.clearRemovals(view.id, ids, checkpoint.pinnedAt ?? 0)
    })
  }

  /** Gives the uuid of the table. */
  async #makeFresh(ids: readonly string[]): Promise<string> {
    const { partitions, tables } = this.#deps.store
    const { targetId } = this.#order.view
    const { staging, arrived, fresh } = this.#tables
    await tables.recreateLike(fresh, { like: targetId, keeps: 'same' }, { computes: true })
    await partitions.attachAll({ from: targetId, into: fresh })
    const inTarget = await this.#partitionsOf(targetId)
    for (const id of ids) if (inTarget.has(id)) await partitions.drop(fresh, id)
    // What came later goes behind, as an engine may let the last row win.
    for (const from of [staging, arrived]) {
      const there = await this.#partitionsOf(from)
      for (const id of ids) if (there.has(id)) await partitions.attach(id, { from, into: fresh })
    }
    return await this.#uuidOf(fresh)
  }

  async #partitionsOf(table: string): Promise<ReadonlySet<string>> {
    return new Set((await this.#deps.store.partitions.list(table)).map(({ id }) => id))
  }

  async #uuidOf(table: string): Promise<string> {
    const found = (await this.#deps.store.tables.list([table])).get(table)
    if (found === undefined) throw this.#failure('a table of it is gone')
    return found.uuid
  }

  /** What was compared still has to be there. */
  async #refuseChanged(uuid: string, { targetUuid }: PopulateCheckpoint): Promise<void> {
    const { view } = this.#order
    if (uuid !== targetUuid) throw this.#failure('its Data Source got another content meanwhile')
    const { rowDeletes, views: stored } = this.#deps.store
    // What is to be deleted would be copied, and stay.
    if ((await rowDeletes.unfinished([view.targetId])).length > 0) {
      throw errors.DATASOURCE_BUSY({ name: this.#order.targetName, what: 'changed' })
    }
    const { views } = this.#deps.links.withParked(await stored.graph())
    const own: ReadonlySet<string> = new Set([view.id, this.#tables.mirror])
    if (views.some(({ name, target }) => target === view.targetId && !own.has(name))) {
      throw this.#failure('another Materialized View fills its Data Source by now')
    }
  }

  #refuseGone(): void {
    const { catalog, links } = this.#deps
    const { view, targetName } = this.#order
    if (catalog.find(view.targetId) === undefined) throw errors.DATASOURCE_NOT_FOUND({ name: targetName })
    if (!links.isLinked(view.id)) throw this.#failure('it was removed meanwhile')
  }

  #failure(reason: string): ApiError {
    return errors.REPAIR_FAILED({ view: this.#order.view.nodeName, reason })
  }
}
