// Deletes of rows by a condition, each carried out once, whatever the process dies at.
//
// 1. The condition is judged, and counted over the rows that there are: what fails for one of them fails before anything is
//    done.
// 2. Events that wait are stored, and a barrier is written. Behind it the engine notes the delete, under the id of its run,
//    and the note is synced: it is about all rows that were acknowledged before, and about none that come later. Events and
//    imports go on then.
// 3. Its rows are counted while the engine waits with it. Then it goes through the parts of the table, in the background; a
//    start of the engine goes on with that by itself.
// A run that is repeated looks for what the engine has noted, and begins only where there is nothing. A block of which all rows
// are deleted leaves a deduplication record without a part, which the repair of these records drops: nothing comes again by
// that, because no event before the barrier is ever inserted again.

import type { Catalog } from '../../catalog/catalog.ts'
import type { DataSource } from '../../catalog/data-source.types.ts'
import type { Ingest } from '../../ingest/ingest.types.ts'
import type { Logger } from '../../observe/logger.ts'
import { findEngineName, isMergeTree } from '../../schema/engines/engine-options.ts'
import type { CheckedExpression } from '../../schema/expressions/checked-text.types.ts'
import { ChangeQueue } from '../../shared/change-queue.ts'
import { ApiError, errors } from '../../shared/errors/errors.ts'
import { type QueryLimits, toChangeError, toCopyError } from '../../store/caller-errors.ts'
import { withoutInternals } from '../../store/engine-message.ts'
import type { DeletedRows, RowDeleteState } from '../../store/row-deletes.types.ts'
import type { Store } from '../../store/store.types.ts'
import { isFaultOfEngine, isOfItsMemory, isStopped, StoreError } from '../../store/store-error.ts'
import { changeBehindBarrier } from '../barrier.ts'
import { toReadError } from '../reader-rows.ts'
import { type AskedCondition, readRowCondition, tryRowCondition } from '../row-condition.ts'
import { outlivingEngine, pause } from './engine-ends.ts'
import type {
  PlannedRowDelete,
  RowDeleteOrder,
  RowDeleteReport,
  RowDeleteRequest,
  RowDeleteRun,
  StaleView,
} from './row-delete.types.ts'

export interface RowDeletesDeps {
  readonly catalog: Pick<Catalog, 'find'>
  readonly store: Pick<Store, 'rowDeletes' | 'sync' | 'trials' | 'views'>
  readonly ingest: Pick<Ingest, 'isHeld' | 'withBarrier'>
  readonly logger: Logger
  /** Ends of the engine in a row that a delete outlives. */
  readonly engineEndsMax?: number
  /** Runs a change of a data source while there is no other one, and no replay is half done. */
  readonly alone: <Result>(
    dataSource: Pick<DataSource, 'id' | 'name'>,
    change: (dataSource: DataSource) => Promise<Result>,
  ) => Promise<Result>
  /** Notes what views keep of the rows, on disk when it resolves; absent where there are no views. */
  readonly noteDelete?: (id: DataSource['id']) => Promise<void>
  /** Told before rows go on purpose. */
  readonly whileRemoving: <Result>(ids: readonly string[], change: () => Promise<Result>) => Promise<Result>
}

/** How often the engine is asked how far it is: at first, and later. */
const firstLookMs = 10
const longestLookMs = 1_000
/** When a data source is looked at again that is being replaced. */
const heldLookMs = 200
/** Longest run, as everything has an end. */
const runTimeMaxMs = 6 * 3_600_000

export class RowDeletes {
  readonly #deps: RowDeletesDeps
  readonly #limits: QueryLimits
  /** By data source: each has one delete at a time. */
  readonly #turns = new ChangeQueue()

  constructor(deps: RowDeletesDeps, limits: QueryLimits) {
    this.#deps = deps
    this.#limits = limits
  }

