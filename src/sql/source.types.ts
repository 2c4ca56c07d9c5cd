import type { ColumnType } from '../schema/types/column-type.types.ts'

/** What a name in a query stands for: a table of the engine, or a query that is put in its place. */
export type Source = TableSource | QuerySource

interface AnySource {
  /** Whether the reader may not know of it, and reads it through a pipe alone; absent is false. */
  readonly isHidden?: boolean
}

export interface TableSource extends AnySource {
  readonly kind: 'table'
  /** Database and table in the engine, unquoted. */
  readonly database: string
  readonly table: string
  /** As messages and `dependencies` name it: the data source's name, not its id. */
  readonly name: string
  /** Every column that a row filter may speak of. */
  readonly columns: readonly string[]
  /** The same columns with their types, where a filter may hide rows. */
  readonly typedColumns?: readonly TypedColumn[]
  /** Those of them that the engine computes where a row has none, as its DEFAULT says; absent is none. */
  readonly computedColumns?: readonly string[]
  /** True for the engine Join, whose rows `joinGet` reads past every filter. */
  readonly isJoin: boolean
  /** False for an engine outside of the MergeTree family, which knows no PREWHERE; absent is what `isJoin` is not. */
  readonly isMergeTree?: boolean
  /** A condition over the columns that every row must meet which the caller reads; null for all rows. */
  readonly filter: string | null
}

export interface TypedColumn {
  readonly name: string
  readonly type: ColumnType
}

/** A column of what a query gives. */
export interface OutputColumn {
  readonly name: string
  /** As the engine writes it. */
  readonly typeText: string
  /** Undefined for one that no table of ours can have. */
  readonly type: ColumnType | undefined
}

export interface QuerySource extends AnySource {
  readonly kind: 'query'
  /** Tells it from every other one: the id of a node. What is read twice is compiled once, and a cycle shows by it. */
  readonly id: string
  /** Tells its texts apart where one query reads it with different values; absent is one text. */
  readonly variant?: string
  /** As messages and `dependencies` name it: a pipe, or a node of the pipe that reads it. */
  readonly name: string
  /** Its SQL, rendered when it is first read, and at most once for a query. May raise what a template raises. */
  readonly sql: () => string
  /** What names in its SQL stand for. */
  readonly scope: NameScope
  /** A condition that every row of it must meet which the caller reads; null or absent for all rows. */
  readonly filter?: string | null
}

/** What the names in one text of SQL stand for. */
export interface NameScope {
  /**
   * By the parts of a name as it was written: `events`, `system.one`, `tinybird.pipe_stats_rt`; by name or id.
   *
   * `denied` is what exists and may not be read by the caller; undefined is nothing at all.
   */
  find(parts: readonly string[]): Source | 'denied' | undefined
  /**
   * What the author of a name that stands for nothing may have meant. It tells of no name that the caller may not read;
   * undefined where there is nothing to advise.
   */
  advise?(parts: readonly string[]): string | undefined
  /** Whether what is denied and what is missing must look the same to whoever asks. */
  readonly isDiscreet?: boolean
  /** Whether the text is none of theirs, and its names are not told to them. */
  readonly isForeign?: boolean
}
