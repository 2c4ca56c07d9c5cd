import type { ApiError } from '../shared/errors/errors.ts'
import type { Grant, ResourceLookup } from './grant.types.ts'
import type { Warrant } from './warrant.types.ts'

export interface Refusal {
  readonly error: ApiError
  /** Whether the token is right, but another workspace's. */
  readonly isOfOtherWorkspace?: boolean
}

/** A token that was found to be right. Another object whenever anything of it has changed. */
export interface KnownToken {
  readonly id: string | null
  /** See `Caller`. */
  readonly makerId: string
  readonly name: string
  /** Epoch milliseconds; null for one that does not expire. */
  readonly expiresAt: number | null
  /** Its rights, as things are now: names are looked up when this is asked. */
  grants(lookup: ResourceLookup): readonly Grant[]
  /** Counts a request of it; null when it may go on. */
  take(): Refusal | null
}

/** What knows tokens of one kind. */
export interface TokenSource {
  /** A greater number whenever a token may be another one, or none. */
  readonly version: number
  /** Undefined for a text that is none of its tokens. Tells nothing by its time. */
  find(text: string): KnownToken | Refusal | undefined
  /** Precondition: it is one of its own. */
  warrantOf(token: KnownToken): Warrant
  /** Undefined for a warrant of another kind. */
  findWarranted(warrant: Warrant): KnownToken | Refusal | undefined
}
