/**
 * Counts the changes of a data source after which the engine knows its blocks no more (truncate, replace, some alters), as long as
 * imports into it are interrupted: one that goes on behind such a change cannot tell which of its blocks in doubt are stored.
 */

import type { Settings } from '../../storage/settings.ts'

const prefix = 'table-changes-'

type RunChange = <Result>(dataSourceIds: readonly string[], change: () => Promise<Result>) => Promise<Result>

export interface TableChangesDeps {
  readonly settings: Settings
  /** Whether an import into the data source is not at its end. */
  readonly hasUnfinished: (dataSourceId: string) => boolean
}

export class TableChanges {
  readonly #deps: TableChangesDeps

  constructor(deps: TableChangesDeps) {
    this.#deps = deps
  }

  countOf(dataSourceId: string): number {
    return Number(this.#deps.settings.read(prefix + dataSourceId) ?? 0)
  }

  /** What `run` is for such changes, each of which is noted on disk before it begins. Rejects with DISK_UNAVAILABLE (503) too. */
  notedIn(run: RunChange): RunChange {
    return async (dataSourceIds, change) => {
      await this.#note(dataSourceIds)
      return await run(dataSourceIds, change)
    }
  }

  async #note(dataSourceIds: readonly string[]): Promise<void> {
    for (const id of dataSourceIds) {
      if (this.#deps.hasUnfinished(id)) await this.#deps.settings.write(prefix + id, String(this.countOf(id) + 1))
    }
  }
}
