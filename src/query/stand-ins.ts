// What is wrong with the text of a reader who may not know all that its pipes read.
//
// What the engine says of a query may name columns of anything in it, and quote values. So the text is tried once more over
// empty tables, each with the columns that a pipe gives: what fails there fails by the text, and can be told. All else may
// be the pipes' doing.

import { ApiError } from '../shared/errors/errors.ts'
import { quoteName, quoteString } from '../shared/text-escapes.ts'
import { type CompiledQuery, compileQuery } from '../sql/compile-query.ts'
import { filteredSettings } from '../sql/query-policy.ts'
import type { NameScope, QuerySource, Source } from '../sql/source.types.ts'
import { UndescribedOutput } from '../sql/undescribed-output.ts'
import type { Store } from '../store/store.types.ts'
import { StoreError } from '../store/store-error.ts'
import type { Agreement } from './agreement.ts'
import { faultOf } from './broken-filter.ts'
import type { ColumnCheck } from './column-check.ts'
import { columnsBy, describings } from './describe-query.ts'
import type { OutputColumns } from './output-columns.ts'
import type { FaultAlone } from './run.types.ts'

export interface AloneDeps {
  readonly store: Pick<Store, 'select'>
  readonly agreement: Agreement
  readonly columns: ColumnCheck
  readonly outputs: OutputColumns
}

/** A text of a reader, with what its names stand for. */
export interface OwnText {
  readonly text: string
  readonly scope: NameScope
  readonly catalogVersion: number
  /** Whether it is read as a whole; else the engine only says what it gives. */
  readonly isRun: boolean
}

/** The fault that the text has without its pipes; null where none is found, or one of the pipes has no columns. */
export async function faultAlone(own: OwnText, deps: AloneDeps, signal: AbortSignal): Promise<FaultAlone | null> {
  try {
    const tables = await emptyTables(own, deps, signal)
    const plan = compileQuery(own.text, { scope: withEmptyTables(own.scope, tables) })
    const thrown = await faultOfPlan({ plan, isRun: own.isRun }, deps, signal)
    return thrown === null || !(await areTables(tables, deps, signal)) ? null : { thrown, plan }
  } catch (thrown) {
    // The pipes are at fault, or have changed meanwhile: the failure that led here is told, without a reason.
    if (thrown instanceof StoreError || thrown instanceof ApiError || thrown instanceof UndescribedOutput) return null
    throw thrown
  }
}

/** By the ids and variants of the pipes that the text reads, the query of an empty table. */
type EmptyTables = ReadonlyMap<string, string>

async function emptyTables(own: OwnText, { outputs }: AloneDeps, signal: AbortSignal): Promise<EmptyTables> {
  const { text, scope, catalogVersion } = own
  const outputOf = (sql: string) => outputs.find(catalogVersion, sql)
  const sources = new Map<string, QuerySource>()
  const noting = withSources(scope, (source) => {
    sources.set(keyOf(source), source)
    return source
  })
  compileQuery(text, { scope: noting, outputOf })
  const tables = new Map<string, string>()
  for (const [key, source] of sources) {
    const plan = compileQuery(source.sql(), { scope: source.scope, outputOf })
    if (outputs.find(catalogVersion, plan.sql) === undefined) {
      await outputs.ask(plan, { catalogVersion, sql: plan.sql }, signal)
    }
    const columns = outputs.find(catalogVersion, plan.sql) ?? []
    const structure = columns.map(({ name, typeText }) => `${quoteName(name)} ${typeText}`).join(', ')
    tables.set(key, `SELECT * FROM null(${quoteString(structure)})`)
  }
  return tables
}

function withEmptyTables(scope: NameScope, tables: EmptyTables): NameScope {
  return withSources(scope, (source) => {
    const sql = tables.get(keyOf(source))
    if (sql === undefined) return source
    const { name, id } = source
    return { kind: 'query', id: `empty ${id}`, name, sql: () => sql, scope: { find: () => undefined } }
  })
}

function withSources(scope: NameScope, change: (source: QuerySource) => QuerySource): NameScope {
  const { isDiscreet = false, isForeign = false } = scope
  return {
    isDiscreet,
    isForeign,
    find(parts): Source | 'denied' | undefined {
      const found = scope.find(parts)
      return found === undefined || found === 'denied' || found.kind === 'table' ? found : change(found)
    },
    advise: (parts) => scope.advise?.(parts),
  }
}

function keyOf({ id, variant = '' }: QuerySource): string {
  return `${id} ${variant}`
}

/** What stands before a query that is not run. */
export const [, describingAlone] = describings

/** What the engine says of a plan; null where it takes it. */
export async function faultOfPlan(
  { plan, isRun }: { readonly plan: CompiledQuery; readonly isRun: boolean },
  { store, agreement, columns }: AloneDeps,
  signal: AbortSignal,
): Promise<unknown> {
  try {
    await agreement.shapeOfAgreed(plan, signal)
    await columns.check(plan, signal)
    if (isRun) return await faultOf(plan, { store, signal })
    await columnsBy(describingAlone, plan, { store, signal })
    return null
  } catch (thrown) {
    if (thrown instanceof ApiError || thrown instanceof StoreError) return thrown
    throw thrown
  }
}

/** Whether the engine makes such tables at all: some types are of queries alone. */
async function areTables(tables: EmptyTables, { store }: AloneDeps, signal: AbortSignal): Promise<boolean> {
  for (const sql of tables.values()) {
    const plan = compileQuery(sql, { scope: { find: () => undefined } })
    const settings = { ...plan.settings, ...filteredSettings }
    if ((await faultOf({ sql: plan.sql, settings }, { store, signal })) !== null) return false
  }
  return true
}
