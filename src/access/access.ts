import { hash, timingSafeEqual } from 'node:crypto'
import { type ApiError, errors } from '../shared/errors.ts'

/** Who asks. There is one token so far, and it may do everything. */
export interface Caller {
  readonly kind: 'admin'
  /** For logs: never the token itself. */
  readonly tokenName: string
}

/** The answer to "who are you, and may you": the caller, or the error (403) to be answered. */
export type Verdict =
  | { readonly isAllowed: true; readonly caller: Caller }
  | { readonly isAllowed: false; readonly error: ApiError }

export interface Access {
  /** Judges the token of a request; undefined when it carries none. Takes the same time for every wrong token. */
  verify(tokenText: string | undefined): Verdict
}

export interface AccessOptions {
  readonly adminToken: string
}

/** The one question in front of every route of the API. */
export function createAccess({ adminToken }: AccessOptions): Access {
  const adminDigest = digestOf(adminToken)
  const admin: Verdict = { isAllowed: true, caller: { kind: 'admin', tokenName: 'admin' } }
  return {
    verify(tokenText) {
      if (tokenText === undefined || tokenText === '') return { isAllowed: false, error: errors.TOKEN_MISSING() }
      // Digests are of one length, which `timingSafeEqual` needs, and tell nothing of the token's length by time.
      if (timingSafeEqual(digestOf(tokenText), adminDigest)) return admin
      return { isAllowed: false, error: errors.TOKEN_INVALID() }
    },
  }
}

function digestOf(token: string): Buffer {
  return hash('sha256', token, 'buffer')
}
