// The jobs that have ended, in the order of their ends: which are kept no longer, and where each is on disk.

import { kibibyte } from '../shared/bytes.ts'
import type { LoadedWrite } from '../storage/loaded-records.ts'
import { EndedShares } from './ended-shares.ts'
import { groupedText, groupKeyOf, groupWrite, type JobRecord, jobWrite } from './job-record.ts'

/** How long jobs are kept that have ended. */
export interface Retention {
  readonly keptMs: number
  /** The last of them are kept longer than that. */
  readonly keptLast: number
  /** More are never kept, beside those that are held: who has most loses the oldest. */
  readonly keptMax: number
  /** Whether somebody may still ask for more of a job than its record: so long it is not forgotten. */
  readonly isHeld: (id: string) => boolean
}

/** What changes the records, and what is so once they are written. */
export interface EndedChange {
  readonly writes: readonly LoadedWrite[]
  readonly apply: () => void
}

/** The same, with the jobs that have records of their own from then on. */
export interface EndedRemoval extends EndedChange {
  readonly parted: readonly JobRecord[]
}

/** A job that has ended. */
export interface EndedJob {
  readonly id: string
  readonly endedAtMs: number
  /** Of its record. */
  readonly key: string
  /** Of its kind and owner; see `shareKeyOf`. */
  readonly shareKey: string
}

/** Jobs of one record; it has fewer where they are large. */
export const groupJobsMax = 100
const groupBytesMax = 256 * kibibyte
/** A record of which a smaller part is left is taken apart, so that the jobs that are gone take no room. */
const leftMin = 0.25

interface Group {
  /** Those that are kept. */
  readonly ids: Set<string>
  /** Jobs that its record has, those that are gone among them. */
  jobCount: number
}

export class EndedJobs {
  /** In the order of their ends. */
  readonly #endedAtMs = new Map<string, number>()
  /** The key of the record that a job shares with others; the others have records of their own. */
  readonly #groupKeys = new Map<string, string>()
  readonly #groups = new Map<string, Group>()
  /** Those with records of their own, in the order of their ends. */
  readonly #single = new Set<string>()
  readonly #shares = new EndedShares()
  /** Those that were to be forgotten, and are held: with their shares, of which they are no part meanwhile. */
  readonly #held = new Map<string, string>()

  get singleCount(): number {
    return this.#single.size
  }

  add({ id, endedAtMs, key, shareKey }: EndedJob): void {
    this.#endedAtMs.set(id, endedAtMs)
    this.#shares.add(id, shareKey)
    if (key === id) this.#single.add(id)
    else this.#join(id, key)
  }

  /** The first of those that are kept no longer: the old ones, and then those beyond the most that are kept. */
  outdated(retention: Retention, nowMs: number, countMax: number): readonly string[] {
    const { keptMax, isHeld } = retention
    const old = this.#old(retention, nowMs, countMax)
    const taken = new Map(old.map((id) => [id, this.#shares.remove(id)]))
    for (const [id, key] of this.#held) {
      if (taken.has(id) || isHeld(id)) continue
      this.#held.delete(id)
      this.#shares.add(id, key)
    }
    while (taken.size < countMax && this.#shares.size > keptMax) {
      const id = this.#shares.oldestOfLargest()
      const key = id === undefined ? undefined : this.#shares.remove(id)
      if (id === undefined || key === undefined) break
      if (isHeld(id)) this.#held.set(id, key)
      else taken.set(id, key)
    }
    // They go once that is on disk; what the disk refuses is asked for again.
    for (const [id, key] of taken) if (key !== undefined) this.#shares.add(id, key)
    return [...taken.keys()]
  }

  /**
   * Removes jobs. A record of many goes with the last of its jobs: until then a start finds the others again, and that they are
   * kept no longer. Where few are left, they get records of their own.
   */
  removal(ids: readonly string[], recordOf: (id: string) => JobRecord): EndedRemoval {
    const removed = new Set(ids)
    const groups = new Set(ids.flatMap((id) => this.#groupKeys.get(id) ?? []))
    const left = [...groups].map((key) => {
      const { ids: before, jobCount } = this.#groupOf(key)
      return { key, jobCount, ids: [...before].filter((id) => !removed.has(id)) }
    })
    const ended = left.filter((group) => group.ids.length < leftMin * group.jobCount)
    const parted = ended.flatMap((group) => group.ids).map(recordOf)
    const keys = [...ids.filter((id) => this.#single.has(id)), ...ended.map(({ key }) => key)]
    return {
      writes: [...keys.map((key) => ({ kind: 'jobs', key, value: null }) as const), ...parted.map(jobWrite)],
      parted,
      apply: () => {
        for (const id of ids) this.#remove(id)
        for (const { key } of ended) this.#groups.delete(key)
        for (const { job } of parted) {
          this.#groupKeys.delete(job.id)
          this.#single.add(job.id)
        }
      },
    }
  }

  /** Puts the first of those with records of their own into one. Precondition: there are some. */
  grouping(recordOf: (id: string) => JobRecord): EndedChange {
    const texts: string[] = []
    const records: JobRecord[] = []
    let byteCount = 0
    for (const id of this.#single) {
      const record = recordOf(id)
      const text = groupedText(record)
      byteCount += Buffer.byteLength(text)
      if (records.length === groupJobsMax || (records.length > 0 && byteCount > groupBytesMax)) break
      texts.push(text)
      records.push(record)
    }
    const [first] = records
    const key = first === undefined ? '' : groupKeyOf(first)
    const ids = records.map(({ job }) => job.id)
    return {
      writes: [groupWrite(key, records, texts), ...ids.map((id) => ({ kind: 'jobs', key: id, value: null }) as const)],
      apply: () => {
        for (const id of ids) {
          this.#single.delete(id)
          this.#join(id, key)
        }
      },
    }
  }

  #old({ keptMs, keptLast, isHeld }: Retention, nowMs: number, countMax: number): readonly string[] {
    const ids: string[] = []
    let left = this.#endedAtMs.size
    for (const [id, endedAtMs] of this.#endedAtMs) {
      if (left <= keptLast || nowMs - endedAtMs <= keptMs || ids.length === countMax) break
      left -= 1
      if (!isHeld(id)) ids.push(id)
    }
    return ids
  }

  #join(id: string, key: string): void {
    const group = this.#groupOf(key)
    group.ids.add(id)
    group.jobCount += 1
    this.#groups.set(key, group)
    this.#groupKeys.set(id, key)
  }

  #groupOf(key: string): Group {
    return this.#groups.get(key) ?? { ids: new Set(), jobCount: 0 }
  }

  #remove(id: string): void {
    this.#endedAtMs.delete(id)
    this.#single.delete(id)
    this.#shares.remove(id)
    this.#held.delete(id)
    const key = this.#groupKeys.get(id)
    this.#groupKeys.delete(id)
    if (key !== undefined) this.#groupOf(key).ids.delete(id)
  }
}
