/**
 * A block of an import that its table refuses for some of its rows: finds these, sets them aside, and stores the others.
 *
 * The engine takes an INSERT partition by partition, so some partitions of the block may be stored when a sorting key fails in a
 * later one. Which they are, a table of the same definition tells: the same INSERT stores the same partitions in it. Their rows
 * are stored and counted, and left out of what follows, so no row is stored twice, and none without being counted.
 *
 * The block's fields are copied into a table by their numbers, where pieces of any size are cheap to try; nothing is held in
 * memory. All blocks of one import share the trials: when they are used up, it ends with the error of the engine, and what was
 * not tried to its end is neither stored nor set aside.
 */

import type { DataSource } from '../../catalog/data-source.types.ts'
import { partExpression } from '../../codec/arrow/part-expression.ts'
import type { PartField, PartLayout } from '../../codec/arrow/part-layout.types.ts'
import { quoteName } from '../../shared/text-escapes.ts'
import { withoutInternals } from '../../store/engine-message.ts'
import type { AppendRequest, PartitionBound, Store } from '../../store/store.types.ts'
import type { ImportTables } from '../ingest-plan.ts'
import { createBlockId } from './block-id.ts'
import { mayBeOfRows } from './insert-failure.ts'
import type { BodyPartitions } from './partition-limits.ts'
import { isPlainTable } from './plain-table.ts'
import { searchedSuffix, trialSuffix, withTableLike } from './poison-rows.ts'
import { type SearchedRows, searchRefusedRows } from './refused-rows.ts'
import { conditionOfRanges, type RowRange, rangesOf } from './row-ranges.ts'

/** Trials of one import, some milliseconds each: its sender waits, and others do not wait for it. */
const trialsMax = 4_000
/** And what they may take together: a trial of rows of a thousand partitions takes seconds. */
const searchTimeMaxMs = 60_000
/** Rows whose partitions are read at once. */
const rowsAtOnce = 50_000

type RefusedBlocksStore = Pick<
  Store,
  'append' | 'discard' | 'partitions' | 'partitionsByRow' | 'tables' | 'trials' | 'views'
>

export interface RefusedBlocksDeps {
  readonly store: RefusedBlocksStore
  readonly body: BodyPartitions
  /** See `AppendRequest.leftBy`. */
  readonly leftBy: AbortSignal | undefined
}

export interface BlockTarget {
  readonly dataSource: DataSource
  readonly tables: ImportTables
  /** How values become columns of the table. */
  readonly landing: PartLayout
  readonly partition: PartitionBound | undefined
  /** All that a part has. */
  readonly fields: readonly PartField[]
  /** How they become rows of the quarantine. */
  readonly quarantine: PartLayout
  readonly isParquet: boolean
}

export interface SearchedBlock {
  readonly storedRows: number
  readonly refusedRows: number
  /** Why rows are neither stored nor set aside; null when all are. */
  readonly failure: unknown
}

type Source = Pick<AppendRequest, 'parquet' | 'parts' | 'rowCount'>

export class RefusedBlocks {
  readonly warnings: string[] = []
  readonly #deps: RefusedBlocksDeps
  readonly #target: BlockTarget
  readonly #counts = { tried: 0, taken: 0 }
  #searchedMs = 0
  /** Blocks are searched one after another. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(deps: RefusedBlocksDeps, target: BlockTarget) {
    this.#deps = deps
    this.#target = target
  }

  /**
   * Stores what can be stored of a block that an append refused with `failure`, and removes its parts. The same block may be
   * stored again under the same `blockId`: its rows, and those set aside, have names made of it.
   * @throws what an append failed with before anything more was stored.
   */
  async store(source: Source, failure: unknown, blockId: string = createBlockId()): Promise<SearchedBlock> {
    const run = this.#last.then(() => this.#searchWhole(source, failure, blockId))
    this.#last = run.catch(() => undefined)
    try {
      return await run
    } finally {
      await this.#deps.store.discard(source.parts)
    }
  }

