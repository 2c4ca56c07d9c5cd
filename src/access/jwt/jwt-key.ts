import { createSigner, createVerifier } from 'fast-jwt'

/** A shorter key could be guessed offline from a token that it signed. */
export const signingKeyBytesMin = 32

/** The UTF-8 bytes of the workspace admin token as the key of HS256, the only algorithm there is. */
export interface SigningKey {
  sign(payload: object): string
  /** Whether this key signed the token. Nothing else of the token is judged. */
  hasSigned(token: string): boolean
}

/** Null for an admin token that signs no JWT: the service then makes none and accepts none, and the start should say so. */
export function openSigningKey(adminToken: string): SigningKey | null {
  if (Buffer.byteLength(adminToken) < signingKeyBytesMin) return null
  const sign = createSigner<object>({ key: adminToken, algorithm: 'HS256' })
  // Times are judged by a clock that is passed in, and by rules that the library does not have.
  const times = { ignoreExpiration: true, ignoreNotBefore: true }
  const verify = createVerifier({ key: adminToken, algorithms: ['HS256'], ...times })
  return { sign: (payload) => sign(payload), hasSigned: (token) => isTaken(verify, token) }
}

/** Whatever the library throws is a token that it does not accept: nothing that it may find is a reason to go on. */
function isTaken(verify: (token: string) => unknown, token: string): boolean {
  try {
    verify(token)
    return true
  } catch {
    return false
  }
}
