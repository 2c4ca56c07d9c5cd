import type { Part, PartFile } from '../codec/arrow/part.types.ts'
import type { PartExpression } from '../codec/arrow/part-expression.ts'
import type { PartLayout, PartTarget } from '../codec/arrow/part-layout.types.ts'
import type { EngineCounts, EngineState } from '../metrics/service-state.types.ts'
import type { CheckedExpression, CheckedQuery } from '../schema/expressions/checked-text.types.ts'
import type { AppendGate } from './append-gate.ts'
import type { Comparisons } from './comparisons.types.ts'
import type { Pins } from './pins.types.ts'
import type { Quarantines, Replays } from './quarantines.types.ts'
import type { RowDeletes } from './row-deletes.types.ts'
import type { ServiceTables } from './service-tables.types.ts'
import type { StoreError } from './store-error.ts'
import type { Partitions, Parts, Tables, Trials, Views } from './tables.types.ts'

/**
 * The only module that speaks to ClickHouse, as one interface over the embedded engine and, later, a server: verbs with typed
 * results. Names of tables are given unquoted; `store` quotes them. Texts that callers wrote come as checked texts, which
 * `schema` and `sql` make; whole statements come from `query` alone (`Reads`).
 */
export interface Store extends Reads, Appends, Copies, LocalFiles {
  /** Another number after every statement that may have made, changed or dropped a table other than a pin, or a view; from 0 at the start. */
  readonly definitionVersion: number
  readonly tables: Tables
  readonly partitions: Partitions
  readonly parts: Parts
  readonly pins: Pins
  readonly comparisons: Comparisons
  readonly views: Views
  readonly trials: Trials
  readonly quarantines: Quarantines
  readonly replays: Replays
  readonly rowDeletes: RowDeletes
  close(timeMaxMs?: number): Promise<void>
}

/** Queries of users. */
export interface Reads {
  /**
   * Streams the answer of a user's query in `format`, read by a restricted reader. The whole result is never held.
   *
   * Raises `StoreError` before the first byte when the query cannot run to its end. The stream can be read once; whoever
   * does not read it to its end leaves its loop or aborts the signal, as a large result holds a file until then.
   */
  select(query: SelectQuery): Promise<SelectStream>
  /**
   * How the engine reads a query, as `EXPLAIN QUERY TREE run_passes=0` tells it: a tree of lines, indented by two blanks.
   * Nothing of the query runs, scalar subqueries and table functions included. Raises `StoreError`.
   *
   * @param sql as for `select`.
   */
  queryTree(sql: CheckedQuery, signal: AbortSignal, owner?: string): Promise<string>
}

/** Rows that come in. */
export interface Appends {
  /**
   * Appends encoded parts by one INSERT of one block, all of it or nothing; more only where `partition` asks for it. Resolves when the engine has the rows; a block
   * id that it has had before resolves without a change. Raises `StoreError`.
   */
  append(request: AppendRequest): Promise<void>
  /** Appends what a query gives, as one block too, with all that holds for an append. Raises `StoreError`. */
  fill(request: FillRequest): Promise<void>
  /**
   * Resolves when no append into these tables runs any more whose caller was told that it is late (`isToldLate`): before that,
   * its rows may still come.
   */
  untilAppended(tables: readonly string[]): Promise<void>
  /**
   * The partition of each row of one part, in order, as `PartitionBound.judge` is told it, and beside it what `tag`, an
   * expression over the fields of the part, gives as a text. Nothing is inserted. Raises `StoreError`.
   */
  partitionsByRow(request: AppendRequest, tag?: PartExpression): Promise<readonly RowPartition[]>
  /** Writes the rows that an append takes of a table into a part, for an append that `isNative`. Raises `StoreError`. */
  writeRows(rows: TableRows): Promise<PartFile>
}

/** Rows that go from table to table. */
export interface Copies {
  /**
   * Fills a table out of another by one INSERT … SELECT, without deduplication, a few at a time beside everything else. Raises `StoreError`; what was inserted before stays in the table.
   */
  copy(request: CopyRequest): Promise<void>
  /** The same with what a query gives, such as that of a view. */
  copyQuery(request: QueryCopyRequest): Promise<void>
  /**
   * Gives each pair of tables each other's content. A reader's query that begins after this has resolved sees it in all of
   * them, one that ended before in none, and those in between are few: new ones wait meanwhile, and those that run get a
   * moment to end. Each table changes at once for whoever reads it.
   *
   * Raises `StoreError`; some of the pairs may be exchanged then.
   */
  exchange(pairs: readonly TablePair[]): Promise<void>
}

