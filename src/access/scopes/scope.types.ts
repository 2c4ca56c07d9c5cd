import type { ResourceKind, ScopeType } from './scope-types.ts'

/** One right of a token, as it was asked for: names are not looked up yet. */
export interface ScopeRequest {
  readonly type: ScopeType
  /** The type as it was written, in capitals: what the API tells of it later. */
  readonly spelling: string
  /** Name or id of what it is restricted to; null for all of its kind. */
  readonly resource: string | null
  /** A condition on rows, not checked yet; null for none. */
  readonly filter: string | null
}

/** What a scope is restricted to. */
export type ScopeResource =
  /** Something that exists. It keeps its id when it is renamed, and ids are never given again. */
  | { readonly kind: ResourceKind; readonly id: string }
  /** What does not exist yet: only types with `mayNameFuture`. */
  | { readonly kind: 'future'; readonly name: string }

/** One right of a static token, as it is kept. */
export interface Scope {
  readonly type: ScopeType
  readonly spelling: string
  /** Null for all of its kind. */
  readonly resource: ScopeResource | null
  readonly filter: string | null
}
