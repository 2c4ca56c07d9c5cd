// One populate at work: the rows are pinned, unless they are, then filled chunk by chunk, then what is to change at the end does.
//
// A chunk is one INSERT of one block, whose deduplication token is the id of the job with the number of the chunk. The chunks of a pin are
// always the same, so whoever goes on behind a kill fills again what the checkpoint does not tell of, and the engine passes over what
// it has.

import type { WorkingJob } from '../../jobs/jobs.types.ts'
import type { CheckedExpression } from '../../schema/expressions/checked-text.types.ts'
import { assert } from '../../shared/assert.ts'
import { ApiError, errors } from '../../shared/errors/errors.ts'
import { toChangeError, toCopyError } from '../../store/caller-errors.ts'
import type { PinnedPart } from '../../store/pins.types.ts'
import { isOfMemory, isOfView, StoreError } from '../../store/store-error.ts'
import type { TableGraph } from '../../store/tables.types.ts'
import { type Failed, fillChunks } from './fill-chunks.ts'
import type { PopulateCheckpoint, PopulatedBranch, PopulatedView, PopulateJobOrder } from './populate.types.ts'
import { type Chunk, type ChunkLimits, cutChunks, type WideChunks } from './populate-chunks.ts'
import type { Pinning, PopulatesDeps } from './populate-deps.types.ts'
import { type ChunkManner, chunksAtOnce, groupsMaxOf, mannerOf } from './populate-manner.ts'
import { conditionsOn, stepOf } from './populate-plan.ts'
import { PopulateProgress } from './populate-progress.ts'
import { type ChunkFill, fillChunk, filledColumns, givesDistinctKeys, readNames } from './populate-query.ts'
import { branchTables, hasMirrors, missedRows, type PopulateTables, populateTables } from './populate-tables.ts'
import { populatedBranches } from './populated-view.ts'
import { type HeldChange, whenFree } from './when-free.ts'

export interface RunOptions {
  /** Rows that one INSERT reads. */
  readonly populateChunkRowsMax: number
}

export interface RunDeps extends PopulatesDeps {
  readonly pinning: Pinning
  /** What a repair does with what is filled. */
  readonly endRepair: (job: WorkingJob, checkpoint: PopulateCheckpoint) => Promise<void>
}

/** How often the checkpoint is written, at most. */
const checkpointMs = 1_000
/** What a wide chunk may take: one of common size takes a tenth of that, and a populate is cancelled between two chunks. */
const wideMsMax = 10_000
/** Ends of the engine that one pin outlives. */
const restartsMax = 3
/** How long the tables of a job that has failed are tried to be held: what is left then goes with the next populate. */
const lastHoldMsMax = 30_000
/** Engines that keep the last of equal rows: what is inserted later has to come later. */
const orderedEngines = /^(?:Replacing|Collapsing)MergeTree$|^Join$/

export class PopulateRun {
  readonly #job: WorkingJob
  readonly #options: RunOptions
  readonly #deps: RunDeps
  readonly #order: PopulateJobOrder
  readonly #tables: PopulateTables
  /** Whether rows that came meanwhile are not in what was filled. */
  #missedRows = false
  /** Whether an earlier life may have filled chunks that the checkpoint does not tell of. */
  #isResumed = false
  #pinnedParts: Promise<readonly (readonly PinnedPart[])[]> | undefined
  #pinnedGraph: Promise<TableGraph> | undefined

  constructor(job: WorkingJob, options: RunOptions, deps: RunDeps) {
    this.#job = job
    this.#options = options
    this.#deps = deps
    // `Populates.add` has made it.
    this.#order = job.order as PopulateJobOrder
    this.#tables = populateTables(this.#order.pinId)
  }