/**
 * What depends on the engine and the service having one file system: files of parts, Parquet files, the sync of the disk. An
 * adapter for a server on another machine has other ways for these.
 */
export interface LocalFiles {
  /** An absolute path for a part that someone else writes; no file has it, or will get it from another call. */
  newPartPath(): string
  /** Removes the files of parts that are not to be appended. */
  discard(parts: readonly Part[]): Promise<void>
  /**
   * Resolves when every append that had resolved before the call outlives a power cut, deduplication records and the rows
   * of its views included. Tens of milliseconds. Raises an error when the disk refused; it may be tried again.
   */
  sync(): Promise<void>
  /** Reads callers' Parquet files. */
  readonly parquet: ParquetFiles
}

/**
 * Reads of a caller's Parquet file by its path, each within the limits of an INSERT; who cannot wait is told in time when
 * reading cannot be stopped. Raise `StoreError`.
 */
export interface ParquetFiles {
  /** The columns as the engine reads them, in order. */
  columns(path: string): Promise<readonly ParquetFileColumn[]>
  /** The first rows as JSON has them. */
  firstRows(path: string, columns: readonly ShownColumn[], rowCount: number): Promise<readonly ParquetRow[]>
  /** How many rows there are for which a condition is not true. */
  countRefused(path: string, refused: RefusedRows): Promise<number>
}

export interface ParquetFileColumn {
  readonly name: string
  readonly type: string
}

/** A column of a Parquet file, the type by which it is read, and the value that is shown of it. */
export interface ShownColumn {
  readonly name: string
  readonly typeText: string
  readonly value: PartExpression
}

export type ParquetRow = Readonly<Record<string, unknown>>

export interface RefusedRows {
  readonly layout: PartLayout
  readonly condition: PartExpression
  /** A condition on the numbers of the rows; null looks at all. */
  readonly range: PartExpression | null
}

/** A store whose engine is a process of its own, which may end by itself and is started again then. */
export interface SupervisedStore extends Store {
  /**
   * Why readers and INSERTs cannot run, as a clause that begins with "it"; null when they can: the engine runs and gives signs of life, what
   * an engine that ended has left is mended, sessions are free.
   */
  readonly unreadyReason: string | null
  /** What is known of the engine without asking it. */
  engineState(): EngineState
  /** What readers' statements have used since the start; it asks the system, and not the engine. */
  readersUse(): ReadersUse
  /** What the engine says of itself; a short statement that looks at each part of each table. Raises `StoreError`. */
  engineCounts(): Promise<EngineCounts | null>
  /** Where the service tells of its own work. */
  readonly serviceTables: ServiceTables
  /** Which INSERTs may run while the views behind their tables change. */
  readonly gate: AppendGate
  /** Who keeps INSERTs for views from now on. */
  keepBy(keeper: AppendKeeper): void
  /** Resolves when the engine cannot be kept running; the store is of no use then. */
  readonly failed: Promise<Error>
  /**
   * Has `mend` called whenever the engine was started again after it had ended by itself, before readers and INSERTs run.
   * It may use what it is given, and what takes only short statements of the service (`Tables`, `Parts`, `exchange`, `sync`):
   * all else waits for it, as does who waits for that.
   * When it rejects, the engine is started once more.
   */
  onRestart(mend: (engine: RestartedEngine) => Promise<void>): void
}

/** What readers' statements have used, as far as it can be told. Both numbers only grow, but for the end of a process. */
export interface ReadersUse {
  /** Milliseconds that they ran, that of each thread by itself, waits for the disk among it. */
  readonly threadMs: number
  /** What the process of the engine has used for everything; null where there is none, or the system does not tell. */
  readonly engine: { readonly pid: number; readonly processorMs: number } | null
}

/** An engine that was started again, and is not open to readers yet. */
export type RestartedEngine = Pick<Store, 'copy' | 'exchange' | 'queryTree' | 'select' | 'sync' | 'tables' | 'views'>

export interface SelectQuery {
  /** One SELECT without FORMAT and without SETTINGS; every table in it is qualified. */
  readonly sql: CheckedQuery
  readonly format: string
  /** Harmless, allow-listed settings, e.g. `output_format_json_quote_64bit_integers`. */
  readonly settings: Readonly<Record<string, string | number>>
  /**
   * Tells queries apart whose results differ in size. A small result comes faster when it stays in memory, so it is tried
   * there first; a shape whose result was too large for that goes through a file from then on. Absent takes the file.
   */
  readonly shape?: string
  /**
   * Whether the query makes long values out of short ones: to the engine a constant is there once, however many rows repeat
   * it, so the result is not tried in memory.
   */
  readonly hasLongConstants?: boolean
  /** Longest run, up to that of the longest queries (`longQueryTimeMaxMs`); absent is that of common ones. */
  readonly timeMaxMs?: number
  /** Threads that compute it; absent is one, whose answers are the same bytes whatever the load. */
  readonly threads?: number
  /** Told when the query runs; absent where nobody asks. */
  readonly watch?: RunWatch | undefined
  /** Who asks, among those who share the sessions that queries run in; absent is nobody in particular. */
  readonly owner?: string | undefined
  /** Aborting it stops the query in the engine, or ends its stream with a `StoreError` of kind `aborted`. */
  readonly signal: AbortSignal
}

