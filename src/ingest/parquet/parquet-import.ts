// One import of a Parquet file: slices of it, each one INSERT of one block.
//
// A slice is first inserted as if every row of it were right: what a row would be refused for is checked in the same
// statement, which fails at the first such row and leaves nothing behind. Only then are its rows counted and parted, the
// right ones into the table and the others, as text and with their reasons, into the quarantine. So a good file is read
// once.

import { link, stat } from 'node:fs/promises'
import type { PartFile } from '../../codec/arrow/part.types.ts'
import { type PartExpression, partExpression } from '../../codec/arrow/part-expression.ts'
import { assert } from '../../shared/assert.ts'
import { errors } from '../../shared/errors/errors.ts'
import type { AppendRequest, PartitionBound, Store } from '../../store/store.types.ts'
import { toImportFailure } from '../disk-failure.ts'
import type { ImportOutcome, ImportWatcher, ParquetImportRequest } from '../ingest.types.ts'
import { type ImportTables, tablesOf } from '../ingest-plan.ts'
import { whenDropped } from '../insert/append-error.ts'
import { createBlockId } from '../insert/block-id.ts'
import { doubtWarnings } from '../insert/doubtful-rows.ts'
import { type NamedPlaces, noCounts } from '../insert/import-ledger.types.ts'
import { areStored, isInDoubt, mayBeOfRows } from '../insert/insert-failure.ts'
import { leftBy } from '../insert/left-by.ts'
import { parquetBoundOf } from '../insert/partition-bound.ts'
import type { BodyPartitions, PartitionLimits } from '../insert/partition-limits.ts'
import type { PlaceRange } from '../insert/range-set.ts'
import { RefusedBlocks, refusedBefore } from '../insert/refused-block.ts'
import { withRefusal } from '../insert/refused-values.ts'
import type { SharedSync } from '../insert/shared-sync.ts'
import { Semaphore } from '../semaphore.ts'
import { type ParquetPlan, planParquet } from './parquet-columns.ts'
import { toParquetFailure } from './parquet-file.ts'
import { type ParquetSlice, type SliceLimits, slicesOf, writeSlice } from './parquet-slices.ts'

export interface ParquetImportOptions {
  readonly insertRowsMax: number
  readonly insertBytesMax: number
  readonly insertsInFlightMax: number
}

interface ParquetDeps {
  readonly store: Store
  readonly partitionLimits: PartitionLimits
  readonly sync: SharedSync
}

/** Pages are smaller than the columns that come out of them, and larger blocks make fewer parts to merge. */
const pageBytesPerInsertByte = 4

/** Pages with a dictionary are small whatever their values are, so values are counted too: a million rows of 16 columns. */
const insertCellsMax = 16_000_000

interface SliceTask {
  readonly slice: ParquetSlice
  readonly index: number
  /** Its rows, by their numbers in the file. */
  readonly range: PlaceRange
  readonly path: string
}

interface NamedTask extends SliceTask {
  readonly block: NamedPlaces
}

export class ParquetImport {
  readonly #request: ParquetImportRequest
  readonly #store: Store
  readonly #sync: SharedSync
  readonly #plan: ParquetPlan
  readonly #partition: PartitionBound | undefined
  readonly #body: BodyPartitions
  readonly #tables: ImportTables
  readonly #limits: SliceLimits
  readonly #places: Semaphore
  readonly #refused: RefusedBlocks
  readonly #leftBy: AbortSignal | undefined
  readonly #watcher: ImportWatcher | undefined
  /** Slices are alike: behind one with rows that are refused, the next one is counted before it is inserted. */
  #expectsRefusedRows = false
  #storedRows = 0
  #quarantinedRows = 0
  /** Rows of INSERTs that failed, and that may be stored all the same. */
  #doubtfulRows = 0
  #failure: Error | null = null
  /** Names of blocks under way of which the engine may have something. */
  readonly #begun = new Set<string>()
  readonly #startedAtMs = Date.now()

