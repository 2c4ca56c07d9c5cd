/**
 * Queries as jobs: they may take longer than one that somebody waits for, and leave their answer in a file.
 *
 * What one may read is what its warrant gives when it begins. One that a kill has stopped ends in error, as its answer would be
 * another one by then.
 */
import { hash } from 'node:crypto'
import type { JobFiles } from '../jobs/job-files.ts'
import type { JobKind, WorkingJob } from '../jobs/jobs.types.ts'
import { type OrderSeal, openedOrder, sealedOrder } from '../jobs/order-seal.ts'
import type { ReadScope } from '../sql/read-scope.types.ts'
import { createRowCounter } from './answer-rows.ts'
import type { Query, QueryRequest } from './query.types.ts'

export const queryJobKind = 'query'

/** What such a job is to do; sealed, since a query may name a secret. */
interface QueryJobOrder<Warrant> {
  readonly warrant: Warrant
  readonly sql: string
  readonly pipeline: string | null
  readonly format: string | null
  /** Names and values of the parameters. */
  readonly parameters: readonly (readonly [string, unknown])[]
  readonly settings: QueryRequest['settings']
}

/** What such a job tells of itself, beside the fields of all jobs. */
export interface QueryJobDetails {
  /** As far as the format shows it. */
  readonly rowCount: number | null
  readonly byteCount: number
  readonly contentType: string
  /** Until when the answer is kept; epoch milliseconds. */
  readonly keptUntilMs: number
  /** See `rightsMark`. */
  readonly rights: string
}

export interface QueryJobOptions {
  readonly queryJobsWorkingMax: number
  /** See `JobKind`. */
  readonly hasGuestPlace: boolean
  readonly queryJobTimeMaxMs: number
}

export interface QueryJobDeps<Warrant> {
  readonly query: Pick<Query, 'run'>
  readonly files: Pick<JobFiles, 'has' | 'remove' | 'write'>
  /** @throws errors (403) when the token is not valid any more, or may not ask. */
  readonly readScopeFor: (warrant: Warrant) => ReadScope
  readonly seal: OrderSeal
}

export interface QueryJobs<Warrant> {
  readonly kind: JobKind
  /** The order of a job, as it is kept. */
  orderOf(warrant: Warrant, asked: Omit<QueryRequest, 'readScope' | 'signal'>): unknown
}

/** The same for all who may read the same rows: an answer is for those who might ask for it still. */
export function rightsMark({ signature, seesAll, isFiltered }: ReadScope): string {
  return hash('sha256', JSON.stringify([signature, seesAll, isFiltered]), 'base64url')
}

/** What runs such jobs, to be registered, and what they are made with. */
export function createQueryJobs<Warrant>(
  options: QueryJobOptions,
  { query, files, seal, readScopeFor }: QueryJobDeps<Warrant>,
): QueryJobs<Warrant> {
  const run = async (job: WorkingJob): Promise<void> => {
    // Nobody but `orderOf` makes them, and they come back as they were written.
    const { warrant, parameters, ...asked } = openedOrder(job.order, seal) as QueryJobOrder<Warrant>
    const readScope = readScopeFor(warrant)
    const { signal } = job
    const values = new Map(parameters) as QueryRequest['parameters']
    const request = { ...asked, parameters: values, readScope, signal, timeMaxMs: options.queryJobTimeMaxMs }
    const { body, format, contentType } = await query.run(request)
    const counter = createRowCounter(format)
    const counted = async function* (): AsyncGenerator<Uint8Array> {
      for await (const chunk of body) {
        counter.take(chunk)
        yield chunk
      }
    }
    const written = await files.write(job.id, counted())
    const details: QueryJobDetails = {
      ...written,
      rowCount: counter.count(),
      contentType,
      rights: rightsMark(readScope),
    }
    job.tell({ ...details })
  }
  const kind: JobKind = {
    name: queryJobKind,
    workingMax: options.queryJobsWorkingMax,
    isCancellableWhileWorking: false,
    canResume: false,
    run,
    forget: (id) => files.remove(id),
    isHeld: (id) => files.has(id),
    hasGuestPlace: options.hasGuestPlace,
  }
  return {
    kind,
    orderOf(warrant, { sql, pipeline, format, parameters, settings }) {
      const order: QueryJobOrder<Warrant> = { warrant, sql, pipeline, format, parameters: [...parameters], settings }
      return sealedOrder(order, seal)
    },
  }
}
