import type { CompiledQuery } from '../sql/compile-query.ts'
import type { ReadScope } from '../sql/read-scope.types.ts'
import type { RunWatch } from '../store/store.types.ts'
import type { Rendering } from './rendering.ts'

/** What is wrong with a query, whatever its pipes are. */
export interface AloneFault {
  readonly thrown: unknown
  /** What was tried. */
  readonly plan: CompiledQuery
}

/** A plan that is to run. */
export interface Run {
  readonly plan: CompiledQuery
  /** What stands before the query; absent is nothing. */
  readonly prefix?: string
  /** What stands behind it; absent is nothing. */
  readonly suffix?: string
  readonly rendering: Rendering
  /** Of whoever asks. */
  readonly readScope: ReadScope
  /** Whether the caller wrote it, and not a pipe's author. */
  readonly isOfAuthor?: boolean
  /** Tries the caller's text without the pipes that it reads; absent where there is none. */
  readonly tryAlone?: (() => Promise<AloneFault | null>) | undefined
  readonly format: string
  readonly settings: Readonly<Record<string, string | number>>
  /** Null keeps no answer. */
  readonly cacheTtlSeconds: number | null
  /** Longest run; absent is that of common queries. */
  readonly timeMaxMs?: number | undefined
  /** Told when it runs in the engine; absent where nobody asks. */
  readonly watch?: RunWatch | undefined
  /** See `SelectQuery.owner`. */
  readonly owner?: string | undefined
  readonly signal: AbortSignal
}