  /** @throws DELETE_CONDITION_INVALID, DELETE_UNSUPPORTED (400), QUERY_TIMEOUT (408), and states of the engine (503). */
  async plan(
    dataSource: DataSource,
    { condition: text, isCounted }: RowDeleteRequest,
    signal: AbortSignal,
  ): Promise<PlannedRowDelete> {
    refuseEngine(dataSource)
    if (text === undefined || text.trim() === '') {
      const what = text === undefined ? 'there is none' : 'it is empty'
      throw invalid(`${what}; name the rows, or use "truncate" to delete all of them`)
    }
    const { id, name } = dataSource
    const seconds = Math.floor(Date.now() / 1_000)
    const order = { dataSourceId: id, dataSourceName: name, condition: text, seconds }
    const condition = await this.#check(dataSource, order)
    const rowCount = isCounted ? await this.#countNow(id, condition, signal) : null
    return { dataSource, order, views: await this.#viewsOver(id), rowCount }
  }

  /**
   * Carries out a delete, or what is left of it, once the ones of the data source before it have ended.
   *
   * @throws DELETE_CONDITION_INVALID (400), DATASOURCE_NOT_FOUND (404), DELETE_FAILED (422), CHANGE_BLOCKED (503), and the
   *   reason of the signal.
   */
  async run(run: RowDeleteRun): Promise<RowDeleteReport> {
    const { dataSourceId } = run.order
    return await this.#turns.run(dataSourceId, async () => {
      run.signal.throwIfAborted()
      return await this.#deps.whileRemoving([dataSourceId], () => this.#runNow(run))
    })
  }

  async #runNow(run: RowDeleteRun): Promise<RowDeleteReport> {
    const { catalog, store, logger } = this.#deps
    const { id, order, checkpoint } = run
    const table = order.dataSourceId
    const isNoted = checkpoint !== null || (await this.#find({ table, id }, run.signal)) !== null
    const dataSource = catalog.find(table)
    // With the data source its rows are gone.
    if (dataSource === undefined && !isNoted) throw errors.DATASOURCE_NOT_FOUND({ name: order.dataSourceName })
    const rowsDeleted =
      isNoted || dataSource === undefined ? (checkpoint?.rowCount ?? null) : await this.#begin(run, dataSource)
    await this.#untilDone(run)
    await outlivingEngine(() => store.sync(), this.#outlives(run))
    logger.info({ dataSource: order.dataSourceName, jobId: id, rowsDeleted }, 'Rows of a data source are deleted.')
    return { rowsDeleted }
  }

  /** Gives how many rows are deleted from now on; null when nobody has counted them. */
  async #begin(run: RowDeleteRun, dataSource: DataSource): Promise<number | null> {
    const { store, alone } = this.#deps
    const { id: table } = dataSource
    const begin = async (): Promise<number | null> => {
      const condition = await this.#check(dataSource, run.order)
      await store.rowDeletes.judge(table, condition).catch(throwInvalid)
      await this.#untilFree(dataSource, run.signal)
      return await alone(dataSource, (current) => this.#beginAlone(run, current))
    }
    let hasEnded = false
    for (;;) {
      try {
        return await outlivingEngine(async () => {
          // An engine that has ended may have noted it before.
          if (hasEnded && (await store.rowDeletes.find({ table, id: run.id })) !== null) return null
          hasEnded = true
          return await begin()
        }, this.#outlives(run))
      } catch (thrown) {
        // A replace has come between.
        if (!(thrown instanceof ApiError) || thrown.code !== 'DATASOURCE_BUSY') throw thrown
      }
    }
  }

  async #beginAlone(run: RowDeleteRun, dataSource: DataSource): Promise<number | null> {
    const { store, ingest } = this.#deps
    const { id: table } = dataSource
    // The columns may have changed meanwhile.
    const condition = await this.#check(dataSource, run.order)
    const deleted = { table, condition, id: run.id }
    try {
      const parts = await changeBehindBarrier(ingest, dataSource, async () => {
        await this.#deps.noteDelete?.(table)
        const noted = await this.#note(deleted, run.signal)
        await outlivingEngine(() => store.sync(), this.#outlives(run))
        return noted
      })
      await run.save({ rowCount: null })
      const rowCount = parts === null ? null : await this.#countJudged(deleted, parts)
      await run.save({ rowCount })
      // No part needs to be written anew.
      if (rowCount === 0) await store.rowDeletes.takeBack(deleted)
      return rowCount
    } finally {
      await store.rowDeletes.release(table)
    }
  }

  /** The parts of the table by then; null where the engine has ended meanwhile, and had noted the delete before. */
  async #note(deleted: DeletedRows, signal: AbortSignal): Promise<ReadonlySet<string> | null> {
    const { rowDeletes } = this.#deps.store
    try {
      return await rowDeletes.begin(deleted)
    } catch (thrown) {
      if ((await this.#find(deleted, signal)) !== null) return null
      throw toFailure(thrown)
    }
  }

  /** Null when the engine has begun meanwhile, as one does that was started again. */
  async #countJudged(deleted: DeletedRows, parts: ReadonlySet<string>): Promise<number | null> {
    const { rowDeletes } = this.#deps.store
    try {
      return await rowDeletes.countJudged(deleted, parts)
    } catch (thrown) {
      if (isStopped(thrown)) return null
      await rowDeletes.takeBack(deleted)
      throw toFailure(thrown)
    }
  }

  async #untilDone({ id, order, signal }: RowDeleteRun): Promise<void> {
    const { rowDeletes } = this.#deps.store
    const deleted = { table: order.dataSourceId, id }
    const endMs = performance.now() + runTimeMaxMs
    let toldFailure = ''
    for (let waitMs = firstLookMs; ; waitMs = Math.min(2 * waitMs, longestLookMs)) {
      const state = await this.#find(deleted, signal)
      // One that is forgotten was done.
      if (state === null || state.isDone) return
      const { failure } = state
      const isLasting = failure !== null && !isFaultOfEngine(failure)
      if (isLasting || performance.now() > endMs) {
        await rowDeletes.takeBack(deleted)
        const reason = failure === null ? 'it took too long' : withoutInternals(failure.message)
        throw errors.DELETE_FAILED({ name: order.dataSourceName, reason, cause: failure })
      }
      if (failure !== null && failure.message !== toldFailure) {
        toldFailure = failure.message
        const fields = { err: failure, dataSource: order.dataSourceName, jobId: id }
        this.#deps.logger.warn(fields, 'The database could not delete rows yet; it tries again.')
      }
      await pause(waitMs, signal)
    }
  }

  #outlives({ signal }: Pick<RowDeleteRun, 'signal'>): Parameters<typeof outlivingEngine>[1] {
    const { engineEndsMax: endsMax } = this.#deps
    return endsMax === undefined ? { signal } : { signal, endsMax }
  }

  /** What the engine has noted, also of one that is started again meanwhile. */
  async #find(deleted: Pick<DeletedRows, 'id' | 'table'>, signal: AbortSignal): Promise<RowDeleteState | null> {
    try {
      return await outlivingEngine(() => this.#deps.store.rowDeletes.find(deleted), this.#outlives({ signal }))
    } catch (thrown) {
      throw toChangeError(thrown)
    }
  }

  /** Waits while the data source is replaced. */
  async #untilFree({ id }: DataSource, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    while (this.#deps.ingest.isHeld(id)) await pause(heldLookMs, signal)
  }

  async #check({ id, columns }: DataSource, { condition: text, seconds }: RowDeleteOrder): Promise<CheckedExpression> {
    const table = { name: id, columns: columns.map(({ name }) => name) }
    const asked: AskedCondition = { text, parameter: 'delete_condition', table, seconds, invalid }
    return await tryRowCondition(this.#deps.store.trials, readRowCondition(asked), asked)
  }

  async #countNow(table: string, condition: CheckedExpression, signal: AbortSignal): Promise<number> {
    try {
      return await this.#deps.store.rowDeletes.countMatching(table, condition, signal)
    } catch (thrown) {
      throw toCountError(thrown, this.#limits)
    }
  }

  async #viewsOver(id: string): Promise<readonly StaleView[]> {
    try {
      const { views } = await this.#deps.store.views.graph()
      const reached = new Set([id])
      // A Set gives what is added while it is walked.
      for (const table of reached) for (const { source, target } of views) if (source === table) reached.add(target)
      return views.filter(({ source }) => reached.has(source)).map(({ name, target }) => ({ name, target }))
    } catch (thrown) {
      throw toChangeError(thrown)
    }
  }
}

