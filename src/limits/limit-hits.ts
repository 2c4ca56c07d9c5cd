import type { Logger } from '../observe/logger.ts'
import type { LimitName } from '../shared/limit-names.ts'

/** One refusal by a limit, as its caller is told of it, or the end of a job by one. */
export interface LimitHit {
  readonly limit: LimitName
  /** Code of the table of errors. */
  readonly code: string
  /** HTTP status of the answer; of a job, that of its error. */
  readonly status: number
  /** Epoch milliseconds. */
  readonly atMs: number
  /** Of the request that is refused, or that has made the job; empty where nobody knows. */
  readonly requestId: string
  /** Null where no token was judged, and for a JWT, which has no record. */
  readonly tokenId: string | null
  readonly tokenName: string | null
  /** Name or id of the data source or pipe that the request is about, as it was sent; null where it is about no single one. */
  readonly resource: string | null
}

/**
 * Told of each refusal by a limit, in the turn in which the request is answered: what takes longer is to be queued.
 */
export type OnLimitHit = (hit: LimitHit) => void

/** The one place that every refusal by a limit passes. */
export class LimitHits {
  readonly #logger: Pick<Logger, 'error'>
  readonly #subscribers = new Set<OnLimitHit>()
  readonly #countByLimit = new Map<LimitName, number>()

  constructor(logger: Pick<Logger, 'error'>) {
    this.#logger = logger
  }

  /** Gives what ends it. */
  onLimitHit(tell: OnLimitHit): () => void {
    this.#subscribers.add(tell)
    return () => this.#subscribers.delete(tell)
  }

  /** The answer of a request does not hang on whoever listens: what they throw is logged. */
  tell(hit: LimitHit): void {
    this.#countByLimit.set(hit.limit, this.countOf(hit.limit) + 1)
    for (const tell of this.#subscribers) {
      try {
        tell(hit)
      } catch (err) {
        this.#logger.error({ err, limit: hit.limit }, 'Who is told of limits that are hit has failed.')
      }
    }
  }

  /** Refusals since the start of the service. */
  countOf(limit: LimitName): number {
    return this.#countByLimit.get(limit) ?? 0
  }
}