  constructor(request: ParquetImportRequest, deps: ParquetDeps, options: ParquetImportOptions) {
    const { insertRowsMax, insertBytesMax, insertsInFlightMax } = options
    this.#request = request
    this.#store = deps.store
    this.#sync = deps.sync
    this.#watcher = request.watcher
    this.#leftBy = leftBy(request)
    this.#tables = request.tables ?? tablesOf(request.dataSource)
    this.#body = deps.partitionLimits.bodyOf(this.#tables.landing)
    this.#plan = planParquet(request.dataSource.columns, request.file.columns, request.importId)
    this.#partition = parquetBoundOf(request.dataSource, this.#plan.landing)
    this.#refused = new RefusedBlocks(
      { store: deps.store, body: this.#body, leftBy: this.#leftBy },
      {
        dataSource: request.dataSource,
        tables: this.#tables,
        landing: this.#plan.landing,
        partition: this.#partition,
        fields: this.#plan.quarantine.fields,
        quarantine: withRefusal(this.#plan.quarantine, request.dataSource.columns, request.importId),
        isParquet: true,
      },
    )
    const rowsMax = Math.max(1, Math.min(insertRowsMax, Math.floor(insertCellsMax / this.#plan.landing.fields.length)))
    this.#limits = { rowsMax, bytesMax: insertBytesMax * pageBytesPerInsertByte }
    this.#places = new Semaphore(insertsInFlightMax)
  }

  /** @throws COLUMNS_MISSING (400) before anything is inserted; later failures are the outcome's. */
  async run(): Promise<ImportOutcome> {
    const { file, dataSource } = this.#request
    if (!this.#plan.hasColumns) {
      const names = file.columns.map(({ name }) => name)
      throw errors.COLUMNS_MISSING({ name: dataSource.name, columns: names })
    }
    const running = new Set<Promise<void>>()
    let index = 0
    let start = 0
    for (const slice of slicesOf(file.footer, this.#limits)) {
      await this.#places.acquire()
      if (this.#request.signal?.aborted === true) this.#failure ??= this.#request.signal.reason
      if (this.#failure !== null) break
      const range = { start, end: start + slice.rowCount }
      start = range.end
      const attempt = this.#attempt({ slice, index, range, path: this.#store.newPartPath() })
      running.add(attempt)
      const forget = (): boolean => running.delete(attempt)
      void attempt.then(forget, () => undefined)
      index += 1
    }
    await Promise.all(running)
    const { storedRows, quarantinedRows } = await this.#counts()
    const tables = this.#tables
    const store = this.#store
    const startedAtMs = this.#startedAtMs
    const isStaged = this.#request.tables !== undefined
    // A replace syncs what it exchanges.
    if (!isStaged && this.#request.ledger === undefined && storedRows + quarantinedRows > 0) {
      await this.#sync.run().catch((error: unknown) => this.#fail(error))
    }
    const context = { store, tables, isStaged, startedAtMs, storedRows, quarantinedRows }
    const failure = await toImportFailure(whenDropped(this.#failure, dataSource.name), context)
    const { byteCount } = this.#request.file
    // A replace drops what it has stored, and a ledger tells its own.
    const isTold = !isStaged && this.#request.ledger === undefined
    const warnings = [...this.#refused.warnings, ...doubtWarnings(isTold ? this.#doubtfulRows : 0)]
    return { storedRows, quarantinedRows, invalidLines: 0, shortLines: 0, failure, warnings, byteCount }
  }

  /** Stores a slice that an earlier process has named, and kept as the file. @throws what it failed with. */
  async settle(block: NamedPlaces, { path }: PartFile): Promise<void> {
    const [range] = block.ranges
    const [kept] = block.parts ?? []
    const { ledger, file } = this.#request
    assert(range !== undefined && kept !== undefined && ledger !== undefined, 'a slice that is kept has its places')
    const { rows: rowCount } = kept.counts
    const slice = { groups: [], range: kept.rowNumbers ?? null, rowCount, byteCount: file.byteCount }
    await ledger.rows.checkRemembered(block)
    const refusedRows = await this.#storeRows({ slice, index: 0, range, path, block })
    ledger.rows.settle(block, { ...kept.counts, refusedRows })
  }

  /** What is stored, of earlier processes too. */
  async #counts(): Promise<Pick<ImportOutcome, 'quarantinedRows' | 'storedRows'>> {
    const { ledger } = this.#request
    if (ledger === undefined) return { storedRows: this.#storedRows, quarantinedRows: this.#quarantinedRows }
    try {
      if (this.#failure === null) ledger.checkWhole()
      await ledger.settle()
    } catch (error) {
      this.#fail(error)
    }
    return ledger.counts
  }

  /** The first thing that goes wrong is the import's failure; other slices that are under way are ended. */
  async #attempt(task: SliceTask): Promise<void> {
    try {
      await this.#load(task)
    } catch (error) {
      this.#fail(toParquetFailure(error))
    } finally {
      await this.#store.discard([{ path: task.path, byteCount: 0 }])
      this.#places.release()
    }
  }

  #fail(error: unknown): void {
    this.#failure ??= error instanceof Error ? error : new Error(String(error))
  }

  async #load(task: SliceTask): Promise<void> {
    const { slice, index, path, range } = task
    if (this.#request.ledger?.rows.stored.covers(range) === true) return
    const startMs = performance.now()
    this.#watcher?.onStatus(index, 'processing')
    await writeSlice({ source: this.#request.file.path, target: path }, this.#request.file.footer, slice)
    const block = await this.#name(task)
    if (block === null) return
    this.#watcher?.onStatus(index, 'inserting_chunk:0')
    const refusedRows = await this.#storeNamed({ ...task, block })
    if (this.#request.ledger !== undefined) {
      const { rowCount: rows } = slice
      this.#request.ledger.rows.noteStored(block, { ...noCounts, records: rows, rows, refusedRows })
    }
    this.#watcher?.onStatus(index, 'done_inserting_chunk:0')
    this.#watcher?.onParsed(index, {
      parser: 'parquet',
      lines: slice.rowCount,
      quarantinedRows: refusedRows,
      invalidLines: 0,
      emptyLines: 0,
      byteCount: slice.byteCount,
      timeMs: performance.now() - startMs,
    })
    this.#watcher?.onStatus(index, 'done')
  }

  /** Null when its rows are stored; without a ledger nobody asks for the block again. */
  async #name({ range, slice, path }: SliceTask): Promise<NamedPlaces | null> {
    const { ledger } = this.#request
    if (ledger === undefined) return { blockId: createBlockId(), ranges: [range], isSearched: false, changeCount: 0 }
    const { size: byteCount } = await stat(path)
    const counts = { ...noCounts, records: slice.rowCount, rows: slice.rowCount }
    const block = await ledger.rows.claim(range, slice.rowCount, [
      { part: { path, byteCount }, counts, rowNumbers: slice.range },
    ])
    ledger.quarantine.noteEmpty(range, noCounts)
    return block
  }

  async #storeNamed(task: NamedTask): Promise<number> {
    try {
      return await this.#storeRows(task)
    } catch (error) {
      if (!this.#begun.has(task.block.blockId)) this.#request.ledger?.rows.takeBack(task.block)
      else if (isInDoubt(error, this.#partition !== undefined)) this.#doubtfulRows += task.slice.rowCount
      throw error
    } finally {
      this.#begun.delete(task.block.blockId)
    }
  }

  /** Stores the rows of a slice, and gives how many of them went to the quarantine. */
  async #storeRows(task: NamedTask): Promise<number> {
    const { condition } = this.#plan
    // Where no column can have a value there is nothing to insert, and a condition that no row meets.
    const isToCount = this.#expectsRefusedRows || this.#plan.landing.targets.length === 0 || task.block.isSearched
    if (condition !== null && isToCount) return await this.#part(task, condition, null)
    if (condition === null) return await this.#insertOrSearch(task, null, task.slice.rowCount)
    const failure = await this.#insertUnlessRefused(task, condition)
    return failure === null ? 0 : await this.#part(task, condition, failure)
  }

  /**
   * Inserts all rows at once, and gives null; what it failed with when one of them is refused. None is stored then if that was
   * the condition, which is computed for all rows before the first is stored; an expression of the table may say the same.
   */
  async #insertUnlessRefused(task: NamedTask, condition: PartExpression): Promise<unknown> {
    try {
      await this.#insertRows(task, partExpression(`NOT throwIf(NOT ${condition})`), task.slice.rowCount)
      return null
    } catch (error) {
      if (!mayBeOfRows(error)) throw error
      return error
    }
  }

  /** `failure` is what the INSERT of all rows failed with; null when there was none. */
  async #part(task: NamedTask, condition: PartExpression, failure: unknown): Promise<number> {
    const { slice, path } = task
    const asked = { layout: this.#plan.landing, condition, range: rangeOf(slice) }
    const refusedRows = await this.#store.parquet.countRefused(path, asked)
    const takenRows = slice.rowCount - refusedRows
    this.#expectsRefusedRows = refusedRows > 0
    if (refusedRows === 0 && failure !== null) return await this.#search(task, null, { rowCount: takenRows, failure })
    // First: so no row is stored without those set aside around it, whatever ends the import.
    if (refusedRows > 0) {
      await this.#insertRefused(task, partExpression(`NOT ${condition}`), refusedRows)
      this.#quarantinedRows += refusedRows
    }
    const searchedRows = takenRows > 0 ? await this.#insertOrSearch(task, condition, takenRows) : 0
    return refusedRows + searchedRows
  }

  /** Gives how many of these rows the table refuses by itself: they are in the quarantine. */
  async #insertOrSearch(task: NamedTask, condition: PartExpression | null, rowCount: number): Promise<number> {
    if (task.block.isSearched) return await this.#search(task, condition, { rowCount, failure: refusedBefore() })
    try {
      await this.#insertRows(task, condition, rowCount)
      return 0
    } catch (error) {
      if (!mayBeOfRows(error)) throw error
      return await this.#search(task, condition, { rowCount, failure: error })
    }
  }

  async #search(
    task: NamedTask,
    condition: PartExpression | null,
    { rowCount, failure }: { readonly rowCount: number; readonly failure: unknown },
  ): Promise<number> {
    const { block } = task
    if (!block.isSearched) await this.#request.ledger?.rows.noteSearched(block)
    const source = { ...(await this.#sourceOf(task, condition)), rowCount }
    const found = await this.#refused.store(source, failure, block.blockId)
    this.#storedRows += found.storedRows
    this.#quarantinedRows += found.refusedRows
    if (found.failure !== null) {
      const { storedRows, refusedRows } = found
      this.#request.ledger?.rows.notePartly({ rows: storedRows + refusedRows, refusedRows })
      throw found.failure
    }
    return found.refusedRows
  }

  async #insertRows(task: NamedTask, condition: PartExpression | null, rowCount: number): Promise<void> {
    const bounds = await this.#body.boundCut(this.#partition, rowCount)
    const request = {
      table: this.#tables.landing,
      layout: this.#plan.landing,
      rowCount,
      blockId: task.block.blockId,
      outlivesViews: true,
      ...bounds,
    }
    try {
      await this.#insert(task, request, condition)
      this.#storedRows += rowCount
    } catch (error) {
      if (areStored(error)) this.#storedRows += rowCount
      throw error
    }
  }

  async #insertRefused(task: NamedTask, condition: PartExpression, rowCount: number): Promise<void> {
    const blockId = `${task.block.blockId}-q`
    const request = { table: this.#tables.quarantine, layout: this.#plan.quarantine, rowCount, blockId }
    await this.#insert(task, request, condition)
  }

  async #insert(
    task: NamedTask,
    request: Pick<AppendRequest, 'blockId' | 'layout' | 'outlivesViews' | 'partition' | 'rowCount' | 'table'>,
    condition: PartExpression | null,
  ): Promise<void> {
    const source = await this.#sourceOf(task, condition)
    const onBegun = (): void => void this.#begun.add(task.block.blockId)
    await this.#store.append({ ...request, ...source, leftBy: this.#leftBy, isToldLate: true, onBegun })
  }

  /** The store removes the file of an append, and the slice may be needed again. */
  async #sourceOf({ slice, path }: SliceTask, condition: PartExpression | null) {
    const part = this.#store.newPartPath()
    await link(path, part)
    const conditions = [rangeOf(slice), condition].filter((text) => text !== null)
    return {
      parts: [{ path: part, byteCount: slice.byteCount }],
      parquet: { condition: conditions.length === 0 ? null : partExpression(conditions.join(' AND ')) },
    }
  }
}

/** The engine counts the rows of a file from 0. */
function rangeOf({ range }: ParquetSlice): PartExpression | null {
  if (range === null) return null
  return partExpression(`_row_number >= ${range.start} AND _row_number < ${range.end}`)
}
