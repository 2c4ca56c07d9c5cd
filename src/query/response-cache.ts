import { BoundedCache } from '../shared/bounded-cache.ts'
import { wholeResult } from '../store/embedded/result-file.ts'
import type { SelectStream } from '../store/store.types.ts'

export interface ResponseCacheOptions {
  /** Of all answers together. */
  readonly bytesMax: number
  /** Epoch milliseconds. */
  readonly now: () => number
}

interface KeptAnswer {
  readonly bytes: Uint8Array
  readonly expiresAt: number
}

const answersMax = 10_000
/** One answer takes at most this part of the cache. */
const answerShare = 1 / 8

/** Answers of queries whose template asks for it by `cache_ttl()`, for as long as it says. */
export class ResponseCache {
  readonly #options: ResponseCacheOptions
  readonly #answers: BoundedCache<KeptAnswer>

  constructor(options: ResponseCacheOptions) {
    this.#options = options
    this.#answers = new BoundedCache({ entriesMax: answersMax, weightMax: options.bytesMax })
  }

  find(key: string): SelectStream | undefined {
    const answer = this.#answers.get(key)
    if (answer === undefined) return undefined
    if (answer.expiresAt > this.#options.now()) return wholeResult(answer.bytes)
    this.#answers.delete(key)
    return undefined
  }

  /** The same bytes; when they have been read to their end, and are not too many, they are kept. */
  keep(key: string, ttlMs: number, body: SelectStream): SelectStream {
    // What is in the answer is as old as its query.
    const expiresAt = this.#options.now() + ttlMs
    if (body.whole === undefined) return this.#keepRead(key, expiresAt, body)
    this.#set(key, { bytes: body.whole, expiresAt })
    return body
  }

  async *#keepRead(key: string, expiresAt: number, body: SelectStream): AsyncGenerator<Uint8Array> {
    const chunks: Uint8Array[] = []
    let byteCount = 0
    for await (const chunk of body) {
      byteCount += chunk.byteLength
      if (this.#isKeepable(byteCount)) chunks.push(chunk)
      else chunks.length = 0
      yield chunk
    }
    if (this.#isKeepable(byteCount)) this.#set(key, { bytes: Buffer.concat(chunks), expiresAt })
  }

  #set(key: string, answer: KeptAnswer): void {
    const weight = answer.bytes.byteLength + key.length
    if (this.#isKeepable(weight)) this.#answers.set(key, answer, weight)
  }

  #isKeepable(byteCount: number): boolean {
    return byteCount <= this.#options.bytesMax * answerShare
  }
}