  async #searchWhole(source: Source, failure: unknown, blockId: string): Promise<SearchedBlock> {
    const { store } = this.#deps
    const { dataSource, tables, landing, partition, isParquet } = this.#target
    // What views have by then nobody can tell.
    const { views } = await store.views.graph()
    if (views.some((view) => view.source === tables.landing)) throw failure
    const prefix = `${dataSource.id}_${createBlockId().replaceAll('-', '')}`
    const trial = `${prefix}${trialSuffix}`
    const like = { dataSource, like: tables.landing, table: trial }
    // Slices of a Parquet file are cut by partitions: some of its INSERTs are stored, and the one that failed is not.
    const cut = isParquet && partition !== undefined ? { partition } : {}
    const stored = await withTableLike(store.tables, { ...like, keeps: 'same' }, async () => {
      await this.#appendRefused({ ...source, ...cut, table: trial, layout: landing }, failure)
      return await this.#partitionsOf(trial)
    })
    const table = `${prefix}${searchedSuffix}`
    return await this.#withRows(source, table, async () => {
      const { rowCount } = source
      const found = await this.#search({ table, rowCount, like })
      return await this.#storeOthers({ table, rowCount, stored, blockId }, found, failure)
    })
  }

  /** What is taken now failed for another reason than its rows. */
  async #appendRefused(request: Omit<AppendRequest, 'blockId'>, failure: unknown): Promise<void> {
    try {
      await this.#append({ ...request, keepsParts: () => true, isTrial: true })
    } catch (error) {
      if (!mayBeOfRows(error)) throw error
      return
    }
    throw failure
  }

  async #append(request: Omit<AppendRequest, 'blockId'>, blockId: string = createBlockId()): Promise<void> {
    const { store, leftBy } = this.#deps
    await store.append({ ...request, blockId, leftBy, isToldLate: true })
  }

  /** Texts of the partitions that a table has rows of. */
  async #partitionsOf(table: string): Promise<ReadonlySet<string>> {
    const { partition } = this.#target
    if (partition === undefined) return new Set()
    return await this.#deps.store.partitions.keyTexts(table, partition.key)
  }

  /** Runs `use` while a table has the fields of the rows, by their numbers. */
  async #withRows<Result>(source: Source, table: string, use: () => Promise<Result>): Promise<Result> {
    const { store } = this.#deps
    const { fields } = this.#target
    const number = rowNumberOf(fields)
    await store.tables.createForFields(table, { number, fields })
    try {
      const targets = [
        { column: number, expression: partExpression('rowNumberInAllBlocks()') },
        ...fields.map(({ name }) => ({ column: name, expression: partExpression(quoteName(name)) })),
      ]
      await this.#append({ ...source, table, layout: { fields, targets }, keepsParts: () => true })
      return await use()
    } finally {
      await store.tables.drop(table)
    }
  }

  /** As for events: a table that keeps nothing shows what a DEFAULT refuses, one like the original what a key does, of the rest. */
  async #search({ table, rowCount, like }: Search): Promise<SearchedRows> {
    const { store } = this.#deps
    const { dataSource, landing } = this.#target
    const computes = !isPlainTable(dataSource)
    const refused: number[] = []
    const undecided: number[] = []
    for (const keeps of ['nothing', 'same'] as const) {
      const known = new Set([...refused, ...undecided])
      const left = rangesOf(known)
      const trials = {
        insert: async (numbers: readonly number[]) => {
          const source = this.#rowsOf(table, { among: pieceOf(numbers), without: left })
          const request = { ...source, table: like.table, layout: landing, rowCount: numbers.length, isTrial: true }
          await this.#timed(() => this.#append(request))
        },
        insertBlank: () => store.trials.insertBlankRow(like.table, dataSource.columns, { computes }),
      }
      const candidates = Array.from({ length: rowCount }, (_, number) => number).filter((number) => !known.has(number))
      const found = await withTableLike(store.tables, { ...like, keeps }, () =>
        searchRefusedRows(trials, candidates, { counts: this.#counts, trialsMax }),
      )
      for (const row of found.refused) refused.push(row)
      for (const row of found.undecided) undecided.push(row)
    }
    // Where not one piece was taken the definition is at fault, and no row.
    const isVain = undecided.length > 0 && this.#counts.taken === 0
    return isVain ? { refused: [], undecided: [...refused, ...undecided] } : { refused, undecided }
  }

  async #timed(run: () => Promise<void>): Promise<void> {
    const startMs = performance.now()
    try {
      await run()
    } finally {
      this.#searchedMs += performance.now() - startMs
      if (this.#searchedMs > searchTimeMaxMs) this.#counts.tried = trialsMax
    }
  }

  /** Rows of the table that has the fields, and how they become values. */
  #rowsOf(from: string, { among = [], without = [] }: ChosenRanges) {
    const { fields, isParquet } = this.#target
    const number = quoteName(rowNumberOf(fields))
    const conditions = among.length === 0 ? [] : [conditionOfRanges(number, among)]
    const [piece] = among
    const inside = without.filter(({ start, end }) => piece === undefined || (start < piece.end && end > piece.start))
    if (inside.length > 0) conditions.push(`NOT ${conditionOfRanges(number, inside)}`)
    return {
      from,
      parts: [],
      ...(conditions.length === 0 ? {} : { fromRows: partExpression(conditions.join(' AND ')) }),
      ...(isParquet ? { parquet: { condition: null } } : {}),
    }
  }

  async #storeOthers(
    block: CopiedBlock,
    { refused, undecided }: SearchedRows,
    failure: unknown,
  ): Promise<SearchedBlock> {
    const { tables, quarantine } = this.#target
    const without = rangesOf([...refused, ...undecided])
    const before = await this.#storedBefore(block, without)
    const restRows = block.rowCount - refused.length - undecided.length - before.otherRows
    let storedRows = before.storedRows
    let refusedRows = 0
    try {
      if (restRows > 0) await this.#storeRest(block, { without, rowCount: restRows })
      storedRows += restRows
      await this.#deps.body.checkAdded(restRows)
      if (refused.length > 0) {
        const { parquet: _, ...source } = this.#rowsOf(block.table, { among: rangesOf(refused) })
        const request = { table: tables.quarantine, layout: quarantine, rowCount: refused.length }
        await this.#append({ ...source, ...request }, `${block.blockId}-p`)
        refusedRows = refused.length
        this.warnings.push(warningOf(refusedRows, failure))
      }
    } catch (error) {
      return { storedRows, refusedRows, failure: error }
    }
    return { storedRows, refusedRows, failure: undecided.length > 0 ? failure : null }
  }

  async #storeRest({ table, stored, blockId }: CopiedBlock, { without, rowCount }: RestRows): Promise<void> {
    const { tables, landing, partition } = this.#target
    const { body } = this.#deps
    const bounds = await body.boundInsert(partition, rowCount)
    const cut = bounds.partition ?? partition
    const others =
      cut === undefined || stored.size === 0
        ? {}
        : { partition: { ...cut, partitionsMax: Number.MAX_SAFE_INTEGER, looksAlways: true, leftOut: stored } }
    const source = this.#rowsOf(table, { without })
    const request = { ...source, ...bounds, ...others, table: tables.landing, layout: landing, rowCount }
    await this.#append(request, `${blockId}-o`)
  }

  /** The rows in partitions that the INSERT which failed has stored, and those of them that are in none of the ranges. */
  async #storedBefore({ table, rowCount, stored }: CopiedBlock, without: readonly RowRange[]) {
    const { tables, landing, partition } = this.#target
    let storedRows = 0
    let otherRows = 0
    if (partition === undefined || stored.size === 0) return { storedRows, otherRows }
    let next = 0
    for (let start = 0; start < rowCount; start += rowsAtOnce) {
      const end = Math.min(rowCount, start + rowsAtOnce)
      const source = this.#rowsOf(table, { among: [{ start, end }] })
      const request = { ...source, table: tables.landing, layout: landing, rowCount: end - start, blockId: 'none' }
      const names = await this.#deps.store.partitionsByRow({ ...request, partition })
      for (const [index, { name }] of names.entries()) {
        while ((without[next]?.end ?? Number.POSITIVE_INFINITY) <= start + index) next += 1
        if (!stored.has(name)) continue
        storedRows += 1
        if (start + index < (without[next]?.start ?? Number.POSITIVE_INFINITY)) otherRows += 1
      }
    }
    return { storedRows, otherRows }
  }
}

