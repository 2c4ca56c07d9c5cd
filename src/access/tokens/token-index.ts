import type { TokenEntry } from './token-entry.ts'
import { bytesOfToken } from './token-size.ts'

/** The tokens of the workspace in memory, found by id, by name and by digest. */
export class TokenIndex {
  /** In the order of creation: an entry that takes the place of another keeps it. */
  readonly #byId = new Map<string, TokenEntry>()
  readonly #byName = new Map<string, TokenEntry>()
  readonly #byDigest = new Map<string, TokenEntry>()
  #bytes = 0

  get size(): number {
    return this.#byId.size
  }

  /** Of all tokens, as `bytesOfToken` counts them. */
  get bytes(): number {
    return this.#bytes
  }

  entries(): IterableIterator<TokenEntry> {
    return this.#byId.values()
  }

  findById(id: string): TokenEntry | undefined {
    return this.#byId.get(id)
  }

  findByName(name: string): TokenEntry | undefined {
    return this.#byName.get(name)
  }

  findByDigest(digest: string): TokenEntry | undefined {
    return this.#byDigest.get(digest)
  }

  /** Puts an entry in the place of the one with its id, or behind all. */
  set(entry: TokenEntry): void {
    const old = this.#byId.get(entry.id)
    if (old !== undefined) this.#forgetKeys(old)
    this.#bytes += bytesOfToken(entry.token)
    this.#byId.set(entry.id, entry)
    this.#byName.set(entry.name, entry)
    if (entry.digest !== null) this.#byDigest.set(entry.digest, entry)
  }

  delete(entry: TokenEntry): void {
    this.#byId.delete(entry.id)
    this.#forgetKeys(entry)
  }

  #forgetKeys({ name, digest, token }: TokenEntry): void {
    this.#bytes -= bytesOfToken(token)
    this.#byName.delete(name)
    if (digest !== null) this.#byDigest.delete(digest)
  }
}
