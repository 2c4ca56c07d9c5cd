import type { LogFields } from '../observe/logger.ts'
import type { RowsQuoted } from '../shared/errors/definition.ts'
import type { LimitName } from '../shared/limit-names.ts'

/**
 * Long work that outlives its request: jobs of some kinds, each with a queue, a state, a record on disk, and an end.
 *
 * The module knows no kind. Others register theirs before `start`, and with it what runs, what can be cancelled while it
 * works, and what goes on after a kill.
 */
export interface Jobs {
  /** Makes a kind known. Precondition: `start` has not been called. */
  register(kind: JobKind): void
  /** Begins to run what waits, and goes on with what an earlier process left working. Every kind is registered. */
  start(): Promise<void>
  /**
   * Takes a new job; its record is on disk when this resolves.
   *
   * @throws JOB_TOO_LARGE (413) when the order takes more than 256 KiB; JOBS_ACTIVE_TOO_MANY, JOBS_TOO_MANY,
   *   JOBS_OF_TOKEN_TOO_MANY (429) when as many are there or wait as may, of its kind or of that and its owner; DISK_UNAVAILABLE, SHUTTING_DOWN (503).
   */
  add(job: NewJob): Promise<Job>
  find(id: string): Job | undefined
  /** Newest first. */
  list(filter: JobFilter): readonly Job[]
  /**
   * Asks a job to end where it is. One that waits is cancelled at once, one that works is `cancelling` until it has stopped.
   *
   * @throws JOB_NOT_FOUND (404), JOB_NOT_CANCELLABLE (400), DISK_UNAVAILABLE (503).
   */
  cancel(id: string): Promise<Job>
  /**
   * Calls `tell` with the job as it is now and whenever it has changed, once a second at most, and at its end; gives what ends
   * the watch.
   *
   * @param watcherId of the caller who watches, who has a share of all watches; undefined for the service itself, which takes none of
   *   the watches of callers.
   * @throws JOB_NOT_FOUND (404), JOB_WATCHES_TOO_MANY, JOB_WATCHES_OF_TOKEN_TOO_MANY (429).
   */
  watch(id: string, tell: (job: Job) => void, watcherId?: string): () => void
  /** Ends what works where it is; what can go on goes on at the next start. */
  close(timeMaxMs?: number): Promise<void>
}

export type JobStatus = 'waiting' | 'working' | 'done' | 'error' | 'cancelling' | 'cancelled'

/** What a job works on; its name as it was when the job was made. */
export interface JobSubject {
  readonly kind: 'datasource' | 'pipe'
  readonly id: string
  readonly name: string
}

/** Whose token made the job. */
export interface JobOwner {
  /** What is the same for all its requests, and no secret; null for nobody. */
  readonly tokenId: string | null
  readonly tokenName: string
}

export interface NewJob {
  readonly kind: string
  readonly owner: JobOwner
  /** Null for work on no single resource. */
  readonly subject: JobSubject | null
  /** What is to be done: a plain JSON value that the kind reads; never shown. */
  readonly order: unknown
  /** What its kind tells of it from the beginning; nothing when undefined. */
  readonly details?: Readonly<Record<string, unknown>>
  /** For the log. */
  readonly logFields: LogFields
}

export interface Job extends Omit<NewJob, 'logFields' | 'order'> {
  readonly id: string
  readonly status: JobStatus
  /** Epoch milliseconds, like all times here. */
  readonly createdAtMs: number
  /** When the status last changed. */
  readonly updatedAtMs: number
  readonly startedAtMs: number | null
  readonly isCancellable: boolean
  /** What its kind tells of it while it works and afterwards: a plain JSON object, whose fields the kind's shape knows. */
  readonly details: Readonly<Record<string, unknown>>
  /** Sentences; empty unless the status is `error`. */
  readonly errors: readonly string[]
  /** Of each of them what it quotes; shorter where the last ones quote nothing. */
  readonly errorQuotes: readonly (ErrorQuote | null)[]
}

