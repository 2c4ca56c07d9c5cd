import type { ReadScope } from '../sql/read-scope.types.ts'
import type { RunWatch, SelectStream } from '../store/store.types.ts'
import type { AnswerFormat } from './answer-formats.ts'
import type { CheckFilter } from './check-filter.ts'
import type { CheckAuthor, CheckNode, NamesRead, NodeFault } from './check-node.ts'
import type { FlattenNode } from './flatten-node.ts'
import type { CompareNode } from './node-ways.ts'
import type { ParameterValues } from './rendering.ts'
import type { ReadPipe } from './workspace.types.ts'

/** Answers questions over data sources and pipes; every read of a user passes here. */
export interface Query {
  /**
   * Runs a query that the caller sends: renders it if it is a template, resolves its names, splits off FORMAT. Raises
   * errors of the error table (400, 404, 408, 500, 503).
   */
  run(request: QueryRequest): Promise<QueryAnswer>
  /**
   * Judges a query that is to run later, as far as that can be done without running it, and tells the format of its answer. Raises
   * errors of the error table (400, 403, 404, 500, 503).
   */
  prepare(request: QueryRequest): Promise<AnswerFormat>
  /** Runs the published node of a pipe, or a query over it. Raises errors of the error table (400, 404, 408, 500, 503). */
  readPipe(request: PipeRequest): Promise<QueryAnswer>
  /** What the engine would do for a node. Raises errors of the error table (400, 404, 408, 500, 503). */
  explain(request: ExplainRequest): Promise<Explanation>
  /**
   * The SQL that would run for a query of a caller, in the names of the workspace, row filters included; null where that of pipes
   * would stand in it, and may not be shown. Raises errors of the error table (400, 403, 404).
   */
  show(request: ShowRequest): Promise<string | null>
  /** Judges a node before it is saved. */
  readonly checkNode: CheckNode
  /** Judges who lets a stored node answer for its pipe. */
  readonly checkAuthor: CheckAuthor
  /** What a node that was checked reads by now. */
  readonly namesRead: NamesRead
  /** Judges a filter before a scope is made of it. */
  readonly checkFilter: CheckFilter
  /** Judges a node that is stored. */
  readonly nodeFault: NodeFault
  /** Whether a change of names leaves a node what it was. */
  readonly compareNode: CompareNode
  /** Makes one query of a node and all that it reads. */
  readonly flattenNode: FlattenNode
}

interface Asking {
  /** Values for templates, also for those of all pipes that are read. */
  readonly parameters: ParameterValues
  readonly readScope: ReadScope
  /** Who asks, among those who share the sessions of the engine; a pipe is asked for in its own name. Absent is nobody in particular. */
  readonly owner?: string
  readonly signal: AbortSignal
}

/** Who must see rows that were just acknowledged. */
interface Fresh {
  /**
   * Called with the tables that the query reads, those of pipes among them, before it runs; raises why it can not run. An answer that was
   * kept does not do then.
   */
  readonly untilFresh?: ((tables: readonly string[]) => Promise<void>) | undefined
}

export interface QueryRequest extends Asking, Fresh {
  readonly sql: string
  /** Name or id of the pipe that `_` stands for; null for none. */
  readonly pipeline: string | null
  /** The format when the query names none; null is JSON. */
  readonly format: string | null
  /** Output settings that the client asked for, e.g. `output_format_json_quote_64bit_integers`. */
  readonly settings: Readonly<Record<string, string | number>>
  /** Longest run; absent is that of common queries. */
  readonly timeMaxMs?: number
}

export interface ShowRequest extends Asking {
  readonly sql: string
  /** Whether pipes may be shown that compute with what the reader may not know. */
  readonly mayShowPipes: boolean
}

export interface PipeRequest extends Asking, Fresh {
  /** Name or id. */
  readonly pipe: string
  /**
   * Told of the pipe once the reader may read it and it has a published node, before anything is planned; what it throws refuses the
   * request. What it gives is told when the engine runs the query.
   */
  readonly admit?: (pipe: Pick<ReadPipe, 'id' | 'name'>) => RunWatch | undefined
  /** A query over the pipe, which is `_` in it; null reads all of it. */
  readonly sql: string | null
  /** A format of the engine; the query's own FORMAT does not count. */
  readonly format: string
  readonly settings: Readonly<Record<string, string | number>>
}

export interface ExplainRequest extends Asking {
  /** Name or id. */
  readonly pipe: string
  /** Name or id; null takes the published node, else the last. */
  readonly node: string | null
}

export interface Explanation {
  /** The query that would run, in the names of the workspace. */
  readonly debugQuery: string
  /** The engine's plan, a line for each step. */
  readonly queryExplain: string
}

export interface QueryAnswer {
  /** The ClickHouse format that the answer is in. */
  readonly format: string
  readonly contentType: string
  readonly body: SelectStream
  /** Names of parameters that were given, and that no template of the pipe has. */
  readonly unusedParameters?: readonly string[]
  /** Those that its templates have, where some are unused. */
  readonly parameterNames?: readonly string[]
  readonly times: AnswerTimes
  /** Whether it tells of the service alone: nothing but service data sources was read. */
  readonly isOfService?: boolean
}

/** Where the time before the first byte went. */
export interface AnswerTimes {
  /** Rendering, resolving, checking. */
  readonly resolveMs: number
  /** Null for an answer that was kept. */
  readonly engineMs: number | null
}
