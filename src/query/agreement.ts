// The engine's own opinion of every query that we have compiled, asked once for each shape, before it runs.

import { assert } from '../shared/assert.ts'
import { BoundedCache } from '../shared/bounded-cache.ts'
import { mebibyte } from '../shared/bytes.ts'
import { ApiError } from '../shared/errors.ts'
import { type CompiledQuery, compileQuery } from '../sql/compile-query.ts'
import { checkAgreement } from '../sql/engine-agreement.ts'
import { shapeOf } from '../sql/query-shape.ts'
import type { Store } from '../store/store.types.ts'

const shapesMax = 20_000
const charactersMax = 32 * mebibyte

type TreeStore = Pick<Store, 'queryTree'>
type Plan = Pick<CompiledQuery, 'sql' | 'reading'>

/** Remembers what the engine has agreed to. */
export class Agreement {
  readonly #store: TreeStore
  /** Shapes of plans that were agreed to. */
  readonly #agreed = new WeakMap<Plan, string>()
  readonly #shapes = new BoundedCache<true>({ entriesMax: shapesMax, weightMax: charactersMax })

  constructor(store: TreeStore) {
    this.#store = store
  }

  /**
   * The shape of a plan to which the engine agrees.
   *
   * Raises SQL_INVALID (400) when the engine reads the query otherwise than we did, and `StoreError`.
   */
  async shapeOfAgreed(plan: Plan, signal: AbortSignal): Promise<string> {
    const known = this.#agreed.get(plan)
    if (known !== undefined) return known
    const shape = shapeOf(plan.sql)
    if (this.#shapes.get(shape) === undefined) {
      checkAgreement(plan.reading, await this.#store.queryTree(plan.sql, signal))
      this.#shapes.set(shape, true, shape.length)
    }
    this.#agreed.set(plan, shape)
    return shape
  }
}

/**
 * Checks that the engine tells its reading in the form that we know: another version may not.
 *
 * @throws Error when it does not; the service must not answer queries then.
 */
export async function checkEngineReading(store: TreeStore): Promise<void> {
  const sql = "WITH one AS (SELECT 1 AS a) SELECT upper('x') FROM one, numbers(2) WHERE number IN (SELECT a FROM one)"
  const plan = compileQuery(sql, { scope: { find: () => undefined } })
  const tree = await store.queryTree(plan.sql, new AbortController().signal)
  checkAgreement(plan.reading, tree)
  const overlooked = [
    { ...plan.reading, tableFunctions: new Set<string>() },
    { ...plan.reading, commonTables: new Set<string>() },
  ]
  for (const reading of overlooked)
    assert(isRefused(reading, tree), 'the engine tells what a query reads in a known form')
}

function isRefused(reading: CompiledQuery['reading'], tree: string): boolean {
  try {
    checkAgreement(reading, tree)
    return false
  } catch (thrown) {
    if (thrown instanceof ApiError) return true
    throw thrown
  }
}
