import { type JwtScope, readLimit, readName, readScopes } from './jwt-claims.ts'
import { JwtFault } from './jwt-fault.ts'
import { readJwtObject } from './jwt-json.ts'

/** What the body of a request for a token says, or why it is none: a sentence without a capital and a full stop. */
export type JwtRequestBody =
  | {
      readonly kind: 'read'
      /** Null where the body has none. */
      readonly name: string | null
      readonly scopes: readonly JwtScope[]
      readonly perSecondMax: number | null
    }
  | { readonly kind: 'refused'; readonly reason: string }

/** A thousand scopes, and what stands around them. */
const bodyBounds = { depthMax: 16, keysMax: 10_000 }

/**
 * Why a JSON body cannot be that of a token, whichever kind it asks for; null for one that can. What can be read in two ways,
 * such as a key that stands twice, is not read at all.
 */
export function bodyFault(bodyText: string): string | null {
  try {
    readJwtObject(Buffer.from(bodyText), 'the body', bodyBounds)
    return null
  } catch (cause) {
    if (cause instanceof JwtFault) return cause.message
    throw cause
  }
}

/** Reads `{name, scopes, limits}` by the rules of tokens; other members are ignored. The caller bounds the body's size. */
export function readJwtRequest(bodyText: string): JwtRequestBody {
  try {
    const members = readJwtObject(Buffer.from(bodyText), 'the body')
    return { kind: 'read', name: readName(members), scopes: readScopes(members), perSecondMax: readLimit(members) }
  } catch (cause) {
    if (cause instanceof JwtFault) return { kind: 'refused', reason: cause.message }
    throw cause
  }
}