/** Is told that a query begins to run in the engine, and that it has ended, however it did: each once for each run. */
export interface RunWatch {
  /** Whether its threads run only where the processors have nothing else to do, as far as the system lets the engine say so; absent is false. */
  readonly yields?: boolean
  begin(threadCount: number): void
  end(threadCount: number): void
}

export interface SelectStream extends AsyncIterable<Uint8Array> {
  /** All of it, when it is in memory; it may be read in either way then. */
  readonly whole?: Uint8Array
}

export interface AppendRequest {
  readonly table: string
  readonly layout: PartLayout
  /**
   * Arrow IPC streams, each a whole stream by itself; together they are one block of the table. Parts in files are the
   * store's from now on: it removes them when the append has ended, well or not.
   */
  readonly parts: readonly Part[]
  readonly rowCount: number
  /** True when the rows may come in other parts when they are appended again under their token. */
  readonly mayBeCutAnew?: boolean
  /** `insert_deduplication_token` of the block; letters, digits, `-` and `_`, as it names files too. */
  readonly blockId: string
  /**
   * True where the block is kept, so that it can be repeated for a view that lacks it: whoever appends it has passed the gate of the table
   * (`AppendGate`). Otherwise the gate is passed here.
   */
  readonly isKept?: boolean
  /** Bounds the partitions that one INSERT makes parts in; absent sets no bound. */
  readonly partition?: PartitionBound
  /**
   * True stores the rows in the table, and in the views that take them, also when a view does not: the append then rejects
   * with that view's error, which says `areRowsStored`. Otherwise nobody knows whether the table has them.
   */
  readonly outlivesViews?: boolean
  /**
   * True rejects soon behind the limit of time of an INSERT, even where the engine cannot stop it yet: nobody knows then
   * whether its rows are stored, or will be. Otherwise an append that is late rejects when it has ended.
   */
  readonly isToldLate?: boolean
  /**
   * Once it is aborted, an append that has not begun is not begun, and one that does not end soon rejects with the reason: it goes
   * on to its end as one that is late.
   */
  readonly leftBy?: AbortSignal | undefined
  /** Told when the engine is about to get the first INSERT: one that fails before has stored nothing. */
  readonly onBegun?: () => void
  /** True where the table computes next to nothing of a row, as its definition tells; see `InsertPlaces`. */
  readonly isPlain?: boolean
  /** True where the table is dropped soon: what an INSERT that failed leaves in its records is not mended. */
  readonly isTrial?: boolean
  /** A table, unquoted, whose rows are taken instead of parts, which there are none of; the layout speaks of its columns. */
  readonly from?: string
  /** A query whose rows are taken instead of parts: it gives the columns of the layout by their names. */
  readonly query?: CheckedQuery
  /** Threads that compute `query`; absent is one. */
  readonly queryThreads?: number
  /** See `FillRequest`. */
  readonly queryBounds?: QueryBounds | undefined
  /** See `FillRequest`. */
  readonly hasDistinctKeys?: boolean
  /** Whether another try may have stored it. Absent is false. */
  readonly isRepeat?: boolean
  /** How many times the longest run of an INSERT it may take; absent is one. */
  readonly timeTimes?: number
  /** A condition over the columns of `from`; absent takes all of its rows. */
  readonly fromRows?: PartExpression
  /**
   * Asked when the append failed: true leaves the files of its parts to the caller. They are never left where the INSERT is
   * told as late, as it may still read them.
   */
  readonly keepsParts?: (failure: unknown) => boolean
  /** Partitions of one INSERT, here or in a view, beyond which the engine refuses it (TOO_MANY_PARTS); absent sets no bound. */
  readonly insertPartitionsMax?: number
  /** Set when the parts are Parquet files, which the engine reads; absent are Arrow IPC streams. */
  readonly parquet?: ParquetSource
  /** True where the only part is what `writeRows` has written of a table, Parquet's or not. */
  readonly isNative?: boolean
}

/** What an append takes of a table: its `from` and `fromRows`. */
export interface TableRows {
  readonly table: string
  readonly condition: PartExpression | undefined
}