  /** @throws POPULATE_FAILED (422), DATASOURCE_NOT_FOUND (404), and states of the engine (503), with what became of the view. */
  async run(): Promise<void> {
    const { links, pinning } = this.#deps
    const { view } = this.#order
    try {
      await pinning.untilLinked(this.#order)
      this.#job.signal.throwIfAborted()
      if (this.#job.checkpoint === null) this.#refuseGone()
      await pinning.sweep()
      this.#isResumed = this.#job.checkpoint !== null
      // Only this class saves one.
      const checkpoint = (this.#job.checkpoint as PopulateCheckpoint | null) ?? (await this.#begin())
      const hasChunks = checkpoint.done < checkpoint.total
      if (hasChunks) await this.#fill(checkpoint)
      if (this.#order.repair !== undefined) await this.#deps.endRepair(this.#job, checkpoint)
      else {
        if (checkpoint.stagingUuid !== null) await this.#exchange(checkpoint)
        if (!hasChunks || !this.#endsFilled) await links.noteSuccess(view.id)
      }
    } catch (thrown) {
      const { signal } = this.#job
      // The next start goes on with it, and needs all of it.
      if (signal.aborted && !isCancelled(signal.reason)) throw thrown
      await this.#letGo()
      if (signal.aborted) throw signal.reason
      const failure = toFailure(thrown, (reason, cause) => this.#failure(reason, cause))
      throw this.#order.repair === undefined ? await this.#unlinkedBy(failure) : failure
    }
    const node = labelOf(view)
    this.#deps.logger.info({ view: view.id, node, jobId: this.#job.id }, 'A Materialized View is populated.')
  }

  async #begin(): Promise<PopulateCheckpoint> {
    const { store } = this.#deps
    const { request, isPinned, view } = this.#order
    const pinned = isPinned ? await this.#refuseLost() : await this.#pinWhenFree()
    const [parts, graph] = await Promise.all([this.#parts(true), this.#graph(), store.sync()])
    const rowCount = parts.flat().reduce((rows, part) => rows + part.rowCount, 0)
    const limits = { ...this.#mannerOf(parts, graph), step: stepOf(request, rowCount), isEven: true }
    const total = cutAll(parts, limits).length
    const stagingUuid = request.truncates ? (graph.tables.get(this.#tables.staging)?.uuid ?? '') : null
    const checkpoint = { ...limits, total, done: 0, stagingUuid, ...pinned }
    await this.#job.saveCheckpoint(checkpoint)
    this.#deps.logger.info(
      { view: view.id, node: labelOf(view), rowCount, chunks: total },
      'A Materialized View is about to be populated.',
    )
    return checkpoint
  }

  #mannerOf(parts: BranchParts, graph: TableGraph): ChunkManner {
    const branches = this.#branches.map((view, index) => {
      return { view, source: this.#deps.catalog.find(view.sourceId), parts: parts[index] ?? [] }
    })
    return mannerOf(branches, { isOrdered: this.#isOrdered(graph), rowsMax: this.#options.populateChunkRowsMax })
  }

  /** A pin that was made before the job may be gone. */
  async #refuseLost(): Promise<PinMoment> {
    const found = await this.#deps.store.tables.list(this.#pins)
    if (!this.#pins.every((pin) => found.has(pin))) throw this.#failure('the rows that were kept for it are gone')
    return {}
  }

  /** Gives what the checkpoint says of the moment. */
  async #pinWhenFree(): Promise<PinMoment> {
    const { links, now, pinning, store } = this.#deps
    const { id, targetId } = this.#order.view
    let pinned: PinMoment = {}
    const isLook = this.#order.repair?.isDry === true
    await whenFree({ ...this.#heldChange, restartsMax, isLook, keepsRows: true }, async () => {
      const pinnedAt = now()
      const { uuid = '' } = (await store.views.graph()).tables.get(targetId) ?? {}
      await pinning.pin(this.#order)
      pinned = { pinnedAt, targetUuid: uuid, lack: links.lackOf(id) }
      this.#job.tell({ isPinned: true })
    })
    return pinned
  }

  get #heldChange(): Omit<HeldChange, 'restartsMax'> {
    const { holds, pinning } = this.#deps
    const held = () => pinning.heldFor(this.#order)
    return { holds, held, refuseGone: () => this.#refuseGone(), signal: this.#job.signal }
  }

  /** For the end of a job that is cancelled or has failed, whatever is gone by then. */
  get #lastHold(): HeldChange {
    const refuseGone = (): void => undefined
    return {
      ...this.#heldChange,
      refuseGone,
      restartsMax: 1,
      signal: AbortSignal.timeout(lastHoldMsMax),
      keepsRows: true,
    }
  }

  async #fill(checkpoint: PopulateCheckpoint): Promise<void> {
    for (let next: PopulateCheckpoint | null = checkpoint; next !== null; ) next = await this.#fillAs(next)
  }

  /** What is to be filled in another way, as a wide chunk came to many groups, or took long; null when all is filled. */
  async #fillAs({ done, total, ...limits }: PopulateCheckpoint): Promise<PopulateCheckpoint | null> {
    const parts = await this.#parts(limits.isEven === true)
    const chunks = cutAll(parts, limits)
    if (chunks.length !== total) throw this.#failure('the rows that were kept for it are others than they were')
    const graph = await this.#graph()
    const wide = limits.wide?.count === undefined ? limits.wide : undefined
    const filling = { graph, parts, wide, conditions: await this.#conditions(), into: this.#into(graph, limits) }
    const progress = new PopulateProgress(this.#job, chunks, done)
    progress.tell('working')
    const checkpoints = new Checkpoints(() => this.#save({ ...limits, done: progress.done, total }))
    const failure = await fillChunks({
      ...{ from: done, total, isStopped: () => this.#job.signal.aborted },
      atOnce: this.#isOrdered(graph) ? 1 : chunksAtOnce / filling.into.threads,
      fill: async (index, isAgain) => {
        await this.#fillChunk(index, { chunk: chunks[index], isAgain }, filling)
        progress.filled(index)
        await checkpoints.whenDue()
      },
    })
    const reached = { ...limits, done: progress.done, total }
    const narrower = narrowedBy(failure, reached, parts)
    if (narrower === null) await this.#endFill(progress, failure)
    if (narrower === null && this.#endsFilled) await this.#endFilled()
    else await this.#save(narrower ?? reached)
    return narrower
  }

  /** Whether nothing is left to do when all is filled. */
  get #endsFilled(): boolean {
    const { repair, request } = this.#order
    return repair === undefined && !request.truncates
  }

  /** Without a checkpoint, as the end of the job says what one would: until that is written, the pin is there to fill all of it again. */
  async #endFilled(): Promise<void> {
    await this.#deps.store.sync()
    await this.#deps.links.noteSuccess(this.#order.view.id)
  }

  async #endFill(progress: PopulateProgress, failure: Failed | null): Promise<void> {
    const { signal } = this.#job
    if (failure !== null && !signal.aborted) {
      progress.tell('error')
      throw failure.thrown
    }
    if (signal.aborted && isCancelled(signal.reason)) progress.tell('cancelled')
    signal.throwIfAborted()
  }

  async #fillChunk(index: number, { chunk, isAgain }: ChunkTry, filling: Filling): Promise<void> {
    assert(chunk !== undefined, 'a chunk is one of those that were cut')
    this.#refuseGone()
    const { graph, conditions, into, wide, parts } = filling
    const { branch, pieces } = chunk
    const view = this.#branches[branch]
    const pin = this.#pins[branch]
    assert(view !== undefined && pin !== undefined, 'a chunk is of one of the SELECTs')
    const condition = conditions[branch] ?? null
    const blockId = `${this.#job.id}-${index}`
    const read = new Set(pieces.map(({ part }) => part))
    const readParts = parts[branch]?.filter(({ name }) => read.has(name)) ?? []
    const groupsMax = wide === undefined ? null : groupsMaxOf(wide, readParts)
    const bounds = groupsMax === null ? undefined : { groupsMax, readTimeMaxMs: wideMsMax }
    const isRepeat = isAgain || this.#isResumed
    await fillChunk(this.#deps.store, chunk, { view, graph, pin, condition, blockId, bounds, isRepeat, ...into })
  }

  /** Behind it all chunks before `done` outlive a power cut. */
  async #save(checkpoint: PopulateCheckpoint): Promise<void> {
    await this.#deps.store.sync()
    await this.#job.saveCheckpoint(checkpoint)
  }

  /** Once: whoever comes again finds the target with the content of the other table. */
  async #exchange(checkpoint: PopulateCheckpoint): Promise<void> {
    const { links, store } = this.#deps
    const { stagingUuid, pinnedAt = 0 } = checkpoint
    let { lack = {} } = checkpoint
    const { view, request } = this.#order
    const { targetId } = view
    const { staging } = this.#tables
    const mirrors = this.#mirrors
    await whenFree({ ...this.#heldChange, restartsMax: Number.POSITIVE_INFINITY }, async () => {
      const target = (await store.tables.list([targetId])).get(targetId)
      if (target?.uuid !== stagingUuid) {
        this.#missedRows = !(await hasMirrors(store, mirrors))
        if (this.#missedRows) throw this.#failure(missedRows)
        // What the view did not take until now, the mirror has taken.
        lack = links.lackOf(view.id)
        await this.#job.saveCheckpoint({ ...checkpoint, done: checkpoint.total, lack })
        await links.beforeExchange([targetId])
        await store.exchange([[targetId, staging]])
      }
      for (const mirror of mirrors) await store.views.drop(mirror)
      await store.sync()
      if (!isWhole(request)) return
      // Nothing of what the target had before is left.
      await links.clearRemovals(view.id, null, pinnedAt)
      await links.noteWhole(view.id, lack, pinnedAt)
    })
  }

  #into(graph: TableGraph, { threads = 1 }: Pick<PopulateCheckpoint, 'threads'>): Filling['into'] {
    const { view, request } = this.#order
    const target = graph.tables.get(view.targetId)
    if (target === undefined) throw errors.DATASOURCE_NOT_FOUND({ name: this.#order.targetName })
    const table = request.truncates ? this.#tables.staging : view.targetId
    const hasDistinctKeys = this.#haveDistinctKeys()
    return { table, columns: filledColumns(view, target), threads, hasDistinctKeys }
  }

  /** Only where nothing is behind what is filled, which would get its rows unmerged. */
  #haveDistinctKeys(): boolean {
    const { view, filled, request } = this.#order
    const target = this.#deps.catalog.find(view.targetId)
    if (target === undefined || (filled.length > 1 && !request.truncates)) return false
    return this.#branches.every(({ select }) => givesDistinctKeys(select, target))
  }

  /** One for each SELECT. */
  async #conditions(): Promise<readonly (CheckedExpression | null)[]> {
    const { request, seconds, sourceName } = this.#order
    if (request.condition === null || request.subset !== null) return []
    const sources = this.#branches.map(({ sourceId }) => {
      const source = this.#deps.catalog.find(sourceId)
      if (source === undefined) throw errors.DATASOURCE_NOT_FOUND({ name: sourceName })
      return source
    })
    return await conditionsOn(sources, { request, seconds, deps: this.#deps })
  }

  get #branches(): readonly PopulatedBranch[] {
    return populatedBranches(this.#order.view)
  }

  /** One for each SELECT. */
  get #mirrors(): readonly string[] {
    return this.#branches.map((_, index) => branchTables(this.#order.pinId, index).mirror)
  }

  /** One for each SELECT. */
  get #pins(): readonly string[] {
    return this.#branches.map((_, index) => branchTables(this.#order.pinId, index).pin)
  }

  /** One for each SELECT, looked at once, as a pin stays what it is. */
  #parts(isByRead: boolean): Promise<readonly (readonly PinnedPart[])[]> {
    const { pins } = this.#deps.store
    this.#pinnedParts ??= Promise.all(
      this.#branches.map(({ select }, index) => {
        const { pin } = branchTables(this.#order.pinId, index)
        return pins.parts(pin, isByRead ? readNames(select) : null)
      }),
    )
    return this.#pinnedParts
  }

  /** The tables as they are behind the pin. */
  #graph(): Promise<TableGraph> {
    this.#pinnedGraph ??= this.#deps.store.views.graph()
    return this.#pinnedGraph
  }

  #isOrdered({ tables }: TableGraph): boolean {
    return this.#order.filled.some((table) => orderedEngines.test(tables.get(table)?.engine ?? ''))
  }

