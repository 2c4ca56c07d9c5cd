import type { ReadRules } from '../sql/read-scope.types.ts'
import type { ResourceKind, ScopeType } from './scopes/scope-types.ts'

/** One right of a token, with the name of its resource looked up. */
export interface Grant {
  readonly type: ScopeType
  /** The id of what exists, or the name of what does not exist yet; null for all of its kind. */
  readonly resource: string | null
  /** A condition on rows; null for all rows. */
  readonly filter: string | null
  /** Values of parameters that a JWT sets; null for none. */
  readonly fixedParameters: ReturnType<ReadRules['fixedParametersOf']>
}

/** What a request names, and what has the name now. */
export interface NamedResource {
  /** As the caller wrote it. */
  readonly name: string
  /** Undefined for nothing. */
  readonly id: string | undefined
  /** Whether the quarantine of the data source is meant. */
  readonly isQuarantine: boolean
}

/** What exists, as far as rights are concerned. */
export interface ResourceLookup {
  /** Undefined for an id that nothing has, and for nodes. */
  kindOf(id: string): ResourceKind | undefined
  /** What a name or an id of this kind stands for. */
  find(kind: ResourceKind, nameOrId: string): NamedResource
}
