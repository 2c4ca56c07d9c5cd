// Rows of a quarantine on their way into their data source, each exactly once, whatever the process dies at.
//
// 1. The chosen rows are copied into a table, as the CSV records that they are to be, fixes included. Until the catalog
//    notes the replay, nothing has happened, and a start drops the copy.
// 2. From then on what is to be done is fixed: the copy is stored piece by piece, each under a deduplication token made of
//    the replay's id and the piece's place. How far it has come is noted when the engine's files are synced.
// 3. Rows that still do not fit are noted by their ids in a table beside. At the end those that fit are deleted from the
//    quarantine by their ids, behind a barrier, then the note goes, then the tables.
// Every step may be repeated, so a start, and whoever changes the data source next, goes on where the note says.

import type { Catalog } from '../../catalog/catalog.ts'
import type { ReplayNote } from '../../catalog/catalog-record.ts'
import type { DataSource, DataSourceId } from '../../catalog/data-source.types.ts'
import type { Ingest } from '../../ingest/ingest.types.ts'
import type { Logger } from '../../observe/logger.ts'
import { ApiError, errors } from '../../shared/errors/errors.ts'
import { createImportId } from '../../shared/ids.ts'
import { currentValueRules } from '../../shared/value-rules.ts'
import { type QueryLimits, toChangeError } from '../../store/caller-errors.ts'
import { clickhouseCodes } from '../../store/engine-codes.ts'
import { replayTables } from '../../store/sql/replay-tables.ts'
import type { Store } from '../../store/store.types.ts'
import { isOfItsMemory, StoreError } from '../../store/store-error.ts'
import { toReadError } from '../reader-rows.ts'
import type { ReplayFailure, ReplayReport, ReplayRequest } from './quarantine.types.ts'
import { type ChosenRows, chosenRowsOf, toExpressionError } from './replay-choice.ts'
import { digitsHint, digitsReason } from './replay-texts.ts'

export interface ReplayDeps {
  readonly catalog: Pick<Catalog, 'noteReplay' | 'replayOf'>
  readonly store: Pick<Store, 'quarantines' | 'replays' | 'sync'>
  readonly ingest: Pick<Ingest, 'replayRows' | 'withBarrier'>
  readonly logger: Logger
  /** Told when a replay that is noted could not be ended. */
  readonly onInterrupted?: (id: DataSourceId) => void
}

/** Sizes that tests make small. */
export interface ReplaySizes {
  /** More rows wait for another replay: a request should end while somebody waits for it. */
  readonly rowsMax: number
  /** Rows that are stored by one INSERT. */
  readonly pieceRowsMax: number
}

const defaultSizes: ReplaySizes = { rowsMax: 1_000_000, pieceRowsMax: 50_000 }
/** Bytes that are stored by one INSERT. */
const pieceBytesMax = 8 * 1024 * 1024
const copiesMax = 3
const retryAfterSeconds = 1
const failuresMax = 100
const samplesMax = 3

export class QuarantineReplay {
  readonly #deps: ReplayDeps
  readonly #limits: QueryLimits
  readonly #sizes: ReplaySizes
  /** Replays that are tried again: why the last try failed, which is told once, and how many did. */
  readonly #interruptions = new Map<DataSourceId, { readonly reason: string; readonly failedTries: number }>()

  #isClosing = false

  constructor(deps: ReplayDeps, limits: QueryLimits, sizes: Partial<ReplaySizes> = {}) {
    this.#deps = deps
    this.#limits = limits
    this.#sizes = { ...defaultSizes, ...sizes }
  }