  #refuseGone(): void {
    const { view, targetName } = this.#order
    if (this.#deps.catalog.find(view.targetId) === undefined) throw errors.DATASOURCE_NOT_FOUND({ name: targetName })
    if (!this.#deps.links.isLinked(view.id)) throw this.#failure('it was removed meanwhile')
  }

  /** Whether nothing but a view that does not take rows that come meanwhile has ended it. */
  #isParked(failure: unknown): boolean {
    if (this.#missedRows) return true
    return failure instanceof ApiError && failure.code === 'VIEW_BEHIND'
  }

  #failure(reason: string, cause?: unknown): ApiError {
    const failed = { view: this.#order.view.nodeName, reason, cause }
    return this.#order.repair === undefined ? errors.POPULATE_FAILED(failed) : errors.REPAIR_FAILED(failed)
  }

  /** What fails here is done by the next populate, or at a start. */
  async #letGo(): Promise<void> {
    const { pinning, store } = this.#deps
    const { pinId } = this.#order
    try {
      const names = new Set(await store.views.names())
      const hasMirror = this.#mirrors.some((mirror) => names.has(mirror))
      // An insert that has begun goes on into a mirror that is dropped, and would fail at its table.
      if (hasMirror) await whenFree(this.#lastHold, () => pinning.letGo(pinId))
      else await pinning.letGo(pinId)
    } catch (err) {
      this.#deps.logger.error(
        { err, jobId: this.#job.id },
        'Rows that were kept for a populate could not be let go yet.',
      )
    }
  }

  /** The failure, with what it means for the view: the rules of the specification. */
  async #unlinkedBy(failure: unknown): Promise<unknown> {
    const { links, logger } = this.#deps
    const { view, request } = this.#order
    // One that is parked is no failure of what was filled: what came meanwhile is kept for the view, which must stand to get it.
    const isFirst = !this.#isParked(failure) && !links.hasSucceeded(view.id)
    if (!links.isLinked(view.id) || (!isFirst && !request.unlinksOnError)) return failure
    try {
      await links.unlink(view.id)
    } catch (err) {
      logger.error({ err, view: view.id }, 'The view of a populate that failed could not be unlinked.')
      return failure
    }
    logger.warn(
      { view: view.id, node: labelOf(view), jobId: this.#job.id },
      'A Materialized View is unlinked, as a populate of it failed.',
    )
    const reason = request.unlinksOnError ? 'unlink_on_populate_error asks for it' : 'no populate of it ever succeeded'
    const unlinked = errors.POPULATE_UNLINKED({ view: view.nodeName, pipe: view.pipe.name, reason })
    return new AggregateError([failure, unlinked])
  }
}

function labelOf({ pipe, nodeName }: PopulatedView): string {
  return `${pipe.name}.${nodeName}`
}

type PinMoment = Pick<PopulateCheckpoint, 'lack' | 'pinnedAt' | 'targetUuid'>

/** Rows of one SELECT, which its source has. */
interface BranchChunk extends Chunk {
  readonly branch: number
}

type BranchParts = readonly (readonly PinnedPart[])[]

/** Of all SELECTs, one behind the other. */
function cutAll(parts: BranchParts, limits: ChunkLimits): readonly BranchChunk[] {
  const chunks: BranchChunk[] = []
  for (const [branch, own] of parts.entries()) {
    const { wide } = limits
    const count = wide?.count === undefined ? undefined : Math.max(0, wide.count - chunks.length)
    const ownLimits = wide === undefined || count === undefined ? limits : { ...limits, wide: { ...wide, count } }
    for (const chunk of cutChunks(own, ownLimits)) chunks.push({ ...chunk, branch })
  }
  return chunks
}

interface ChunkTry {
  readonly chunk: BranchChunk | undefined
  /** Whether another try of this run may have stored it. */
  readonly isAgain: boolean
}

/** What is left with common chunks, where it was a wide one that failed by its bounds; null otherwise. */
function narrowedBy(
  failure: Failed | null,
  reached: PopulateCheckpoint,
  parts: BranchParts,
): PopulateCheckpoint | null {
  const { wide, done } = reached
  if (wide === undefined || wide.count !== undefined || failure === null) return null
  if (!(failure.thrown instanceof StoreError && failure.thrown.isOverFill)) return null
  const limits = { ...reached, threads: 1, wide: { ...wide, count: done } }
  return { ...limits, total: cutAll(parts, limits).length }
}

interface Filling {
  readonly graph: TableGraph
  /** One for each SELECT; empty where there is none. */
  readonly conditions: readonly (CheckedExpression | null)[]
  readonly into: Pick<ChunkFill, 'columns' | 'hasDistinctKeys' | 'table' | 'threads'>
  readonly parts: BranchParts
  /** Set while chunks are wide. */
  readonly wide: WideChunks | undefined
}

/** Saves now and then, one after the other. */
class Checkpoints {
  readonly #save: () => Promise<void>
  #lastMs = performance.now()
  #saving: Promise<void> = Promise.resolve()