/** An INSERT that is about to run, with the files of its parts. */
export interface WrittenAppend {
  readonly request: AppendRequest
  readonly paths: readonly string[]
}

/** An INSERT that is kept for views which lack it, or until it has ended, as a kill may come into it. */
export interface KeptAppend {
  /** The table has its rows. */
  noteStored(): Promise<void>
  /** It failed, and may have stored some of its rows; `isBegun` is false where the engine got nothing of it. */
  noteFailed(failure: unknown, isBegun: boolean): Promise<void>
}

/** Who keeps INSERTs for the views that do not take them, other than those of events, which the log has. */
export interface AppendKeeper {
  /**
   * Keeps an INSERT that views would lack, now or behind a kill, within the gate; null at once where none sees it. The INSERT waits. `before`
   * is what was kept of it for an earlier try, and what is given takes its place.
   */
  beforeAppend(append: WrittenAppend, before: KeptAppend | null): Promise<KeptAppend | null> | KeptAppend | null
  /** The same for one that a view has just failed at. */
  keepFailed(append: WrittenAppend, failure: StoreError, before: KeptAppend | null): Promise<KeptAppend | null>
  /** Has the view that failed go out of the way, outside of the gate; true when that is done: the INSERT may run again. */
  setAside(append: WrittenAppend, failure: StoreError, kept: KeptAppend | null): Promise<boolean>
  /** The rows are stored past the view that failed, which is not out of the way: it lacks them, and so may others that failed behind it. */
  notePassed(append: WrittenAppend, failure: StoreError, kept: KeptAppend | null): Promise<void>
}

export interface FillRequest extends QueryCopyRequest {
  /** How many rows the query reads, about. */
  readonly rowCount: number
  /** See `AppendRequest`: for the same block the query must give the same rows. */
  readonly blockId: string
  /** Threads that compute the query; with several its rows come in any order. */
  readonly threads: number
  /** Beyond them the fill fails with an error that is `isOverFill`: then it is not stored, by no try. Absent sets none. */
  readonly bounds?: QueryBounds | undefined
  /**
   * Whether no two rows have the same sorting key of the table, and no view is behind it: then the engine need not look for rows that it
   * would merge. Absent is false.
   */
  readonly hasDistinctKeys?: boolean
  /** Whether another try may have stored it. Absent is false. */
  readonly isRepeat?: boolean
}

export interface QueryBounds {
  /** Groups that a thread may make of the rows, with any GROUP BY of the query. */
  readonly groupsMax: number
  /** By when all rows have been read, from the begin of the query; null sets no end. A try that another one came before has none. */
  readonly readTimeMaxMs: number | null
}

export interface ParquetSource {
  /** Which rows are taken, over the fields of the layout; null takes all. */
  readonly condition: PartExpression | null
}

/**
 * Rows of more than `partitionsMax` partitions are appended by several INSERTs, each with its own token out of the block's
 * id; the same rows are always cut in the same way.
 */
export interface PartitionBound {
  /** The table's partition key. */
  readonly key: CheckedExpression
  /** The columns that it may speak of, each as an expression over the fields of the part. */
  readonly columns: readonly PartTarget[]
  /** `Number.MAX_SAFE_INTEGER` never cuts: the token is then the block's id, as without a bound. */
  readonly partitionsMax: number
  /** Told the partitions of the rows, as texts, before anything is inserted; what it throws the append throws. */
  readonly judge?: (names: readonly string[]) => void
  /** True looks at them also where the rows are too few to be cut. */
  readonly looksAlways?: boolean
  /** Partitions, as texts, whose rows are left out; the others are one INSERT then. */
  readonly leftOut?: ReadonlySet<string>
}

export interface RowPartition {
  readonly name: string
  /** Empty when it was not asked for. */
  readonly tag: string
}

export interface CopyRequest {
  readonly table: string
  readonly from: string
  /** The columns that are filled; the others take their defaults. */
  readonly columns: readonly CopiedColumn[]
  /** Absent takes all rows. */
  readonly rows?: RowChoice
}

export interface CopiedColumn {
  readonly name: string
  /** What it is called in the table that is copied from; absent is the same. */
  readonly from?: string
}

export type RowChoice =
  /** Those for which the condition is true. */
  | { readonly kind: 'matching'; readonly condition: CheckedExpression }
  /** All others of these partitions. */
  | { readonly kind: 'others'; readonly condition: CheckedExpression; readonly partitions: readonly string[] }

export interface QueryCopyRequest {
  readonly table: string
  /** The columns that are filled. */
  readonly columns: readonly string[]
  /** Gives these columns by name, or more. */
  readonly query: CheckedQuery
}

export type TablePair = readonly [table: string, other: string]
