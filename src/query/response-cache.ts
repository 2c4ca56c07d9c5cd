import { BoundedCache } from '../shared/bounded-cache.ts'
import type { SelectStream } from '../store/store.types.ts'

export interface ResponseCacheOptions {
  /** Of all answers together. */
  readonly bytesMax: number
  /** Epoch milliseconds. */
  readonly now: () => number
}

interface KeptAnswer {
  readonly chunks: readonly Uint8Array[]
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
    if (answer.expiresAt > this.#options.now()) return streamOf(answer.chunks)
    this.#answers.delete(key)
    return undefined
  }

  /** The same bytes; when they have been read to their end, and are not too many, they are kept. */
  async *keep(key: string, ttlMs: number, body: SelectStream): SelectStream {
    const { bytesMax, now } = this.#options
    // What is in the answer is as old as its query.
    const expiresAt = now() + ttlMs
    const chunks: Uint8Array[] = []
    let byteCount = 0
    for await (const chunk of body) {
      byteCount += chunk.byteLength
      if (byteCount <= bytesMax * answerShare) chunks.push(chunk)
      else chunks.length = 0
      yield chunk
    }
    const weight = byteCount + key.length
    if (weight <= bytesMax * answerShare) this.#answers.set(key, { chunks, expiresAt }, weight)
  }
}

async function* streamOf(chunks: readonly Uint8Array[]): SelectStream {
  yield* chunks
}