  constructor(save: () => Promise<void>) {
    this.#save = save
  }

  async whenDue(): Promise<void> {
    if (performance.now() - this.#lastMs >= checkpointMs) {
      this.#lastMs = performance.now()
      this.#saving = this.#saving.then(this.#save)
    }
    await this.#saving
  }
}

function isWhole({ truncates, subset, condition }: PopulateJobOrder['request']): boolean {
  return truncates && subset === null && condition === null
}

function isCancelled(reason: unknown): boolean {
  return reason instanceof ApiError && reason.code === 'JOB_CANCELLED'
}

const memoryReason =
  'one chunk of its rows needs more memory than one INSERT may have (half of --engine-memory-bytes-max), or than the rest of the engine leaves. Raise it, make chunks smaller with --populate-chunk-rows-max, or populate the rows part by part with populate_condition'

function toFailure(thrown: unknown, failed: (reason: string, cause: unknown) => ApiError): unknown {
  if (thrown instanceof ApiError && thrown.code === 'SQL_INVALID') return failed(thrown.message, thrown)
  const isOfChunk = thrown instanceof StoreError && isOfMemory(thrown) && !isOfView(thrown)
  if (isOfChunk) return failed(memoryReason, thrown)
  return toChangeError(toCopyError(thrown, (reason) => failed(reason, thrown)))
}