  /**
   * Replays rows, once what an earlier replay left is done. Precondition: nothing else changes the data source meanwhile.
   *
   * @throws REPLAY_INVALID, SQL_INVALID (400), QUERY_TIMEOUT (408), REPLAY_INTERRUPTED (503) and other errors of the engine.
   */
  async run(dataSource: DataSource, request: ReplayRequest, signal: AbortSignal): Promise<ReplayReport> {
    const chosen = chosenRowsOf(dataSource, request)
    await this.finish(dataSource)
    const { selectedRows, chosenRows } = await this.#choose(dataSource, chosen, signal)
    if (chosenRows === 0) {
      return { selectedRows, replayedRows: 0, failedRows: 0, leftRows: selectedRows, failures: [], viewFailure: null }
    }
    const report = await this.#goOn(dataSource)
    const { replayedRows, failedRows } = report
    // Nobody may be listening for the answer any more, so the log has the counts too.
    this.#deps.logger.info({ dataSource: dataSource.name, replayedRows, failedRows }, 'A replay ended.')
    return { ...report, selectedRows, leftRows: Math.max(0, selectedRows - chosenRows) }
  }

  /** Ends a replay that was interrupted; does nothing when there is none. @throws REPLAY_INTERRUPTED (503). */
  async finish(dataSource: DataSource): Promise<void> {
    if (this.#deps.catalog.replayOf(dataSource.id) === null) return
    const { id, name } = dataSource
    const failedTries = this.#interruptions.get(id)?.failedTries ?? 0
    const { replayedRows, failedRows } = await this.#goOn(dataSource)
    this.#deps.logger.info(
      { dataSource: name, replayedRows, failedRows, failedTries },
      'An interrupted replay is ended.',
    )
  }

  /** Those that run end soon, and go on at the next start. */
  close(): void {
    this.#isClosing = true
  }

  /** Copies the chosen rows, and notes the replay when the copy is safe. */
  async #choose(dataSource: DataSource, chosen: ChosenRows, signal: AbortSignal) {
    const { id } = dataSource
    const { store, catalog } = this.#deps
    try {
      await store.quarantines.ensureRowIds(id)
      for (const trial of chosen.trials) await this.#tryExpression(id, trial, signal)
      const selectedRows = await store.replays.countChosen(id, chosen, signal)
      if (selectedRows === 0) return { selectedRows, chosenRows: 0 }
      const chosenRows = await this.#copy(id, chosen)
      await store.sync()
      const note = { replayId: createImportId(), next: 0, end: await this.#pieceEnd(id, 0), rules: currentValueRules }
      if (chosenRows > 0) await catalog.noteReplay(id, note)
      return { selectedRows, chosenRows }
    } catch (error) {
      throw chosen.trials.length > 0 && isOfItsMemory(error)
        ? toExpressionError(error, '')
        : this.#toChoiceError(error, '')
    }
  }

  /** Copies the chosen rows with their ids; gives their number. */
  async #copy(id: DataSourceId, chosen: ChosenRows): Promise<number> {
    const { quarantines, replays } = this.#deps.store
    for (let attempt = 0; attempt < copiesMax; attempt += 1) {
      await quarantines.ensureRowIds(id)
      const { copied, known } = await replays.copyChosen(id, chosen, this.#sizes.rowsMax)
      // A part that was being written when the ids came has none, and made some up for the copy alone.
      if (copied === known) return copied
    }
    throw errors.REPLAY_INTERRUPTED({ reason: 'rows were set aside meanwhile', retryAfterSeconds })
  }

