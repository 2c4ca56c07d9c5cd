import type { Job } from './jobs.types.ts'

/** How many jobs wait, of a kind and of each owner. */
export class WaitingCounts {
  readonly #ofKind = new Map<string, number>()
  /** By kind and owner. */
  readonly #ofOwner = new Map<string, number>()

  ofKind(kind: string): number {
    return this.#ofKind.get(kind) ?? 0
  }

  ofOwner(job: Pick<Job, 'kind' | 'owner'>): number {
    return this.#ofOwner.get(shareKeyOf(job)) ?? 0
  }

  add(job: Pick<Job, 'kind' | 'owner'>, change: 1 | -1): void {
    this.#ofKind.set(job.kind, this.ofKind(job.kind) + change)
    const count = this.ofOwner(job) + change
    if (count === 0) this.#ofOwner.delete(shareKeyOf(job))
    else this.#ofOwner.set(shareKeyOf(job), count)
  }
}

/** The same for jobs of one kind that one owner has made. */
export function shareKeyOf({ kind, owner }: Pick<Job, 'kind' | 'owner'>): string {
  return `${kind} ${owner.tokenId ?? ''}`
}