/** @throws DELETE_UNSUPPORTED (400). */
function refuseEngine({ name, engine }: DataSource): void {
  const engineName = findEngineName(engine.name)
  if (engineName !== undefined && isMergeTree(engineName)) return
  const reason =
    engine.name === 'Null'
      ? 'its engine Null keeps no rows'
      : `its engine ${engine.name} deletes no single rows; replace it`
  throw errors.DELETE_UNSUPPORTED({ name, reason })
}

function invalid(reason: string): ApiError {
  return errors.DELETE_CONDITION_INVALID({ reason })
}

function throwInvalid(thrown: unknown): never {
  throw toFailure(thrown)
}

/** What the condition failed with for a row: more memory than a query has is its fault too. */
function toFailure(thrown: unknown): unknown {
  return isOfItsMemory(thrown) ? invalid(withoutInternals(thrown.message)) : toCopyError(thrown, invalid)
}

/** What a query is told, in the words of the condition where that is at fault. */
function toCountError(thrown: unknown, limits: QueryLimits): unknown {
  if (isOfItsMemory(thrown)) return invalid(withoutInternals(thrown.message))
  const told = toReadError(thrown, limits)
  const isOfCondition = told instanceof ApiError && told.code === 'SQL_INVALID' && thrown instanceof StoreError
  return isOfCondition ? invalid(withoutInternals(thrown.message)) : told
}
