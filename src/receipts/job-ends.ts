import type { Job, Jobs } from '../jobs/jobs.types.ts'

interface Bound {
  readonly timeMaxMs: number
  readonly signal: AbortSignal
}

interface WatchedJob {
  /** Of all who wait for it. */
  readonly ends: Set<(hasEnded: boolean) => void>
  readonly unwatch: () => void
}

const underWay: ReadonlySet<Job['status']> = new Set(['waiting', 'working', 'cancelling'])

/** Waits for jobs to end. A job has one watch, however many wait for it, from the first of them to the last. */
export class JobEnds {
  readonly #jobs: Pick<Jobs, 'find' | 'watch'>
  readonly #watched = new Map<string, WatchedJob>()

  constructor(jobs: Pick<Jobs, 'find' | 'watch'>) {
    this.#jobs = jobs
  }

  /** One that is forgotten has ended before. */
  hasEnded(id: string): boolean {
    return !underWay.has(this.#jobs.find(id)?.status ?? 'done')
  }

  /** Resolves with false when the time is over first, or whoever waits has left. Rejects with what a watch is refused with. */
  async until(id: string, { timeMaxMs, signal }: Bound): Promise<boolean> {
    if (this.hasEnded(id)) return true
    if (signal.aborted) return false
    // What may throw comes first: nothing is left behind of a wait that did not begin.
    const { ends, unwatch } = this.#watched.get(id) ?? this.#watch(id)
    return await new Promise((resolve) => {
      const leave = (): void => end(false)
      const timer = setTimeout(leave, timeMaxMs)
      signal.addEventListener('abort', leave)
      const end = (hasEnded: boolean): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', leave)
        ends.delete(end)
        if (ends.size === 0 && this.#watched.delete(id)) unwatch()
        resolve(hasEnded)
      }
      ends.add(end)
    })
  }

  #watch(id: string): WatchedJob {
    const ends: WatchedJob['ends'] = new Set()
    // The first call comes while the watch begins, of a job that has not ended: nobody waits by then.
    const unwatch = this.#jobs.watch(id, ({ status }) => {
      if (!underWay.has(status)) for (const end of ends) end(true)
    })
    const watched = { ends, unwatch }
    this.#watched.set(id, watched)
    return watched
  }
}
