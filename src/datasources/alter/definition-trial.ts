/**
 * One row with nothing in it, tried under a definition before anybody can use that.
 *
 * The engine takes a definition with expressions that it cannot evaluate over a column: an argument that must be a constant,
 * a name that only a table has that is read. No row would come in any more; whoever defines it is told so instead. What an
 * expression says of the row's own values is no fault of the definition.
 */

import type { DataSource } from '../../catalog/data-source.types.ts'
import { createDataSourceId } from '../../catalog/data-source-id.ts'
import { isPlainTable } from '../../ingest/insert/plain-table.ts'
import type { ColumnDefinition } from '../../schema/columns/column-definition.types.ts'
import { formatSchema } from '../../schema/columns/schema-parser.ts'
import { rowlessTableDefinition, tableDefinition } from '../../schema/definitions/table-definition.ts'
import type { TableDefinition } from '../../schema/expressions/checked-text.types.ts'
import { type ApiError, errors } from '../../shared/errors/errors.ts'
import { toChangeError } from '../../store/caller-errors.ts'
import { clickhouseCodes } from '../../store/engine-codes.ts'
import { withoutInternals } from '../../store/engine-message.ts'
import type { Store } from '../../store/store.types.ts'
import { StoreError } from '../../store/store-error.ts'
import { checkDefinedNames, columnFault, toDefinitionError } from '../definition-fault.ts'
import { createTables, dropTables } from '../tables.ts'

type TrialStore = Pick<Store, 'tables' | 'trials'>

/** A start drops what a kill leaves of it. */
const trialSuffix = '_trial'

const faultCodes: ReadonlySet<number | undefined> = new Set([
  clickhouseCodes.notFoundColumnInBlock,
  clickhouseCodes.illegalColumn,
  clickhouseCodes.unknownIdentifier,
])

/**
 * Makes tables of the definition under an id that nobody knows, and drops them: a definition that the engine refuses is
 * told before anything is changed.
 *
 * @throws SCHEMA_INVALID, ENGINE_INVALID, INDEX_INVALID (400); CHANGES_TOO_MANY, SHUTTING_DOWN (503); ENGINE_FAILED (500).
 */
export async function tryDefinition(store: TrialStore, defined: DataSource, schema: string | undefined): Promise<void> {
  checkDefinedNames(defined, schema)
  // Tables without rows and without an entry are dropped at the start, so a kill in between leaves none for long.
  const dataSource = { ...defined, id: createDataSourceId() }
  const refused = { dataSource, schema: schema ?? formatSchema(defined.columns) }
  try {
    await createTables(store.tables, dataSource)
    await tryBlankRow(store, dataSource, refused.schema)
  } catch (thrown) {
    throw await toDefinitionError(thrown, refused, store.tables)
  } finally {
    await dropTables(store.tables, dataSource.id).catch((error: unknown) => Promise.reject(toChangeError(error)))
  }
}

/**
 * Tries the row. Precondition: the engine took the definition.
 *
 * @throws SCHEMA_INVALID, ENGINE_INVALID (400) when no row can get through; StoreError. A row that is refused for what is in
 * it says nothing.
 */
export async function tryBlankRow(store: TrialStore, defined: DataSource, schema: string): Promise<void> {
  const fault = (await defaultFault(store, defined, schema)) ?? (await keyFault(store, defined))
  if (fault !== null) throw fault
}

async function defaultFault(store: TrialStore, defined: DataSource, schema: string): Promise<ApiError | null> {
  const { id, columns } = defined
  const computes = !isPlainTable(defined)
  const computed = columns.filter(isComputed)
  const tryDefaults = (some: readonly ColumnDefinition[]) =>
    tryRow(store, id + trialSuffix, { ...trialTable(columns, some), computes })
  if (computed.length === 0 || (await tryDefaults(computed)) === null) return null
  for (const column of computed) {
    const failure = await tryDefaults([column])
    if (failure !== null) return columnFault(column, failure, schema)
  }
  return null
}

/** The fault of a key, a TTL or an index. */
async function keyFault(store: TrialStore, defined: DataSource): Promise<ApiError | null> {
  const { id, columns, engine, indexes } = defined
  const texts = [...Object.values(engine.options), ...indexes.map(({ expression }) => expression)]
  if (!texts.some((text) => text.includes('('))) return null
  const definition = tableDefinition(defined)
  const failure = await tryRow(store, id + trialSuffix, { definition, columns, computes: !isPlainTable(defined) })
  return failure === null ? null : errors.ENGINE_INVALID({ reason: withoutInternals(failure.message), cause: failure })
}

interface TrialTable {
  readonly definition: TableDefinition
  readonly columns: readonly ColumnDefinition[]
  readonly computes: boolean
}

/** Constants and calls without arguments have nothing of a row in them. */
function isComputed({ defaultExpression }: ColumnDefinition): boolean {
  return defaultExpression !== null && !/^(?:-?[\d.]+|'[^'\\]*'|\[\]|\w+ ?\( ?\))$/.test(defaultExpression)
}

/** The columns as they are sent, and beside them, under names that no column can have, those whose DEFAULT is tried. */
function trialTable(
  columns: readonly ColumnDefinition[],
  tried: readonly ColumnDefinition[],
): Omit<TrialTable, 'computes'> {
  const sent = columns.map((column) => ({ ...column, defaultExpression: null, codec: null }))
  const computed = tried.map((column, index) => ({ ...column, name: `__${index}`, codec: null }))
  const all = [...sent, ...computed]
  return { definition: rowlessTableDefinition(all), columns: all }
}

async function tryRow(
  store: TrialStore,
  table: string,
  { definition, columns, computes }: TrialTable,
): Promise<StoreError | null> {
  try {
    await store.tables.drop(table)
    await store.tables.create(table, definition, { computes })
    await store.trials.insertBlankRow(table, columns, { computes })
    return null
  } catch (thrown) {
    if (!(thrown instanceof StoreError) || thrown.kind !== 'engine') throw thrown
    return faultCodes.has(thrown.clickhouseCode) ? thrown : null
  } finally {
    await store.tables.drop(table)
  }
}
