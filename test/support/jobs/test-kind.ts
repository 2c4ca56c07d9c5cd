import type { Job, JobKind, JobStatus, Jobs, NewJob, WorkingJob } from '../../../src/jobs/jobs.types.ts'

/** A job that works until a test lets it end. */
export interface HeldJob {
  readonly job: WorkingJob
  succeed(): void
  fail(error: unknown): void
}

/** A kind whose jobs do what the test says. */
export class TestKind implements JobKind {
  readonly name: string
  readonly workingMax: number
  readonly isCancellableWhileWorking: boolean
  readonly canResume: boolean
  readonly hasGuestPlace: boolean
  readonly beginsAnew: boolean
  /** Of those that are forgotten. */
  readonly forgotten: string[] = []
  /** Those of which more than the record is kept. */
  readonly held = new Set<string>()
  /** Whether work ends when its signal says so, as it should. */
  obeys = true
  readonly #begun: HeldJob[] = []
  readonly #waiting = new Set<() => void>()

  /** Absent where nothing is to be told of a job that is cancelled over a restart. */
  readonly settle?: NonNullable<JobKind['settle']>

  /** Absent where they have no bound of their own. */
  readonly active?: NonNullable<JobKind['active']>

  /** Absent where none yields. */
  readonly mayYield?: NonNullable<JobKind['mayYield']>

  constructor(given: Partial<Omit<JobKind, 'forget' | 'isHeld' | 'run'>> = {}) {
    if (given.active !== undefined) this.active = given.active
    if (given.mayYield !== undefined) this.mayYield = given.mayYield
    if (given.settle !== undefined) this.settle = given.settle
    this.name = given.name ?? 'import'
    this.workingMax = given.workingMax ?? 1
    this.isCancellableWhileWorking = given.isCancellableWhileWorking ?? true
    this.canResume = given.canResume ?? true
    this.hasGuestPlace = given.hasGuestPlace ?? true
    this.beginsAnew = given.beginsAnew ?? false
  }

  get begunCount(): number {
    return this.#begun.length
  }

  /** The job that began as the `index`-th of all, now or later. */
  async begun(index: number): Promise<HeldJob> {
    for (;;) {
      const held = this.#begun[index]
      if (held !== undefined) return held
      await new Promise<void>((resolve) => this.#waiting.add(resolve))
    }
  }

  run(job: WorkingJob): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.obeys) job.signal.addEventListener('abort', () => reject(job.signal.reason))
      this.#begun.push({ job, succeed: resolve, fail: reject })
      for (const wake of this.#waiting) wake()
      this.#waiting.clear()
    })
  }

  async forget(id: string): Promise<void> {
    this.forgotten.push(id)
  }

  isHeld(id: string): boolean {
    return this.held.has(id)
  }
}

/** A new job with what differs. */
export function newJob(given: Partial<NewJob> = {}): NewJob {
  return {
    kind: 'import',
    owner: { tokenId: 'maker', tokenName: 'maker' },
    subject: null,
    order: null,
    logFields: {},
    ...given,
  }
}

/** The job once it has this status. */
export function untilStatus(jobs: Pick<Jobs, 'watch'>, id: string, status: JobStatus): Promise<Job> {
  return new Promise((resolve) => {
    const unwatch = jobs.watch(id, (job) => {
      if (job.status !== status) return
      queueMicrotask(() => unwatch())
      resolve(job)
    })
  })
}
