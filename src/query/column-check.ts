// Asks the engine whether the names of a query that could be functions are columns; see `column-probe.ts`.

import type { CheckedQuery } from '../schema/expressions/checked-text.types.ts'
import { BoundedCache } from '../shared/bounded-cache.ts'
import { mebibyte } from '../shared/bytes.ts'
import { bareFunctionIn, type ColumnProbe, columnProbe, narrowColumnProbe } from '../sql/column-probe.ts'
import type { CompiledQuery } from '../sql/compile-query.ts'
import { wrapQuery } from '../sql/own-query.ts'
import { shapeOf } from '../sql/query-shape.ts'
import { clickhouseCodes } from '../store/engine-codes.ts'
import type { Store } from '../store/store.types.ts'
import { StoreError } from '../store/store-error.ts'
import type { WorkspaceReader } from './workspace.types.ts'

type Plan = Pick<CompiledQuery, 'sql' | 'settings' | 'reading'>
type AskedStore = Pick<Store, 'select'>

const shapesMax = 20_000
const charactersMax = 32 * mebibyte

/** Remembers the queries whose names are columns. */
export class ColumnCheck {
  readonly #store: AskedStore
  readonly #workspace: Pick<WorkspaceReader, 'catalogVersion'>
  readonly #passed = new WeakSet<Plan>()
  readonly #keys = new BoundedCache<true>({ entriesMax: shapesMax, weightMax: charactersMax })

  constructor(store: AskedStore, workspace: Pick<WorkspaceReader, 'catalogVersion'>) {
    this.#store = store
    this.#workspace = workspace
  }

  /** Raises what `checkColumns` does. */
  async check(plan: Plan, signal: AbortSignal): Promise<void> {
    if (this.#passed.has(plan)) return
    const probe = columnProbe(plan.sql)
    if (probe !== null) {
      const key = JSON.stringify([this.#workspace.catalogVersion, plan.settings, textOf(plan)])
      if (this.#keys.get(key) === undefined) {
        await checkColumns(plan, { store: this.#store, signal })
        this.#keys.set(key, true, key.length)
      }
    }
    this.#passed.add(plan)
  }
}

/** What the columns follow from: literals count where they may be patterns of names, or name columns. */
function textOf({ sql, reading }: Plan): string {
  const hasNamesInTexts = reading.tableFunctions.size > 0 || /\b(?:COLUMNS|EXCEPT)\b/i.test(sql)
  return hasNamesInTexts ? sql : shapeOf(sql)
}

interface Asking {
  readonly store: AskedStore
  readonly signal: AbortSignal
}

// The engine runs the scalar subqueries of a subquery in brackets, and those of a view not at all: it puts some value of
// their type in their place. Where that value is wrong, as a unit of time, the first way must tell.
const describings = ['DESCRIBE TABLE view(', 'DESCRIBE TABLE ('] as const

/**
 * Makes sure that no name of a query calls a function that is not allowed.
 *
 * @throws StoreError as the engine's own for a name that it does not know; and for whatever else is wrong with the query.
 */
export async function checkColumns(plan: Plan, { store, signal }: Asking): Promise<void> {
  const probe = columnProbe(plan.sql)
  if (probe === null) return
  const describe = (describing: string, query: CheckedQuery, settings: Plan['settings']): Promise<void> =>
    drain(store, { sql: wrapQuery(query, { before: describing, after: ')' }), settings, signal })
  const refusalOf = async ({ sql, settings }: ColumnProbe): Promise<StoreError | null> => {
    let refusal: StoreError | null = null
    for (const describing of describings) {
      try {
        await describe(describing, sql, { ...plan.settings, ...settings })
        return null
      } catch (thrown) {
        if (!isOfEngine(thrown)) throw thrown
        throwIfBare(thrown)
        refusal = thrown
      }
    }
    return refusal
  }
  const refusal = await refusalOf(probe)
  if (refusal === null) return
  // Whatever it is, the query alone most likely has it too, and the engine says it better.
  await describe(describings[1], plan.sql, plan.settings)
  const narrow = narrowColumnProbe(plan.sql)
  if (narrow === null || (await refusalOf(narrow)) !== null) throw refusal
}

function throwIfBare(thrown: StoreError): void {
  const name = bareFunctionIn(thrown.message)
  if (name === null) return
  const message = `Unknown expression identifier \`${name}\`. (UNKNOWN_IDENTIFIER)`
  throw new StoreError({ kind: 'engine', message, clickhouseCode: clickhouseCodes.unknownIdentifier, cause: thrown })
}

function isOfEngine(thrown: unknown): thrown is StoreError {
  return thrown instanceof StoreError && thrown.kind === 'engine'
}

async function drain(
  store: AskedStore,
  {
    sql,
    settings,
    signal,
  }: { readonly sql: CheckedQuery; readonly settings: Plan['settings']; readonly signal: AbortSignal },
): Promise<void> {
  for await (const _ of await store.select({ sql, shape: sql, format: 'Null', settings, signal }));
}