interface Search {
  /** Has the fields of the rows. */
  readonly table: string
  readonly rowCount: number
  readonly like: { readonly dataSource: DataSource; readonly like: string; readonly table: string }
}

interface CopiedBlock {
  /** Has the fields of the rows. */
  readonly table: string
  readonly rowCount: number
  /** Partitions that are stored. */
  readonly stored: ReadonlySet<string>
  readonly blockId: string
}

interface RestRows {
  readonly without: readonly RowRange[]
  readonly rowCount: number
}

interface ChosenRanges {
  readonly among?: readonly RowRange[]
  readonly without?: readonly RowRange[]
}

/** What stands for the failure of a block that an earlier process has found to be refused. */
export function refusedBefore(): Error {
  return new Error('the database refused rows of the block before the service started anew')
}

/** Candidates follow one another but for those that are known already. */
function pieceOf(numbers: readonly number[]): readonly RowRange[] {
  const start = numbers[0] ?? 0
  return [{ start, end: (numbers.at(-1) ?? start) + 1 }]
}

/** A name that no field has. */
function rowNumberOf(fields: readonly PartField[]): string {
  const names = new Set(fields.map(({ name }) => name))
  let name = '__row'
  while (names.has(name)) name += '_'
  return name
}

function warningOf(rowCount: number, failure: unknown): string {
  const reason = failure instanceof Error ? withoutInternals(failure.message) : String(failure)
  return `The database refused ${rowCount === 1 ? '1 row, which is' : `${rowCount} rows, which are`} in quarantine: ${reason}`
}
