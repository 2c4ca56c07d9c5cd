// The columns of what pipes give, where a filter speaks of them. Only the engine knows them: it is asked once for each text.

import { parseColumnType } from '../schema/types/column-type.ts'
import type { ColumnType } from '../schema/types/column-type.types.ts'
import { BoundedCache } from '../shared/bounded-cache.ts'
import { mebibyte } from '../shared/bytes.ts'
import { TextError } from '../shared/text-error.ts'
import type { CompiledQuery } from '../sql/compile-query.ts'
import { filteredSettings } from '../sql/query-policy.ts'
import type { OutputColumn } from '../sql/source.types.ts'
import type { Store } from '../store/store.types.ts'
import type { Agreement } from './agreement.ts'
import type { ColumnCheck } from './column-check.ts'
import { describedColumns } from './describe-query.ts'

interface Deps {
  readonly store: Pick<Store, 'select'>
  readonly agreement: Agreement
  readonly columns: ColumnCheck
}

const textsMax = 10_000
const charactersMax = 32 * mebibyte
const columnCharacters = 100

/** Remembers the columns of queries. */
export class OutputColumns {
  readonly #deps: Deps
  readonly #known = new BoundedCache<readonly OutputColumn[]>({ entriesMax: textsMax, weightMax: charactersMax })

  constructor(deps: Deps) {
    this.#deps = deps
  }

  /** @param sql a query with everything in its place, as it stood in that version of the catalog. */
  find(catalogVersion: number, sql: string): readonly OutputColumn[] | undefined {
    return this.#known.get(keyOf(catalogVersion, sql))
  }

  /**
   * Asks the engine for the columns of a plan, and keeps them under the text that it has in another query.
   *
   * Raises what `Agreement.shapeOfAgreed` does, and `StoreError`.
   */
  async ask(plan: CompiledQuery, { catalogVersion, sql }: AskedText, signal: AbortSignal): Promise<void> {
    const { store, agreement, columns: check } = this.#deps
    await agreement.shapeOfAgreed(plan, signal)
    await check.check(plan, signal)
    const settings = { ...plan.settings, ...filteredSettings }
    const described = await describedColumns({ ...plan, settings }, { store, signal })
    const found = described.map(({ name, type }) => ({ name, typeText: type, type: typeOf(type) }))
    const key = keyOf(catalogVersion, sql)
    this.#known.set(key, found, key.length + found.length * columnCharacters)
  }
}

export interface AskedText {
  readonly catalogVersion: number
  readonly sql: string
}

function keyOf(catalogVersion: number, sql: string): string {
  return `${catalogVersion} ${sql}`
}

function typeOf(text: string): ColumnType | undefined {
  try {
    return parseColumnType(text)
  } catch (thrown) {
    if (thrown instanceof TextError) return undefined
    throw thrown
  }
}
