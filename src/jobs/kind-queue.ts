import type { JobKind } from './jobs.types.ts'

/** A job that is to be run. */
export interface QueuedJob {
  readonly id: string
  /** Whose job it is; see `JobOwner`. */
  readonly ownerId: string | null
}

/**
 * Jobs of one kind that are to be run, and how many of them may work.
 *
 * Each owner's jobs are run in their order, and the owners have their turns one after the other. Where one owner holds all places,
 * one more is for the others: who sends long work, or many jobs, keeps nobody out. Where several hold all places for long, the
 * runner has a job of theirs yield, if its kind lets it.
 */
export class KindQueue {
  readonly kind: JobKind
  /** Those that worked already, and go before all others. */
  readonly #resumed = new Map<string, QueuedJob>()
  /** By owner, in the order of their turns; none is empty. */
  readonly #waiting = new Map<string | null, Map<string, QueuedJob>>()
  readonly #workingCounts = new Map<string | null, number>()
  #workingCount = 0

  constructor(kind: JobKind) {
    this.kind = kind
  }

  push(job: QueuedJob): void {
    const { ownerId } = job
    const own = this.#waiting.get(ownerId) ?? new Map<string, QueuedJob>()
    own.set(job.id, job)
    this.#waiting.set(ownerId, own)
  }

  /** The same for a job that worked already, in an earlier process. */
  resume(job: QueuedJob): void {
    this.#resumed.set(job.id, job)
  }

  remove({ id, ownerId }: QueuedJob): void {
    this.#resumed.delete(id)
    const own = this.#waiting.get(ownerId)
    own?.delete(id)
    if (own?.size === 0) this.#waiting.delete(ownerId)
  }

  /** The next that may work, which has a place from now on; undefined where none waits or none may. */
  take(): QueuedJob | undefined {
    const job = this.#next()
    if (job === undefined) return undefined
    const { ownerId } = job
    this.remove(job)
    const others = this.#waiting.get(ownerId)
    if (others !== undefined) {
      // Its next turn comes behind those of all others.
      this.#waiting.delete(ownerId)
      this.#waiting.set(ownerId, others)
    }
    this.#workingCount += 1
    this.#workingCounts.set(ownerId, this.#workingCountOf(ownerId) + 1)
    return job
  }

  /** Whether somebody waits who has no place at all. */
  get hasExcluded(): boolean {
    const owners = [...this.#waiting.keys(), ...Array.from(this.#resumed.values(), ({ ownerId }) => ownerId)]
    return owners.some((ownerId) => this.#workingCountOf(ownerId) === 0)
  }

  /** Gives a place back. */
  leave({ ownerId }: QueuedJob): void {
    this.#workingCount -= 1
    const left = this.#workingCountOf(ownerId) - 1
    if (left === 0) this.#workingCounts.delete(ownerId)
    else this.#workingCounts.set(ownerId, left)
  }

  #next(): QueuedJob | undefined {
    const { workingMax } = this.kind
    if (this.#workingCount < workingMax) return firstOf(this.#resumed) ?? firstOf(firstOf(this.#waiting))
    const [holder, ...others] = this.#workingCounts.keys()
    if (holder === undefined || others.length > 0 || this.#workingCount > workingMax) return undefined
    if (this.kind.hasGuestPlace === false) return undefined
    for (const job of this.#resumed.values()) if (job.ownerId !== holder) return job
    for (const [ownerId, jobs] of this.#waiting) if (ownerId !== holder) return firstOf(jobs)
    return undefined
  }

  #workingCountOf(ownerId: string | null): number {
    return this.#workingCounts.get(ownerId) ?? 0
  }
}

function firstOf<Value>(values: ReadonlyMap<unknown, Value> | undefined): Value | undefined {
  const [first] = values?.values() ?? []
  return first
}
