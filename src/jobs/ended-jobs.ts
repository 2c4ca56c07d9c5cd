// The jobs that have ended, in the order of their ends: which are kept no longer, and where each is on disk.

import { kibibyte } from '../shared/bytes.ts'
import type { LoadedWrite } from '../storage/loaded-records.ts'
import { groupedText, groupKeyOf, groupWrite, type JobRecord } from './job-record.ts'

/** How long jobs are kept that have ended. */
export interface Retention {
  readonly keptMs: number
  /** The last of them are kept longer than that. */
  readonly keptLast: number
  /** More are never kept. */
  readonly keptMax: number
}

/** What changes the records, and what is so once they are written. */
export interface EndedChange {
  readonly writes: readonly LoadedWrite[]
  readonly apply: () => void
}

/** Jobs of one record; it has fewer where they are large. */
export const groupJobsMax = 100
const groupBytesMax = 256 * kibibyte

export class EndedJobs {
  /** In the order of their ends. */
  readonly #endedAtMs = new Map<string, number>()
  /** The key of the record that a job shares with others; the others have records of their own. */
  readonly #groupKeys = new Map<string, string>()
  /** Of each group, the jobs that are kept. */
  readonly #groups = new Map<string, Set<string>>()
  /** Those with records of their own, in the order of their ends. */
  readonly #single = new Set<string>()

  get singleCount(): number {
    return this.#single.size
  }

  /** @param key of its record. */
  add(id: string, endedAtMs: number, key: string): void {
    this.#endedAtMs.set(id, endedAtMs)
    if (key === id) this.#single.add(id)
    else this.#join(id, key)
  }

  /** The first of those that are kept no longer. */
  outdated({ keptMs, keptLast, keptMax }: Retention, nowMs: number, countMax: number): readonly string[] {
    const ids: string[] = []
    let left = this.#endedAtMs.size
    for (const [id, endedAtMs] of this.#endedAtMs) {
      const isOutdated = left > keptMax || (left > keptLast && nowMs - endedAtMs > keptMs)
      if (!isOutdated || ids.length === countMax) break
      ids.push(id)
      left -= 1
    }
    return ids
  }

  /**
   * Removes jobs. A record of many goes with the last of its jobs: until then a start finds the others again, and that they are
   * kept no longer.
   */
  removal(ids: readonly string[]): EndedChange {
    const removed = new Set(ids)
    const groups = new Set(ids.flatMap((id) => this.#groupKeys.get(id) ?? []))
    const empty = [...groups].filter((key) => [...(this.#groups.get(key) ?? [])].every((id) => removed.has(id)))
    const keys = [...ids.filter((id) => this.#single.has(id)), ...empty]
    return {
      writes: keys.map((key) => ({ kind: 'jobs', key, value: null })),
      apply: () => {
        for (const id of ids) this.#remove(id)
        for (const key of empty) this.#groups.delete(key)
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

  #join(id: string, key: string): void {
    const group = this.#groups.get(key) ?? new Set()
    group.add(id)
    this.#groups.set(key, group)
    this.#groupKeys.set(id, key)
  }

  #remove(id: string): void {
    this.#endedAtMs.delete(id)
    this.#single.delete(id)
    const key = this.#groupKeys.get(id)
    this.#groupKeys.delete(id)
    if (key !== undefined) this.#groups.get(key)?.delete(id)
  }
}
