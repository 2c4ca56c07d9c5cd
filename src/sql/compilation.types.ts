import type { CheckedQuery } from '../schema/expressions/checked-text.types.ts'
import type { ParsedQuery, TableRead } from '../schema/syntax/parsed-query.types.ts'
import type { SplicedText } from '../schema/syntax/splice.ts'
import type { Relation } from './plan-weight.ts'
import type { NameScope, OutputColumn, Source } from './source.types.ts'

/** Everything that a query names of the engine. */
export interface EngineReading {
  /** By `database.table`, how often it stands in the query; those of the engine itself are not among them. */
  readonly tables: ReadonlyMap<string, number>
  /** As they were written. */
  readonly functions: ReadonlySet<string>
  readonly tableFunctions: ReadonlySet<string>
  /** Names that WITH gives to queries. */
  readonly commonTables: ReadonlySet<string>
  /** By `database.table`, what the caller calls it. */
  readonly tableNames?: ReadonlyMap<string, string>
}

/** One text of SQL with what its names stand for. */
export interface QueryText {
  readonly sql: string
  readonly scope: NameScope
  /** The node whose text it is; null for the caller's own query. */
  readonly node: string | null
}

/** The same text with everything in its place. */
export interface CompiledText {
  readonly spliced: SplicedText
  readonly dependencies: readonly string[]
  readonly parsed: ParsedQuery
  readonly sources: ReadonlyMap<TableRead, Source>
  /** How many tables it reads, each as often as it is read. */
  readonly readCount: number
  /** By `database.table`, how often it stands in the text. */
  readonly tables: ReadonlyMap<string, number>
  /** What it is to a query that reads it. */
  readonly relation: Relation
}

/** A filter that stands in a query. */
export interface AppliedFilter {
  /** As it was given to the token. */
  readonly filter: string
  /** Whether no value of a hidden row can make the filter, or what it filters, fail. */
  readonly isTotal: boolean
  /** A query over no rows that fails where the filter does not fit what it filters. */
  readonly probe: () => CheckedQuery
}

/** What is known while one query is compiled. */
export interface Compilation {
  /** By `database.table`, the name of the data source. */
  readonly tableNames: Map<string, string>
  /** By the names of the data sources and pipes of which a filter hides rows. */
  readonly filtered: Map<string, AppliedFilter>
  /** The names of what the reader may not know of, and of what has rows that it may not see, as others compute with them. */
  readonly hiddenNames: Set<string>
  /** Those among the filtered with columns of JSON. */
  readonly filteredPaths: Set<string>
  /** The columns that a query gives which has all in its place; undefined while they are not known. */
  readonly outputOf: (sql: string) => readonly OutputColumn[] | undefined
  readonly functions: Set<string>
  readonly tableFunctions: Set<string>
  readonly commonTables: Set<string>
  /** What was put in already, by the ids of the sources. */
  readonly done: Map<string, CompiledText>
  /** The sources around the text that is being compiled. */
  readonly open: { readonly id: string; readonly name: string }[]
  readonly compile: (text: QueryText, compilation: Compilation) => CompiledText
}
