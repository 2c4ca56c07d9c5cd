import type { SelectStream } from '../store/store.types.ts'
import type { CheckNode } from './check-node.ts'

/** Answers SQL over data sources; every read of a user passes here. */
export interface Query {
  /** Resolves names, splits off FORMAT and runs the query. Raises errors of the error table (400, 404, 408). */
  run(request: QueryRequest): Promise<QueryAnswer>
  /** Judges a node before it is saved. */
  readonly checkNode: CheckNode
}

export interface QueryRequest {
  readonly sql: string
  /** Output settings that the client asked for, e.g. `output_format_json_quote_64bit_integers`. */
  readonly settings: Readonly<Record<string, string | number>>
  readonly signal: AbortSignal
}

export interface QueryAnswer {
  /** The ClickHouse format that the answer is in; JSON when the query names none. */
  readonly format: string
  readonly contentType: string
  readonly body: SelectStream
}
