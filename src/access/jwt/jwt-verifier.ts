import { hash } from 'node:crypto'
import { BoundedCache, type CacheBounds } from '../../shared/bounded-cache.ts'
import { type JwtClaims, readClaims } from './jwt-claims.ts'
import { JwtFault } from './jwt-fault.ts'
import { gateJwt, jwtCharactersMax } from './jwt-gate.ts'
import { openSigningKey, type SigningKey } from './jwt-key.ts'

/** What is known of a token; reasons are sentences without a capital and a full stop, and quote nothing of the token. */
export type JwtVerdict =
  | AcceptedJwt
  /** Signed by this workspace's key for another workspace. */
  | { readonly kind: 'otherWorkspace'; readonly reason: string }
  | {
      readonly kind: 'refused'
      /** Only then did the reason come after the signature was found right, and may be shown to whoever sent the token. */
      readonly isSigned: boolean
      readonly reason: string
    }

/** The same object for the same text as long as it is cached. */
export interface AcceptedJwt {
  readonly kind: 'accepted'
  /** The same for the same text, another one for every other, and no secret: for `JwtRates`, caches and logs. */
  readonly id: string
  readonly claims: JwtClaims
}

export interface JwtVerifierOptions {
  readonly workspaceId: string
  /** Epoch milliseconds. */
  readonly now: () => number
  /** Of accepted tokens; weights are characters of tokens. One takes about three bytes of memory for each character. */
  readonly cache: CacheBounds
}

/**
 * Judges JWTs that anyone may have signed who holds the workspace admin token: HS256, with the UTF-8 bytes of its text as key.
 *
 * Accepted tokens are cached by the SHA-256 of their text, which is shorter than the text, leaves no token in memory, and cannot be
 * searched by timing. What is refused is not cached: nobody pushes accepted ones out with texts that he makes up.
 */
export class JwtVerifier {
  readonly #options: JwtVerifierOptions
  #key: SigningKey | null = null
  #keyStamp: string | null = null
  #accepted: BoundedCache<AcceptedJwt>
  #latestSeconds = 0

  constructor(options: JwtVerifierOptions) {
    this.#options = options
    this.#accepted = new BoundedCache(options.cache)
  }

  /**
   * Verifies with another key from now on; whatever an earlier one signed ends at once. With null, or with a key that may not
   * sign, no token is accepted.
   */
  setKey(adminToken: string | null): void {
    this.#accepted = new BoundedCache(this.#options.cache)
    this.#key = adminToken === null ? null : openSigningKey(adminToken)
    this.#keyStamp = adminToken === null ? null : hash('sha256', `warrants ${adminToken}`, 'base64url')
  }

  /** Another one for another key, by which it is not told; null without a key. */
  get keyStamp(): string | null {
    return this.#keyStamp
  }

  isExpired(expiresAtSeconds: number): boolean {
    return expiresAtSeconds <= this.#nowSeconds()
  }

  verify(text: string): JwtVerdict {
    if (this.#key === null) return unsigned('this workspace has no key that signs JWTs')
    // Before the digest, which would cost what the text is long.
    if (text.length > jwtCharactersMax) return unsigned(`the token is longer than ${jwtCharactersMax} characters`)
    const id = hash('sha256', text, 'base64url')
    const known = this.#accepted.get(id)
    if (known !== undefined) return this.#judge(known)
    let isSigned = false
    try {
      const gated = gateJwt(text)
      if (!this.#key.hasSigned(text)) return unsigned('the signature is wrong')
      isSigned = true
      const verdict = this.#judge({ kind: 'accepted', id, claims: readClaims(gated) })
      if (verdict.kind === 'accepted') this.#accepted.set(id, verdict, text.length)
      return verdict
    } catch (cause) {
      if (!(cause instanceof JwtFault)) throw cause
      return { kind: 'refused', isSigned, reason: cause.message }
    }
  }

  /** Judges what can change while a token is cached, and its workspace, which only a token in force may ask about. */
  #judge(jwt: AcceptedJwt): JwtVerdict {
    const nowSeconds = this.#nowSeconds()
    const { expiresAtSeconds, notBeforeSeconds, workspaceId } = jwt.claims
    if (expiresAtSeconds <= nowSeconds) {
      this.#accepted.delete(jwt.id)
      return { kind: 'refused', isSigned: true, reason: 'the token has expired' }
    }
    if (notBeforeSeconds !== null && notBeforeSeconds > nowSeconds) {
      return { kind: 'refused', isSigned: true, reason: 'the token is not valid yet' }
    }
    if (workspaceId !== this.#options.workspaceId) {
      return { kind: 'otherWorkspace', reason: 'the token is for another workspace' }
    }
    return jwt
  }

  /**
   * A clock that is set back a little stands still until it has caught up, so that no token that has ended begins again. One that
   * is set back by more was wrong before: to follow it is better than to refuse every token for days.
   */
  #nowSeconds(): number {
    const nowSeconds = Math.floor(this.#options.now() / 1_000)
    const isSetBack = nowSeconds < this.#latestSeconds && nowSeconds >= this.#latestSeconds - setBackSecondsMax
    if (!isSetBack) this.#latestSeconds = nowSeconds
    return this.#latestSeconds
  }
}

const setBackSecondsMax = 300

function unsigned(reason: string): JwtVerdict {
  return { kind: 'refused', isSigned: false, reason }
}