  async #tryExpression(id: DataSourceId, trial: ChosenRows['trials'][number], signal: AbortSignal) {
    try {
      await this.#deps.store.replays.tryExpression(id, trial, signal)
    } catch (error) {
      throw isOfItsMemory(error) ? toExpressionError(error, trial.name) : this.#toChoiceError(error, trial.name)
    }
  }

  #toChoiceError(error: unknown, name: string): unknown {
    // That a table of ours is missing is no fault of an expression.
    const isOurs = error instanceof StoreError && error.clickhouseCode === clickhouseCodes.unknownTable
    const told = isOurs ? toChangeError(error) : toReadError(error, this.#limits)
    const isOfCaller = told instanceof ApiError && told.code === 'SQL_INVALID' && error instanceof StoreError
    return isOfCaller ? toExpressionError(error, name) : told
  }

  /** From where the note says to the end. */
  async #goOn(dataSource: DataSource): Promise<ReplayReport> {
    const { id, name } = dataSource
    const { store, catalog, ingest, logger } = this.#deps
    try {
      const note = catalog.replayOf(id)
      if (note === null) throw new Error('the replay is noted')
      const viewFailure = await this.#storePieces(dataSource, note)
      const report = await this.#reportOn(dataSource)
      // Of rows set aside no view has any.
      const barrier = { dataSource, isFinal: false, keepsBlocks: true }
      await ingest.withBarrier(barrier, () => store.replays.deleteReplayed(id))
      // What the note says must be on the disk before the note goes.
      await store.sync()
      await catalog.noteReplay(id, null)
      await store.replays.drop(id)
      this.#interruptions.delete(id)
      return { ...report, viewFailure }
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause)
      const before = this.#interruptions.get(id)
      this.#interruptions.set(id, { reason, failedTries: (before?.failedTries ?? 0) + 1 })
      if (before?.reason !== reason) {
        logger.error({ err: cause, dataSource: name }, 'A replay was interrupted; it goes on later.')
      }
      this.#deps.onInterrupted?.(id)
      throw interrupted(cause)
    }
  }

  /** Gives why a view did not take the rows; null when each did. */
  async #storePieces(dataSource: DataSource, note: ReplayNote): Promise<string | null> {
    const { id, name } = dataSource
    const { store, catalog, ingest, logger } = this.#deps
    const misfitsTable = replayTables(id).misfits
    let { next, end } = note
    let viewFailure: string | null = null
    const isGivenUp = (): boolean => this.#isClosing
    while (next < end) {
      if (isGivenUp()) throw errors.SHUTTING_DOWN({})
      const records = await store.replays.records(id, { next, end })
      const blockId = `${note.replayId}-${next}`
      const piece = await ingest.replayRows({
        dataSource,
        records,
        blockId,
        misfitsTable,
        rules: note.rules,
        isGivenUp,
      })
      if (piece.viewFailure !== null) {
        logger.warn({ dataSource: name, reason: piece.viewFailure }, 'A view did not take rows of a replay.')
        viewFailure ??= piece.viewFailure
      }
      await store.sync()
      // The next piece is noted before it is begun, so that a repeat has the same rows under the same token.
      next = end
      end = await this.#pieceEnd(id, next)
      await catalog.noteReplay(id, { ...note, next, end })
    }
    return viewFailure
  }

  /** Where the piece that begins at `next` ends; `next` itself when nothing is left. */
  async #pieceEnd(id: DataSourceId, next: number): Promise<number> {
    const { replays } = this.#deps.store
    const sizes = await replays.recordSizes(id, { from: next, rowsMax: this.#sizes.pieceRowsMax })
    let end = next
    let pieceBytes = 0
    for (const { number, byteCount } of sizes) {
      pieceBytes += byteCount
      if (end > next && pieceBytes > pieceBytesMax) break
      end = number + 1
    }
    return end
  }

  async #reportOn({ id, columns }: DataSource): Promise<Omit<ReplayReport, 'viewFailure'>> {
    const { replays } = this.#deps.store
    const { chosenRows, failedRows } = await replays.counts(id)
    const failures = await replays.failures(id, { failuresMax, samplesMax, digitsPattern: digitsReason })
    const replayedRows = chosenRows - failedRows
    const told = failures.map(({ digits, ...failure }): ReplayFailure => {
      const column = columns.find(({ name }) => name === failure.column)
      const hint = column === undefined ? undefined : digitsHint(column, digits)
      return hint === undefined ? failure : { ...failure, hint }
    })
    return { selectedRows: chosenRows, replayedRows, failedRows, leftRows: 0, failures: told }
  }
}

function interrupted(cause: unknown): ApiError {
  // A view that fails is the caller's to mend, so the engine's own words are told.
  const told = cause instanceof StoreError && cause.kind === 'engine' ? cause : toChangeError(cause)
  const isTold = told instanceof ApiError || told instanceof StoreError
  const reason = isTold ? told.message : 'the log of the service has the reason'
  return errors.REPLAY_INTERRUPTED({ reason, retryAfterSeconds, cause })
}
