import type { CompiledQuery } from '../sql/compile-query.ts'
import type { ReadScope } from '../sql/read-scope.types.ts'
import type { RunWatch } from '../store/store.types.ts'
import type { Rendering } from './rendering.ts'

/** What is wrong with a query whatever its pipes, or the values of its secrets, are: it has nothing of either. */
export interface FaultAlone {
  readonly thrown: unknown
  /** What was tried. */
  readonly plan: CompiledQuery
  /** What stood before it; absent is nothing. */
  readonly prefix?: string
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
  readonly tryAlone?: (() => Promise<FaultAlone | null>) | undefined
  /** Tries it with stand-ins for its secrets; null where that does not fail in the same way. */
  readonly tryWithStandIns?: ((thrown: unknown) => Promise<FaultAlone | null>) | undefined
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
