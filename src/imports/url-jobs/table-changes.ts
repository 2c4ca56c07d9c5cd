/**
 * Counts the changes of a data source after which the engine knows its blocks no more (truncate, replace, some alters), as long as
 * imports into it are interrupted: one that goes on behind such a change cannot tell which of its blocks in doubt are stored.
 */

import type { Settings } from '../../storage/settings.ts'

const prefix = 'table-changes-'

type RunChange = <Result>(dataSourceIds: readonly string[], change: () => Promise<Result>) => Promise<Result>

export interface TableChangesDeps {
  readonly settings: Pick<Settings, 'change' | 'read'>
  /** Whether an import into the data source is not at its end. */
  readonly hasUnfinished: (dataSourceId: string) => boolean
}

interface UnderWay {
  readonly changeCount: number
  readonly number: number
}

export class TableChanges {
  readonly #deps: TableChangesDeps
  /** Changes of a data source that are under way. */
  readonly #underWay = new Map<string, UnderWay>()

  constructor(deps: TableChangesDeps) {
    this.#deps = deps
  }

  /** Another number behind each change; while the same ones are under way, a number that there never is again. */
  countOf(dataSourceId: string): number {
    return this.#underWay.get(dataSourceId)?.number ?? this.#notedOf(dataSourceId)
  }

  /** What `run` is for such changes, each of which is noted on disk before it begins. Rejects with CHANGES_TOO_MANY and DISK_UNAVAILABLE (503) too. */
  notedIn(run: RunChange): RunChange {
    return async (dataSourceIds, change) => {
      for (const id of dataSourceIds) this.#add(id, 1)
      try {
        await this.#note(dataSourceIds)
        return await run(dataSourceIds, change)
      } finally {
        for (const id of dataSourceIds) this.#add(id, -1)
      }
    }
  }

  #add(id: string, difference: number): void {
    const changeCount = (this.#underWay.get(id)?.changeCount ?? 0) + difference
    // What is noted is never below zero.
    if (changeCount > 0) this.#underWay.set(id, { changeCount, number: -Math.random() })
    else this.#underWay.delete(id)
  }

  #notedOf(dataSourceId: string): number {
    return Number(this.#deps.settings.read(prefix + dataSourceId) ?? 0)
  }

  /** Changes of one data source may begin beside each other: each notes a number of its own. */
  async #note(dataSourceIds: readonly string[]): Promise<void> {
    const { settings, hasUnfinished } = this.#deps
    for (const id of dataSourceIds) {
      if (hasUnfinished(id)) await settings.change(prefix + id, (before = '0') => String(Number(before) + 1))
    }
  }
}
