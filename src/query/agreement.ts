// The engine's own opinion of every query that we have compiled, asked once for each shape, before it runs.

import { BoundedCache } from '../shared/bounded-cache.ts'
import { mebibyte } from '../shared/bytes.ts'
import type { CompiledQuery } from '../sql/compile-query.ts'
import { checkAgreement, verifyQueryTree } from '../sql/engine-agreement.ts'
import { ownQuery } from '../sql/own-query.ts'
import { shapeOf } from '../sql/query-shape.ts'
import { clickhouseCodes } from '../store/engine-codes.ts'
import type { Store } from '../store/store.types.ts'
import { StoreError } from '../store/store-error.ts'
import { checkColumns } from './column-check.ts'

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
  async shapeOfAgreed(plan: Plan, signal: AbortSignal, owner?: string): Promise<string> {
    const known = this.#agreed.get(plan)
    if (known !== undefined) return known
    const shape = shapeOf(plan.sql)
    if (this.#shapes.get(shape) === undefined) {
      checkAgreement(plan.reading, await this.#store.queryTree(plan.sql, signal, owner))
      this.#shapes.set(shape, true, shape.length)
    }
    this.#agreed.set(plan, shape)
    return shape
  }
}

/**
 * The check of each start, of the service and of the engine alone: the engine tells what it reads in the form that we know, our comparison finds what it is there for,
 * and readers are held to what they may read, whatever the rest lets through.
 *
 * @throws Error when one of these is not so; the service must not answer queries then.
 */
export async function verifySafeguards(store: Pick<Store, 'queryTree' | 'select'>): Promise<void> {
  const { signal } = new AbortController()
  await verifyQueryTree((sql) => store.queryTree(sql, signal))
  for (const sql of forbiddenReads.map(ownQuery)) {
    const outcome = await store.select({ sql, format: 'Null', settings: {}, signal }).catch((thrown: unknown) => thrown)
    const isDenied = outcome instanceof StoreError && outcome.clickhouseCode === clickhouseCodes.accessDenied
    if (!isDenied) throw new Error(`the engine lets a reader run what it must not: ${sql}`, { cause: outcome })
  }
  await verifyColumnCheck(store, signal)
}

/** The check tells the function from the column, a branch that is not taken among it, and inside of a view. */
async function verifyColumnCheck(store: Pick<Store, 'select'>, signal: AbortSignal): Promise<void> {
  const reading = { tables: new Map(), functions: new Set<string>(), tableFunctions: new Set<string>() }
  for (const [sql, isColumn] of columnProbes) {
    const plan = { sql: ownQuery(sql), settings: {}, reading: { ...reading, commonTables: new Set<string>() } }
    const outcome = await checkColumns(plan, { store, signal }).catch((thrown: unknown) => thrown)
    const { unknownIdentifier } = clickhouseCodes
    const isRefused = outcome instanceof StoreError && outcome.clickhouseCode === unknownIdentifier
    if (isColumn ? outcome !== undefined : !isRefused) {
      throw new Error(`the engine does not tell columns from functions: ${sql}`, { cause: outcome })
    }
  }
}

const columnProbes: readonly (readonly [sql: string, isColumn: boolean])[] = [
  ['SELECT user FROM (SELECT 1 AS user)', true],
  ['SELECT user FROM (SELECT 1 AS id)', false],
  ['SELECT 1 ? 1 : user', false],
  ['SELECT multiIf(1, 1, user), CASE WHEN 1 THEN 1 ELSE session_user END', false],
  ['SELECT * FROM view(SELECT currentUser AS id)', false],
  ['SELECT user FROM view(SELECT 1 AS user)', true],
]

/** Nothing of these is looked for by the parser: a reader of the engine has no right to any. */
const forbiddenReads = [
  'SELECT name FROM system.users',
  "SELECT line FROM file('none', 'LineAsString')",
  "SELECT * FROM url('http://127.0.0.1:9/', 'CSV', 'a String')",
  "SELECT * FROM remote('127.0.0.1:9', 'system', 'one')",
]
