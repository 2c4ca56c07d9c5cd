import { createSecretComparer } from './secret-comparer.ts'

/** HS256 needs a key of at least as many bytes as it has bits (RFC 7518 §3.2): a shorter one could be guessed offline. */
export const signingKeyBytesMin = 32

/** Where the value of the workspace admin token is from. `given`: by an option. `made`: by this start. `kept`: by an earlier one. */
export type AdminOrigin = 'given' | 'kept' | 'made'

/** The value of the workspace admin token, which every request is compared with first, and which signs JWTs. */
export class WorkspaceAdmin {
  readonly origin: AdminOrigin
  #value: string | null
  #isValue: (text: string) => boolean
  readonly #tells: ((key: string | null) => void)[] = []

  /** @param value null where the key is missing that it was sealed with: it is known by its digest alone then. */
  constructor(value: string | null, origin: AdminOrigin) {
    this.origin = origin
    this.#value = value
    this.#isValue = comparerOf(value)
  }

  get value(): string | null {
    return this.#value
  }

  /** Tells nothing of the value by its time. */
  is(text: string): boolean {
    return this.#isValue(text)
  }

  get signingKey(): string | null {
    const value = this.#value
    return value === null || Buffer.byteLength(value) < signingKeyBytesMin ? null : value
  }

  onSigningKey(tell: (key: string | null) => void): void {
    this.#tells.push(tell)
  }

  replace(value: string): void {
    this.#value = value
    this.#isValue = comparerOf(value)
    for (const tell of this.#tells) tell(this.signingKey)
  }
}

function comparerOf(value: string | null): (text: string) => boolean {
  return value === null ? () => false : createSecretComparer(value)
}
