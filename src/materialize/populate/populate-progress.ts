import type { WorkingJob } from '../../jobs/jobs.types.ts'
import type { PopulateDetails, PopulateQuery } from './populate.types.ts'
import type { Chunk } from './populate-chunks.ts'

/** Queries that a job tells of; each stands for some chunks, one behind the other. */
const queriesMax = 50

/** How far a populate is, told to its job. */
export class PopulateProgress {
  readonly #job: Pick<WorkingJob, 'id' | 'tell'>
  readonly #chunks: readonly Chunk[]
  readonly #rowsTotal: number
  readonly #done = new Set<number>()
  #rowsRead = 0
  #prefix = 0

  /** @param done so many of the first chunks are filled. */
  constructor(job: Pick<WorkingJob, 'id' | 'tell'>, chunks: readonly Chunk[], done: number) {
    this.#job = job
    this.#chunks = chunks
    this.#rowsTotal = chunks.reduce((rows, chunk) => rows + chunk.rowCount, 0)
    for (let index = 0; index < done; index += 1) this.#add(index)
  }

  /** How many of the first chunks are filled. */
  get done(): number {
    return this.#prefix
  }

  filled(index: number): void {
    this.#add(index)
    this.tell('working')
  }

  /** @param state of what is not filled. */
  tell(state: PopulateQuery['status']): void {
    const share = this.#rowsTotal === 0 ? 1 : this.#rowsRead / this.#rowsTotal
    const told: Partial<PopulateDetails> = {
      queries: this.#queries(state),
      progressPercentage: Math.floor(1_000 * share) / 10,
      rowsRead: this.#rowsRead,
      rowsTotal: this.#rowsTotal,
    }
    this.#job.tell({ ...told })
  }

  #add(index: number): void {
    this.#done.add(index)
    this.#rowsRead += this.#chunks[index]?.rowCount ?? 0
    while (this.#done.has(this.#prefix)) this.#prefix += 1
  }

  #queries(state: PopulateQuery['status']): readonly PopulateQuery[] {
    const count = Math.min(queriesMax, Math.max(1, this.#chunks.length))
    return Array.from({ length: count }, (_, query) => {
      const [from, to] = [query, query + 1].map((edge) => Math.floor((edge * this.#chunks.length) / count))
      return { query_id: `${this.#job.id}-${query}`, status: this.#statusOf(from ?? 0, to ?? 0, state) }
    })
  }

  #statusOf(from: number, to: number, state: PopulateQuery['status']): PopulateQuery['status'] {
    let left = 0
    for (let index = from; index < to; index += 1) if (!this.#done.has(index)) left += 1
    if (left === 0) return 'done'
    // The first that is not filled is what is worked at.
    return state === 'working' && from > this.#prefix ? 'waiting' : state
  }
}
