// What the modules above need of tables, as verbs. Names of tables and columns are given unquoted. Every verb raises
// `StoreError` when the engine refuses, ends, or does not answer.

import type { PartField } from '../codec/arrow/part-layout.types.ts'
import type { ColumnDefinition } from '../schema/columns/column-definition.types.ts'
import type {
  CheckedExpression,
  CheckedQuery,
  ColumnClause,
  IndexClause,
  TableDefinition,
} from '../schema/expressions/checked-text.types.ts'

/** Tables of the workspace: what they are made as, changed to, and how many rows they have. */
export interface Tables {
  /** Makes a table unless one has the name. */
  create(table: string, definition: TableDefinition, nature?: DefinitionNature): Promise<void>
  /** Makes an empty table in the place of whatever has the name. */
  recreate(table: string, definition: TableDefinition, nature?: DefinitionNature): Promise<void>
  /** Makes an empty table like another one, in the place of whatever has the name. */
  recreateLike(table: string, like: LikeTable, nature?: DefinitionNature): Promise<void>
  /** Makes a table that can hold the fields of parts, each row with its number; there is none of the name. */
  createForFields(table: string, columns: NumberedFields): Promise<void>
  /** Makes all of the changes or none; each of them may have been made before, but for that of a TTL. */
  alter(table: string, changes: readonly TableChange[], nature?: DefinitionNature): Promise<void>
  /** Drops a table if it is there. No query finds it any more when this resolves. */
  drop(table: string): Promise<void>
  /** Deletes all rows; an engine that keeps none has nothing to do. */
  truncate(table: string): Promise<void>
  /** The tables that are there, views included, or those of these names, from the engine's own bookkeeping. */
  list(names?: readonly string[]): Promise<ReadonlyMap<string, TableState>>
  /** The type of a column as the engine prints it; null when there is no such column. */
  columnType(table: string, column: string): Promise<string | null>
  /** The rows of a table, or those for which the condition is true. */
  countRows(table: string, condition?: CheckedExpression): Promise<number>
}

/** Whether the engine has to compute what a caller wrote, which may take any time; absent is not. */
export interface DefinitionNature {
  readonly computes?: boolean
}

export interface LikeTable {
  /** The table that it has the columns of. */
  readonly like: string
  /**
   * - `same`: all of the other's definition.
   * - `nothing`: keeps no rows, and so shows what a DEFAULT or a type refuses.
   * - `everything`: keeps each row as it comes. The other one must have no key and no TTL, so be of the kind `nothing`.
   * - `pieces`: the same for rows that come in many small pieces, of any other one.
   */
  readonly keeps: 'same' | 'nothing' | 'everything' | 'pieces'
}

export interface NumberedFields {
  /** The column of the numbers, which no field is called. */
  readonly number: string
  readonly fields: readonly PartField[]
}

export type TableChange =
  | { readonly kind: 'add-column'; readonly column: ColumnClause }
  | { readonly kind: 'add-text-column'; readonly name: string; readonly after: string }
  | { readonly kind: 'drop-column'; readonly name: string }
  | { readonly kind: 'add-index'; readonly index: IndexClause }
  | { readonly kind: 'drop-index'; readonly name: string }
  | { readonly kind: 'set-ttl'; readonly ttl: CheckedExpression }
  /** The engine refuses it (BAD_ARGUMENTS) where there is no TTL. */
  | { readonly kind: 'remove-ttl' }

export interface TableStatistics {
  readonly rowCount: number
  readonly byteCount: number
}

export interface TableState extends TableStatistics {
  /** Goes with the content when two tables are exchanged. */
  readonly uuid: string
}

/** Partitions of a table. */
export interface Partitions {
  /** Those that a table has rows in, in the order of their ids. */
  list(table: string): Promise<readonly Partition[]>
  /** Ids of those with rows for which the condition is true. */
  matching(table: string, condition: CheckedExpression): Promise<readonly string[]>
  /** The values that a key has in the rows of a table, each as the text of a tuple, as `PartitionBound.judge` gets them. */
  keyTexts(table: string, key: CheckedExpression): Promise<ReadonlySet<string>>
  /** Deletes the rows of a partition. */
  drop(table: string, id: string): Promise<void>
  /** Adds the rows of a partition to another table of the same columns and keys, which shares the files with it. */
  attach(id: string, move: TableMove): Promise<void>
  /** The same for all partitions of a table. */
  attachAll(move: TableMove): Promise<void>
  /** The same for all rows of a table without partitions, as one part: all of them are added, or none. */
  attachWhole(move: TableMove): Promise<void>
}

