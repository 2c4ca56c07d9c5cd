// One try of a view to take what it lacks.
//
// The blocks are inserted once more, in their order and under their tokens, into a *twin*: a table with the columns of the source that keeps no
// rows, and to which the view is moved meanwhile. To the tables behind the view it is the same as if the blocks came through the source, as
// tokens tell of the view by its name; so each takes a block once, whatever became of earlier tries, and nothing else sees the repeat.
//
// At the end no block of the source is stored for a moment: what is left is repeated, and the view is moved back. Where that takes longer,
// because blocks come about as fast as they are repeated, the source has its turn in between.
//
// Somebody else may have a say over the view meanwhile: one that parks it for a block before its place, or fills it anew. So it is moved,
// its place noted and the try ended while nobody else changes views, and only where the catalog says what this try has noted last.

import { changeView } from '../../catalog/change-view.ts'
import type { DataSource } from '../../catalog/data-source.types.ts'
import { findView } from '../../catalog/node-views.ts'
import type { NodeView } from '../../catalog/pipe.types.ts'
import { assert } from '../../shared/assert.ts'
import { retargetTables } from '../../sql/retarget-tables.ts'
import { qualified } from '../../store/sql/qualified.ts'
import type { Store } from '../../store/store.types.ts'
import { workspaceDatabase } from '../../store/workspace-database.ts'
import { tellCaughtUp } from '../told-views.ts'
import type { Backlog, BacklogPlace } from './backlog.ts'
import type { BehindDeps } from './behind.types.ts'

/** Blocks after which what was repeated is noted: far fewer than the tables behind know again. */
const notedBlocks = 100
/** Blocks that may have come since the try began. */
const aheadBlocks = 50

/** How long nothing of the source is stored at a time, at first and at most: longer where more comes than is repeated. */
const closedMs = { first: 1_000, max: 10_000 }
/** How long it has its turn in between. */
const openMs = 1_000

export const beingStored = 'a block of an import is being stored'
const changed = 'what is kept for the view was changed'

/** Somebody else has a say over the view now. */
export class StoppedCatchUpError extends Error {
  override readonly name = 'StoppedCatchUpError'
}

interface CatchUpDeps extends Pick<BehindDeps, 'catalog' | 'logger' | 'steadyMs' | 'store'> {
  readonly backlog: Backlog
  /** Runs a change while nobody else changes which views the engine has, or from where on blocks are kept for them. */
  readonly alone: Alone
  /** The same while no block of the source is being stored. @throws StoppedCatchUpError when they do not end in time. */
  readonly whileClosed: Alone
  /** Blocks of the tables behind the view. */
  readonly tableBlocks: () => Promise<number>
  /** Another number after each start of the engine. */
  readonly engineStart: () => number
}

type Alone = (change: () => Promise<void>) => Promise<void>

/** For what runs alone already. */
const atOnce: Alone = (change) => change()

export class CatchUp {
  readonly #deps: CatchUpDeps
  readonly #view: NodeView
  readonly #source: DataSource
  readonly #twin: string
  readonly #startedAt: number
  /** Before it all blocks are in the tables behind the view. */
  #place: BacklogPlace
  /** What the catalog says of that, unless somebody else has changed it. */
  #noted: BacklogPlace
  #isStopped = false

  constructor(view: NodeView, { source, place }: { source: DataSource; place: BacklogPlace }, deps: CatchUpDeps) {
    this.#deps = deps
    this.#view = view
    this.#source = source
    this.#place = place
    this.#noted = place
    this.#twin = twinOf(view.sourceId, view)
    this.#startedAt = deps.engineStart()
  }

  /** It ends at the next block. */
  stop(): void {
    this.#isStopped = true
  }

