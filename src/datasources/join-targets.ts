// Data sources whose rows come, by views at any depth, to a table with the engine Join. Such a table knows no deduplication
// tokens, so what is appended upstream would not be there exactly once; only a replace makes it anew.
//
// The views are asked of the engine, and the answer is kept until a definition changes: an append must not cost a query.

import type { Catalog } from '../catalog/catalog.ts'
import type { DataSourceId } from '../catalog/data-source.types.ts'
import type { Store } from '../store/store.types.ts'
import { SharedAnswer } from './shared-answer.ts'

interface Deps {
  readonly catalog: Pick<Catalog, 'list'>
  readonly store: Pick<Store, 'definitionVersion' | 'views'>
}

interface FedJoins {
  /** `Store.definitionVersion` for which this holds. */
  readonly version: number
  /** By the table that rows are appended to, the name of the Join data source that they come to. */
  readonly joins: ReadonlyMap<string, string>
}

export class JoinTargets {
  readonly #deps: Deps
  readonly #reading: SharedAnswer<FedJoins>
  #known: FedJoins | null = null

  constructor(deps: Deps) {
    this.#deps = deps
    this.#reading = new SharedAnswer(() => this.#read())
  }

  /** Null when rows come to none. A promise only after definitions have changed; raises `StoreError`. */
  behind(id: DataSourceId): string | null | Promise<string | null> {
    const known = this.#known
    if (known?.version === this.#deps.store.definitionVersion) return known.joins.get(id) ?? null
    return this.#reading.get().then(({ joins }) => joins.get(id) ?? null)
  }

  async #read(): Promise<FedJoins> {
    const { catalog, store } = this.#deps
    // Taken before the engine is asked: a change meanwhile makes the answer old.
    const version = store.definitionVersion
    const joins = new Map<string, string>()
    const targets = catalog.list().filter(({ engine }) => engine.name.toLowerCase() === 'join')
    const views = targets.length === 0 ? [] : (await store.views.graph()).views
    for (const { id, name } of targets) {
      const feeding = new Set<string>([id])
      // A Set gives what is added while it is walked.
      for (const table of feeding) {
        for (const { source, target } of views) if (target === table) feeding.add(source)
      }
      for (const table of feeding) if (table !== id) joins.set(table, name)
    }
    this.#known = { version, joins }
    return this.#known
  }
}
