/**
 * Views that do not take some block: each is *parked*, so that its source and the other views go on, and catches up when it works again.
 *
 * 1. The catalog says first that a view is parked, and from where on its blocks are kept; then it leaves the engine, while no block is being
 *    stored. So each block has passed it wholly or is kept, and a start finds it as it was left.
 * 2. Where blocks cannot be kept or repeated so that they come once, the view is *incomplete*: it says so until it is filled anew, and
 *    takes the blocks that come as soon as it can.
 * 3. It is tried again after a pause that grows, and when somebody asks for it.
 */

import { changeView } from '../../catalog/change-view.ts'
import { branchesOf, findView, materializedNodes } from '../../catalog/node-views.ts'
import type { MaterializedNode, NodeView } from '../../catalog/pipe.types.ts'
import { ChangeQueue } from '../../shared/change-queue.ts'
import { engineErrorName } from '../../shared/engine-error-name.ts'
import { within } from '../../shared/within.ts'
import { withoutInternals } from '../../store/engine-message.ts'
import { isOfViewAlone, StoreError } from '../../store/store-error.ts'
import type { GraphView, TableGraph } from '../../store/tables.types.ts'
import { behindRemedy } from '../fill-remedy.ts'
import { tellIncomplete } from '../told-views.ts'
import { withParked } from '../view-graph.ts'
import { Backlog, LostBlocksError } from './backlog.ts'
import type { BehindDeps, BehindView, FailedBlock, ViewsBehindState } from './behind.types.ts'
import { type NewView, refuseBehind, refuseRepeated } from './behind-refusals.ts'
import { behindState } from './behind-state.ts'
import { StoppedCatchUpError } from './catch-up.ts'
import { CatchUpTimes } from './catch-up-times.ts'
import { closeMsMax, dropMirror } from './drop-mirror.ts'
import { ImportKeeper } from './import-keeper.ts'
import { type Lacking, letIn } from './let-in.ts'
import { parkView } from './park-view.ts'
import { otherWay, type Trial, tableBlocksOf, trialOf } from './trials.ts'
import {
  type FailedView,
  failedView,
  isKept,
  isWayKept,
  keptSourceOf,
  nothingKept,
  reachOf,
  repeatedReachOf,
  rootsOf,
  toldOf,
  viewsAbove,
  viewsBehind,
} from './view-reach.ts'

export interface BehindOptions {
  readonly views: 'isolated' | 'strict'
}

/** In place of an engine's error. */
const staleName = 'SOURCE_REPAIRED'
const staleReason = 'the Data Source that it reads was repaired, and it keeps what it made of the rows from before'

/** A try of a view that is under way. */
interface Running {
  stop(): void
  readonly ended: Promise<boolean>
}

export class ViewsBehind {
  readonly #options: BehindOptions
  readonly #deps: BehindDeps
  readonly #backlog: Backlog
  /** What is done with INSERTs of imports. */
  readonly importKeeper: ImportKeeper
  /** Parking, and letting in again: one after the other. */
  readonly #changes = new ChangeQueue()
  readonly #running = new Map<string, Running>()
  /** The engine's words about the views that failed since the start. */
  readonly #reasons = new Map<string, string>()
  readonly #times: CatchUpTimes
  /** What is being changed beside tries: says which views are not tried meanwhile. */
  readonly #untried = new Set<(view: NodeView) => boolean>()
  /** Whether the catalog may have views that are behind: asked for each block, so it is not looked up. */
  #mayHaveSome: boolean
  #engineStart = 0
  #isClosed = false

  constructor(options: BehindOptions, deps: BehindDeps) {
    this.#options = options
    this.#deps = deps
    this.#times = new CatchUpTimes((viewId) => this.#tryAgain(viewId))
    this.#mayHaveSome = this.#all().length > 0
    const { imports, store, kept: events } = deps
    this.#backlog = new Backlog({ events, imports, store })
    this.importKeeper = new ImportKeeper(deps, this)
    for (const { view } of this.#all()) {
      const { id, behind } = view
      if (isKept(view)) imports.keep(id, keptSourceOf(view), behind?.importPlace ?? 0)
    }
  }