  /** @throws what the view or the engine fails with; LostBlocksError; StoppedCatchUpError. The view is out of the way then. */
  async run(): Promise<void> {
    const { alone } = this.#deps
    try {
      await alone(() => this.#moveToTwin())
      const blocksMax = 2 * this.#blockCount + aheadBlocks
      await this.#repeat(alone, (count) => count >= blocksMax)
      await this.#endInTurns()
    } catch (thrown) {
      // So that the next try repeats less.
      await this.#leave(() => this.#note(alone))
      await this.#leave(() => alone(() => this.#dropBoth()))
      throw thrown
    }
    await this.#leave(() => this.#deps.store.tables.drop(this.#twin))
  }

  async #moveToTwin(): Promise<void> {
    const { store } = this.#deps
    const { id, targetId, sourceId, otherIds, select } = this.#view
    this.#refuseStopped()
    if (!this.#isAsNoted(findView(this.#deps.catalog.listPipes(), id)?.view)) throw new StoppedCatchUpError(changed)
    await store.views.drop(id)
    await store.tables.recreateLike(this.#twin, { like: sourceId, keeps: 'nothing' }, { computes: true })
    const ids = [sourceId, ...otherIds]
    const { sql } = retargetTables(select, {
      database: workspaceDatabase,
      tables: new Set([...ids, ...ids.map((one) => `${one}_quarantine`)]),
      replacements: new Map([[sourceId, qualified(this.#twin)]]),
      leavesModifiers: true,
    })
    await store.views.create({ name: id, target: targetId, query: sql })
    assert(await store.views.sees(id, this.#twin), 'a view sees the twin of its source')
  }

  /** Blocks that are left, as of what was noted last. */
  get #blockCount(): number {
    return this.#deps.backlog.countsOf(this.#view.id).blockCount
  }

  /** All that is kept, or what is enough, after so many blocks; true when nothing is left. */
  async #repeat(alone: Alone, isEnough: (count: number) => boolean): Promise<boolean> {
    const { backlog } = this.#deps
    const into = { keeper: this.#view.id, dataSource: this.#source, table: this.#twin }
    for (let count = 1; ; count += 1) {
      this.#refuseStopped()
      const next = await backlog.repeatFrom(this.#place, into)
      if (next === null) return true
      // An engine that was started meanwhile may have taken the block without the view.
      this.#refuseStopped()
      this.#place = next
      if (count % notedBlocks === 0) await this.#note(alone)
      if (isEnough(count)) return false
    }
  }

  /** What is left is repeated while what comes waits, for some time, and then beside what has waited. */
  async #endInTurns(): Promise<void> {
    const { alone, whileClosed } = this.#deps
    let isEnded = false
    const endWithin = (timeMs: number): Promise<void> =>
      whileClosed(async () => {
        isEnded = await this.#end(timeMs)
      })
    let left = this.#blockCount
    for (let timeMs = closedMs.first; ; ) {
      await endWithin(timeMs)
      if (isEnded) return
      await this.#repeat(alone, this.#after(openMs))
      await this.#note(alone)
      if (this.#blockCount >= left) timeMs = Math.min(2 * timeMs, closedMs.max)
      left = this.#blockCount
    }
  }

  /** Nothing is stored beside it. False when there is more than it repeats in that time. */
  async #end(timeMs: number): Promise<boolean> {
    const { catalog, backlog, store } = this.#deps
    const { id, targetId, sourceId, select } = this.#view
    if (!(await this.#repeat(atOnce, this.#after(timeMs)))) return false
    // Of an import that has still to set another view aside.
    if (backlog.hasMore(id, this.#place)) throw new StoppedCatchUpError(beingStored)
    await store.sync()
    await this.#refuseUnseen()
    const own = { name: id, target: targetId, query: select }
    try {
      await store.views.drop(id)
      await store.views.create(own)
      assert(await store.views.sees(id, sourceId), 'a view sees its source')
      this.#refuseStopped()
      const isNoted = await changeView(catalog, id, (view) => (this.#isAsNoted(view) ? withoutBehind(view) : null))
      if (!isNoted) throw new StoppedCatchUpError(changed)
    } catch (thrown) {
      await this.#dropBoth()
      throw thrown
    }
    await backlog.letGo(id)
    // An engine that was started before the catalog said so has lost it; one that is started later makes it by itself.
    if (this.#deps.engineStart() !== this.#startedAt) await this.#leave(() => store.views.create(own))
    tellCaughtUp(id, this.#deps)
    return true
  }

  /** True from some time after now on. */
  #after(timeMs: number): () => boolean {
    const { steadyMs } = this.#deps
    const endMs = steadyMs() + timeMs
    return () => steadyMs() >= endMs
  }

  #refuseStopped(): void {
    if (this.#isStopped) throw new StoppedCatchUpError()
    if (this.#deps.engineStart() !== this.#startedAt) throw new StoppedCatchUpError('the engine was started again')
  }

  /** Whether nobody else has changed what is kept for the view since this try noted it. */
  #isAsNoted(view: NodeView | undefined): boolean {
    const { isParked = false, place = null, importPlace = 0 } = view?.behind ?? {}
    return isParked && place === this.#noted.place && importPlace === this.#noted.importPlace
  }

  /** A view that was dropped has seen none of the blocks that were repeated since: nobody but this try makes it anew there. */
  async #refuseUnseen(): Promise<void> {
    if (await this.#deps.store.views.sees(this.#view.id, this.#twin)) return
    throw new StoppedCatchUpError('the view does not see any more what is repeated for it')
  }

  /** How far it has come, so that the tables behind are not asked for blocks of long ago. */
  async #note(alone: Alone): Promise<void> {
    const { catalog, backlog, store, tableBlocks } = this.#deps
    const { id } = this.#view
    const place = this.#place
    if (place === this.#noted) return
    await this.#refuseUnseen()
    await store.sync()
    const blocks = await tableBlocks()
    await alone(async () => {
      const isNoted = await changeView(catalog, id, (view) => {
        const { behind } = view
        if (behind === undefined || !this.#isAsNoted(view)) return null
        return { ...view, behind: { ...behind, ...place, tableBlocks: blocks } }
      })
      if (!isNoted) throw new StoppedCatchUpError(changed)
      this.#noted = place
      await backlog.moveTo(id, place)
    })
  }

  /** Precondition: it runs alone. */
  #dropBoth(): Promise<void> {
    const { catalog, store } = this.#deps
    const { id } = this.#view
    return this.#leave(async () => {
      // One that blocks pass again is none of this try.
      const found = findView(catalog.listPipes(), id)
      if (found === undefined || found.view.behind?.isParked === true) await store.views.drop(id)
      await store.tables.drop(this.#twin)
    })
  }

  /** What fails here is done by the next try, or by a start. */
  async #leave(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (err) {
      this.#deps.logger.debug(
        { err, view: this.#view.id },
        'A Materialized View that catches up left something behind.',
      )
    }
  }
}

/** Of the table to which a view is moved. */
const twinSuffix = '_twin'

/** The name of a table that takes the place of another one for a view. */
export function twinOf(table: string, { id }: Pick<NodeView, 'id'>): string {
  return `${table}_${id.slice('v_'.length)}${twinSuffix}`
}

const twinName = new RegExp(`^t_[0-9a-f]{32}_[0-9a-f]{32}${twinSuffix}$`)

/** Drops what a kill in the middle of a try left. Raises `StoreError`. */
export async function dropTwins(tables: Pick<Store['tables'], 'drop' | 'list'>): Promise<void> {
  for (const name of (await tables.list()).keys()) if (twinName.test(name)) await tables.drop(name)
}

function withoutBehind({ behind: _, ...view }: NodeView): NodeView {
  return view
}
