import { timingSafeEqual } from 'node:crypto'
import { type ApiError, errors } from '../shared/errors/errors.ts'
import type { ReadScope } from '../sql/read-scope.types.ts'
import { adminScope } from './admin-scope.ts'
import type { Operation } from './operations.ts'

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
  /**
   * The error (403) for a caller who may not do this; null where he may.
   *
   * @param resource name or id; null for what is about no single one, and where the request names none: only who may do it to
   *   all of that kind may do it then.
   */
  refusalOf(caller: Caller, operation: Operation, resource: string | null): ApiError | null
  /** What the queries of a caller may read. */
  readScopeOf(caller: Caller): ReadScope
}

export interface AccessOptions {
  readonly adminToken: string
}

/** The one question in front of every route of the API. */
export function createAccess({ adminToken }: AccessOptions): Access {
  const isAdminToken = comparer(adminToken)
  const admin: Verdict = { isAllowed: true, caller: { kind: 'admin', tokenName: 'admin' } }
  return {
    verify(tokenText) {
      if (tokenText === undefined || tokenText === '') return { isAllowed: false, error: errors.TOKEN_MISSING() }
      if (isAdminToken(tokenText)) return admin
      return { isAllowed: false, error: errors.TOKEN_INVALID() }
    },
    refusalOf({ kind }) {
      switch (kind) {
        case 'admin':
          return null
      }
    },
    readScopeOf({ kind }) {
      switch (kind) {
        case 'admin':
          return adminScope
      }
    },
  }
}

/**
 * Compares texts with `secret` in a time that does not depend on where they differ. Without a digest of each, which cost 3 %
 * of a single event.
 */
function comparer(secret: string): (text: string) => boolean {
  const expected = Buffer.from(secret)
  // Room for one character more, however many bytes it has: a longer text differs.
  const padded = Buffer.concat([expected, Buffer.alloc(4)])
  const given = Buffer.alloc(padded.length)
  return (text) => {
    given.fill(0)
    const byteCount = given.write(text)
    return timingSafeEqual(given, padded) && byteCount === expected.length
  }
}