  /** Whether the catalog may have views that are behind. */
  get mayHaveSome(): boolean {
    return this.#mayHaveSome
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Of whose blocks the log has some that a view still needs. */
  keptPlaces(): readonly { readonly keeper: string; readonly dataSourceId: string; readonly place: number }[] {
    return this.#all().flatMap(({ view }) => {
      const place = view.behind?.place ?? null
      return place === null ? [] : [{ keeper: view.id, dataSourceId: keptSourceOf(view), place }]
    })
  }

  /** Ends what an earlier process left of imports. Precondition: the tables stand, and nobody inserts. */
  settle(): Promise<void> {
    return this.importKeeper.settle()
  }

  /** Begins to try those that an earlier process left. */
  start(): void {
    for (const { view } of this.#all()) this.#times.retry(view.id)
  }

  /** The engine was started again, and the views of the engine are about to be made those of the catalog. */
  noteEngineStart(): void {
    this.#engineStart += 1
  }

  /** What is under way ends at its next block, or with the engine: the next start finds it as it is left. */
  async close(timeMaxMs: number): Promise<void> {
    this.#isClosed = true
    this.#times.close()
    for (const { stop } of this.#running.values()) stop()
    const ended = [...this.#running.values()].map((running) => running.ended)
    await within(timeMaxMs, Promise.all([...ended, this.#changes.close()]))
  }

  /** The views behind a data source that lack blocks. */
  of(dataSourceId: string): readonly BehindView[] {
    if (!this.#mayHaveSome) return []
    return viewsBehind(dataSourceId, this.#deps.catalog.listPipes()).flatMap((node) => this.#told(node) ?? [])
  }

  /** All of them, in numbers. */
  state(): ViewsBehindState {
    return behindState(this.#mayHaveSome ? this.#all() : [], { ...this.#deps, backlog: this.#backlog })
  }

  /** The views that lack blocks, and so rows of this data source, at any depth. */
  into(dataSourceId: string): readonly BehindView[] {
    if (!this.#mayHaveSome) return []
    const pipes = this.#deps.catalog.listPipes()
    const lacking = this.#all().filter(({ view }) => reachOf(view, pipes).has(dataSourceId))
    return lacking.flatMap((node) => this.#told(node) ?? [])
  }

  /**
   * A view did not take a block, and one of events not for the first time: true when it is out of the way. Never rejects.
   */
  async setAside(dataSourceId: string, failure: unknown, block: FailedBlock = { kind: 'events' }): Promise<boolean> {
    if (this.#isClosed || !(failure instanceof StoreError)) return false
    const failed = this.parkable(dataSourceId, failure)
    if (failed === undefined) return false
    const view = 'mirror' in failed ? failed.mirror : failed.node.view.id
    try {
      return await this.#changes.run('views', () =>
        'mirror' in failed
          ? dropMirror(failed.mirror, failed.sourceId, this.#deps)
          : this.#park({ viewId: view, failure, block, dataSourceId }),
      )
    } catch (err) {
      this.#deps.logger.error({ err, view }, 'A Materialized View that fails could not be parked yet.')
      return false
    }
  }

  /** The view by which an INSERT failed, where it may go out of the way. */
  parkable(dataSourceId: string, failure: StoreError): FailedView | undefined {
    if (this.#options.views === 'strict' || !isOfViewAlone(failure)) return undefined
    return failedView(failure.message, dataSourceId, this.#deps.catalog.listPipes())
  }

  /** A block is stored that a view did not take, which is not out of the way, and nobody keeps it. */
  async noteLacking(viewId: string, failure: StoreError): Promise<void> {
    const { catalog, now } = this.#deps
    this.#mayHaveSome = true
    this.#reasons.set(viewId, withoutInternals(failure.message))
    const noted = { ...nothingKept, sinceMs: now(), missCount: 1, errorName: engineErrorName(failure.message) }
    const found = findView(catalog.listPipes(), viewId)
    if (found === undefined) return
    const reason = 'it did not take rows that came, and they are not kept'
    const isKnown = found.view.behind !== undefined
    const isNoted = await changeView(catalog, viewId, ({ behind, ...view }) => {
      if (behind === undefined) return { ...view, behind: noted }
      // What is being computed anew does not have these rows either.
      return behind.place === null ? { ...view, behind: { ...behind, missCount: behind.missCount + 1 } } : null
    })
    if (!isNoted) await this.lose([found], reason)
    else if (!isKnown) tellIncomplete(found, reason, this.#deps)
  }

  /** A table got another content by a repair: the views that read it are incomplete until they are made anew of that. */
  async noteStaleReaders(table: string): Promise<void> {
    const { catalog, now } = this.#deps
    for (const found of materializedNodes(catalog.listPipes()).filter(({ view }) => view.sourceId === table)) {
      const staleAt = now()
      const noted = { ...nothingKept, sinceMs: staleAt, errorName: staleName }
      this.#mayHaveSome = true
      await changeView(catalog, found.view.id, (view) => ({ ...view, behind: { ...(view.behind ?? noted), staleAt } }))
      if (found.view.behind === undefined) tellIncomplete(found, staleReason, this.#deps)
      else await this.lose([found], staleReason)
    }
  }

  /** Views for which blocks are kept. */
  keptViews(): readonly MaterializedNode[] {
    return this.#all().filter(({ view }) => isKept(view))
  }

  /** A change is about to be made after which blocks of these data sources may not be repeated. */
  async beforeChange(dataSourceIds: readonly string[]): Promise<void> {
    if (!this.#mayHaveSome) return
    const pipes = this.#deps.catalog.listPipes()
    // Views that went with a data source of theirs.
    await this.forget(this.#deps.imports.keepers.filter((id) => findView(pipes, id) === undefined))
    const concerned = this.#all().filter(({ view }) => {
      const reach = repeatedReachOf(view, pipes)
      return isKept(view) && dataSourceIds.some((id) => rootsOf(view, pipes).has(id) || reach.has(id))
    })
    await this.lose(concerned, 'its Data Source, or the one that it fills, was changed')
    // What is being repeated is there before the change.
    for (const { view } of concerned) await this.#stop(view.id)
  }

  /** More is kept than may be. */
  onKeptBeyond(): void {
    const bytesOf = ({ view }: MaterializedNode): number => this.#deps.kept().countsOf(view.id).byteCount
    const [largest] = this.#all()
      .filter(({ view }) => isKept(view))
      .toSorted((one, other) => bytesOf(other) - bytesOf(one))
    if (largest === undefined) return
    this.lose([largest], 'more waits for it than may be kept').catch((err: unknown) => {
      this.#deps.logger.error(
        { err, view: largest.view.id },
        'What is kept for a Materialized View could not be let go.',
      )
    })
  }

  /** See `refuseBehind`. */
  refuseBehind(view: NewView): void {
    if (this.#mayHaveSome) refuseBehind(this.#deps.catalog.listPipes(), view)
  }

  /** See `refuseRepeated`. */
  refuseRepeated(dataSourceId: string): void {
    if (this.#mayHaveSome) refuseRepeated(this.#deps.catalog.listPipes(), dataSourceId)
  }

  /** The tables and views, those views among them that the engine does not have while they are parked. */
  withParked(graph: TableGraph): TableGraph {
    return this.#mayHaveSome ? withParked(graph, this.#deps.catalog.listPipes()) : graph
  }

  /** Runs a change in whose middle none of these views is tried again; those that are being tried are left as they are then. */
  async withoutTries<Result>(isMeant: (view: NodeView) => boolean, change: () => Promise<Result>): Promise<Result> {
    this.#untried.add(isMeant)
    try {
      for (const { view } of this.#all()) if (isMeant(view)) await this.#stop(view.id)
      return await change()
    } finally {
      this.#untried.delete(isMeant)
    }
  }

  /** What these views have made was computed anew of all that their sources have, and nothing was stored since: they lack nothing. */
  async noteComputed(computed: readonly Pick<GraphView, 'name' | 'source'>[]): Promise<void> {
    if (!this.#mayHaveSome) return
    for (const { view } of this.#all()) {
      if (!computed.some(({ name, source }) => name === view.id && source === view.sourceId)) continue
      try {
        await this.withoutTries(
          ({ id }) => id === view.id,
          () => this.#letIn(view.id, () => undefined),
        )
        this.#times.forget(view.id)
      } catch (err) {
        this.#deps.logger.warn(
          { err, view: view.id },
          'A Materialized View was computed anew, and is told as incomplete, as it could not be let in yet.',
        )
      }
    }
  }

  /** Views that are no views any more. */
  async forget(viewIds: readonly string[]): Promise<void> {
    for (const id of viewIds) {
      await this.#stop(id)
      this.#times.forget(id)
      this.#reasons.delete(id)
      await this.#backlog.letGo(id)
    }
    if (!this.#mayHaveSome) return
    const pipes = this.#deps.catalog.listPipes()
    const cutOff = this.#all().filter(({ view }) => isKept(view) && !isWayKept(view, pipes))
    await this.lose(cutOff, otherWay)
  }

  /** Tries the views of a node at once; resolves when that has ended, with one that still lacks blocks: null when none does. */
  async catchUp(view: NodeView): Promise<BehindView | null> {
    let behind: BehindView | null = null
    for (const { id, sourceId } of branchesOf(view)) {
      // A block may wait for the view, which is no less behind until it is parked.
      for (const root of rootsOf({ sourceId }, this.#deps.catalog.listPipes()))
        await this.#deps.kept().untilPassed(root)
      // One that is under way may have failed at what was mended since.
      await this.#running.get(id)?.ended
      await this.#try(id)
      const pipes = this.#deps.catalog.listPipes()
      // What those above it have still to take comes to it behind them.
      for (const one of [findView(pipes, id), ...viewsAbove({ sourceId }, pipes)]) {
        if (one !== undefined) behind ??= this.#told(one)
      }
    }
    return behind
  }

  async #park(failed: Parameters<typeof parkView>[0]): Promise<boolean> {
    const { viewId, failure } = failed
    this.#reasons.set(viewId, withoutInternals(failure.message))
    // Before it is so: who inserts meanwhile looks it up.
    this.#mayHaveSome = true
    const tableBlocks = (view: NodeView): Promise<number> => tableBlocksOf(view, this.#deps)
    const deps = { ...this.#deps, backlog: this.#backlog, tableBlocks }
    const isDone = await parkView(failed, deps)
    if (isDone && findView(this.#deps.catalog.listPipes(), viewId) !== undefined) this.#times.retry(viewId)
    return isDone
  }

  #tryAgain(viewId: string): void {
    this.#try(viewId).catch((err: unknown) => {
      this.#deps.logger.error({ err, view: viewId }, 'A Materialized View that is behind could not be tried again.')
    })
  }

  /** One try at a time. */
  async #try(viewId: string): Promise<void> {
    const running = this.#running.get(viewId)
    if (running !== undefined) {
      await running.ended
      return
    }
    const found = findView(this.#deps.catalog.listPipes(), viewId)
    if (this.#isClosed || found?.view.behind === undefined) return
    const { view } = found
    this.#times.begin(viewId)
    const above = view.behind?.from === undefined ? [] : viewsAbove(view, this.#deps.catalog.listPipes())
    const moved = [found, ...above]
    if (moved.some((one) => [...this.#untried].some((isMeant) => isMeant(one.view)))) return this.#times.retry(viewId)
    const trial = this.#trialOf(view)
    const ended = this.#endOf(viewId, trial.run())
    this.#running.set(viewId, { stop: trial.stop, ended })
    const isToGoOn = await ended
    this.#running.delete(viewId)
    await this.#changes.run('views', async () => {
      this.#mayHaveSome = this.#all().length > 0
    })
    if (isToGoOn) await this.#try(viewId)
  }

  /** True when what it failed at is out of its way. Never rejects. */
  async #endOf(viewId: string, trial: Promise<void>): Promise<boolean> {
    try {
      await trial
      // One that is incomplete may fail again at once: its pause goes on growing.
      if (findView(this.#deps.catalog.listPipes(), viewId)?.view.behind === undefined) this.#times.forget(viewId)
      return false
    } catch (thrown) {
      if (!this.#isClosed) this.#times.retry(viewId)
      return await this.#noteFailure(viewId, thrown).catch((err: unknown) => {
        const message = 'What became of a Materialized View that is behind is not noted.'
        this.#deps.logger.error({ err, view: viewId }, message)
        return false
      })
    }
  }

  #trialOf(view: NodeView): Trial {
    if (!isKept(view)) return { stop: () => undefined, run: () => this.#letBlocksIn(view) }
    return trialOf(view, {
      ...this.#deps,
      backlog: this.#backlog,
      alone: (change) => this.#changes.run('views', change),
      whileClosed: (tables, change) => this.#changes.run('views', () => this.#whileClosed(tables, change)),
      engineStart: () => this.#engineStart,
      tryNow: (id) => this.#try(id),
      stop: (id) => this.#running.get(id)?.stop(),
    })
  }

  /** Lets blocks pass a view again that is incomplete: it is seen by the next one whether it takes them. */
  async #letBlocksIn({ id }: NodeView): Promise<void> {
    await this.#letIn(id, (behind) =>
      behind.isParked && behind.place === null ? { ...behind, isParked: false } : null,
    )
  }

  async #letIn(viewId: string, lacking: Lacking): Promise<void> {
    const deps = {
      ...this.#deps,
      backlog: this.#backlog,
      engineStart: () => this.#engineStart,
      whileClosed: (tables: readonly string[], change: () => Promise<void>) => this.#whileClosed(tables, change),
    }
    await this.#changes.run('views', () => letIn(viewId, lacking, deps))
  }

  async #whileClosed(tables: readonly string[], change: () => Promise<void>): Promise<void> {
    if (await this.#deps.gate.whileClosed(tables, closeMsMax, change)) return
    throw new StoppedCatchUpError('blocks that are being stored did not end in time')
  }

  /** True when the view that it failed at is another one, behind it, and is parked itself now. */
  async #noteFailure(viewId: string, thrown: unknown): Promise<boolean> {
    const { catalog, logger } = this.#deps
    const found = findView(catalog.listPipes(), viewId)
    if (found === undefined) return false
    if (thrown instanceof LostBlocksError) await this.lose([found], thrown.message)
    if (thrown instanceof StoreError) {
      const failed = this.parkable(found.view.sourceId, thrown)
      const isOther = failed !== undefined && 'node' in failed && failed.node.view.id !== viewId
      if (isOther && isKept(found.view)) return await this.setAside(found.view.sourceId, thrown)
      this.#reasons.set(viewId, withoutInternals(thrown.message))
    }
    logger.debug({ err: thrown, view: viewId }, 'A Materialized View that is behind could not catch up yet.')
    return false
  }

  /** They are incomplete from now on, where they were not before: nothing is kept for them. */
  async lose(nodes: readonly MaterializedNode[], reason: string): Promise<void> {
    const { catalog } = this.#deps
    for (const found of nodes) {
      const { id } = found.view
      this.#running.get(id)?.stop()
      const isChanged = await changeView(catalog, id, ({ behind, ...rest }) => {
        return behind === undefined || behind.place === null ? null : { ...rest, behind: { ...behind, place: null } }
      })
      if (!isChanged) continue
      await this.#backlog.letGo(id)
      tellIncomplete(found, reason, this.#deps)
    }
  }

  async #stop(viewId: string): Promise<void> {
    const running = this.#running.get(viewId)
    running?.stop()
    await running?.ended
  }

  #told(node: MaterializedNode): BehindView | null {
    const { behind, id } = node.view
    if (behind === undefined) return null
    const retryAtMs = behind.isParked ? this.#times.retryAtMs(id, this.#deps.now()) : null
    const counts = behind.place === null ? { blockCount: 0, byteCount: 0 } : this.#backlog.countsOf(id)
    return {
      ...toldOf(node, behind),
      ...counts,
      reason: this.#reasons.get(id) ?? (behind.errorName === staleName ? staleReason : null),
      retryAtMs,
      remedy: this.#remedyOf(node),
    }
  }

  #remedyOf(node: MaterializedNode): string {
    const { catalog } = this.#deps
    return behindRemedy(node, { pipes: catalog.listPipes(), find: (id) => catalog.find(id) })
  }

  #all(): readonly MaterializedNode[] {
    return materializedNodes(this.#deps.catalog.listPipes()).filter(({ view }) => view.behind !== undefined)
  }
}