export interface Partition {
  readonly id: string
  /** As the engine writes its value. */
  readonly text: string
}

export interface TableMove {
  readonly from: string
  readonly into: string
}

/** The parts that tables consist of, as far as the engine keeps a record of them. */
export interface Parts {
  /** All that have rows, by table. */
  list(): Promise<ReadonlyMap<string, readonly StoredPart[]>>
  /** Names of those of a table that the engine has set aside as broken. */
  broken(table: string): Promise<ReadonlySet<string>>
  /** What the engine calls the last block of a table; later ones have higher numbers. */
  lastBlock(table: string): Promise<number>
  /** The same of several tables, added up. */
  lastBlocks(tables: readonly string[]): Promise<number>
  /** Rows of blocks behind one that are past their TTL, of parts that were never merged. */
  expiredRows(request: ExpiredRowsRequest): Promise<ExpiredRows>
  /** How many of these tables' parts with rows were written since then; epoch seconds. */
  countSince(tables: readonly string[], sinceSeconds: number): Promise<number>
}

export interface StoredPart {
  readonly name: string
  readonly partition: string
  readonly minBlock: number
  readonly maxBlock: number
  readonly rowCount: number
  /** A hash of its files. */
  readonly content: string
}

export interface ExpiredRowsRequest {
  readonly table: string
  readonly afterBlock: number
  /** Whether the table lets go of a part when all of its rows are past the TTL, and not before. */
  readonly dropsWhole: boolean
}

/** The engine notes of each part when its first and its last row expire, so there are bounds. */
export interface ExpiredRows {
  readonly least: number
  readonly most: number
}

/** Materialized views, and the tables between which they stand. */
export interface Views {
  /** Views whose target lies in another database are left out. */
  graph(): Promise<TableGraph>
  /** Names of the views in whose texts this name stands, in order. */
  naming(name: string): Promise<readonly string[]>
  /** Drops a view if it is there, and not the table that it writes into. */
  drop(name: string): Promise<void>
  /** Names of all of them. */
  names(): Promise<readonly string[]>
  /** Makes a view unless one has the name. */
  create(view: NewView): Promise<void>
  /** Whether a view is one that sees the blocks of a table. */
  sees(name: string, table: string): Promise<boolean>
}

export interface NewView {
  readonly name: string
  /** The table that it writes into, which is there. */
  readonly target: string
  readonly query: CheckedQuery
}

export interface TableGraph {
  readonly tables: ReadonlyMap<string, GraphTable>
  readonly views: readonly GraphView[]
}

/** A table that rows can lie in. */
export interface GraphTable {
  readonly name: string
  /** Goes with the content when two tables are exchanged. */
  readonly uuid: string
  /** `MergeTree`, `Join`, `Null`, … */
  readonly engine: string
  /** As the engine prints it; empty when there is none. */
  readonly partitionKey: string
  readonly columns: readonly string[]
}

/** A materialized view: what is inserted into `source` comes to `target` through `select`. */
export interface GraphView {
  readonly name: string
  readonly source: string
  readonly target: string
  /** The engine's own text of the query; its tables are qualified. */
  readonly select: string
  /** What the query gives. */
  readonly columns: readonly string[]
}

/** What is tried before it is used: the engine takes definitions and conditions that no row gets through. */
export interface Trials {
  /**
   * Inserts one row with nothing in it, in columns of full length: every column without a DEFAULT has the first value of its
   * type, the others are left to it.
   */
  insertBlankRow(table: string, columns: readonly ColumnDefinition[], nature?: DefinitionNature): Promise<void>
  /** Has the engine judge a condition over columns of a table as that of a reader, over no rows. */
  judgeCondition(tried: TriedCondition): Promise<void>
  /** Computes the condition, all of its branches, for one row with nothing in it, within the limits of a query. */
  computeCondition(tried: TriedCondition): Promise<void>
  /** The columns that a query gives, by the engine's reading of it, which runs nothing. Raises `StoreError`. */
  describe(query: CheckedQuery): Promise<readonly DescribedColumn[]>
  /** Whether the engine takes states of one type for a column of another, as it keeps both in one form. Raises `StoreError`. */
  takesStates(given: string, column: string): Promise<boolean>
}

export interface DescribedColumn {
  readonly name: string
  /** As the engine writes it. */
  readonly typeText: string
}

export interface TriedCondition {
  readonly table: string
  readonly columns: readonly string[]
  readonly condition: CheckedExpression
}