/** That a limit has ended a job: its code, and the status that a request would be answered with. */
export interface LimitRefusal {
  readonly limit: LimitName
  readonly code: string
  readonly status: number
}

/** Told of a job that a limit has ended, and of the request that has made it; empty where nobody knows. */
export type OnJobLimit = (refusal: LimitRefusal, job: Job, requestId: string) => void

/** What an error may quote, and its sentence for whoever must not be told of that. */
export interface ErrorQuote {
  readonly rows: RowsQuoted
  readonly withoutRows: string
}

export interface JobFilter {
  readonly kinds?: readonly string[]
  readonly statuses?: readonly JobStatus[]
  readonly createdAfterMs?: number
  readonly createdBeforeMs?: number
  readonly subjectId?: string
  readonly subjectName?: string
}

/** What somebody who has a kind of long work registers. */
export interface JobKind {
  /** As it is kept and filtered by: `import`, `query`, `populateview`, `delete_data`. */
  readonly name: string
  /** Jobs of the kind that work at once. */
  readonly workingMax: number
  /** Those that may wait and work together, and the limit that this is; no bound of its own when undefined. */
  readonly active?: { readonly max: number; readonly limit: LimitName }
  /** Whether one more may work where one owner holds all places and another waits; yes when undefined. */
  readonly hasGuestPlace?: boolean
  readonly isCancellableWhileWorking: boolean
  /** Whether a job that a kill has stopped in its work is run again, with its checkpoint; else it ends in `error`. */
  readonly canResume: boolean
  /**
   * Whether all that a job does before its first checkpoint is undone or done again by whoever begins it anew; no when undefined. Then
   * the beginning of one that need not wait is not written by itself, but with what is written next. Precondition: `canResume`.
   */
  readonly beginsAnew?: boolean
  /**
   * Whether a job may be stopped for others, as for the end of the service, to be run again when its turn comes; no when undefined.
   * So owners of long jobs take turns, however many owners there are. Precondition: `canResume`.
   */
  mayYield?(job: WorkingJob): boolean
  /**
   * Does the work, from its beginning or from its checkpoint. An end by `signal` is told by its reason: what was done until
   * then stands in the details.
   *
   * @throws what the work failed with: an error of the table is told in its words, an AggregateError of such in the words of
   *   each, others are faults of ours. After `signal`, whatever it throws is its end by the signal.
   */
  run(job: WorkingJob): Promise<void>
  /** Does what is left to do once the end of a job that `run` has ended is written. Nobody waits for it but a close. */
  ended?(job: WorkingJob): Promise<void>
  /**
   * Tells what there is of a job that an earlier process has begun and that is cancelled before it could go on; within the time
   * that `signal` gives it.
   */
  settle?(job: WorkingJob): Promise<void>
  /** Gives back what a job keeps beside its record, once the record is forgotten. */
  forget?(id: string): Promise<void>
  /** Whether somebody may still ask for that: such a job is not forgotten for others. */
  isHeld?(id: string): boolean
}

/** A job as its kind sees it. */
export interface WorkingJob {
  readonly id: string
  readonly owner: JobOwner
  readonly subject: JobSubject | null
  readonly order: unknown
  /** What was saved last, by this process or an earlier one; null for a job that begins. */
  readonly checkpoint: unknown
  readonly details: Readonly<Record<string, unknown>>
  /** Aborted when the job is cancelled (reason JOB_CANCELLED) or the service closes (SHUTTING_DOWN). */
  readonly signal: AbortSignal
  /** Keeps where the work is: a plain JSON value of 1 MiB at most, on disk when this resolves. With the details as they are then. */
  saveCheckpoint(checkpoint: unknown): Promise<void>
  /** Puts fields into the details, 64 KiB of JSON at most; kept on disk with the next checkpoint and at the end. */
  tell(details: Readonly<Record<string, unknown>>): void
  /** Says what the job works on, once that is known: a data source that it creates. On disk when this resolves. */
  nameSubject(subject: JobSubject): Promise<void>
}
