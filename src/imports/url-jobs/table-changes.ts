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

export class TableChanges {
  readonly #deps: TableChangesDeps
  /** How many changes of a data source are under way. */
  readonly #underWay = new Map<string, number>()

  constructor(deps: TableChangesDeps) {
    this.#deps = deps
  }

  /** Another number behind each change, and while one is under way a number that there never is again. */
  countOf(dataSourceId: string): number {
    const count = this.#notedOf(dataSourceId)
    return this.#underWay.has(dataSourceId) ? count - 0.5 : count
  }

  /** What `run` is for such changes, each of which is noted on disk before it begins. Rejects with CHANGES_TOO_MANY and DISK_UNAVAILABLE (503) too. */
  notedIn(run: RunChange): RunChange {
    return async (dataSourceIds, change) => {
      for (const id of dataSourceIds) this.#underWay.set(id, (this.#underWay.get(id) ?? 0) + 1)
      try {
        await this.#note(dataSourceIds)
        return await run(dataSourceIds, change)
      } finally {
        for (const id of dataSourceIds) this.#end(id)
      }
    }
  }

  #end(id: string): void {
    const left = (this.#underWay.get(id) ?? 0) - 1
    if (left > 0) this.#underWay.set(id, left)
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
