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
import { blankRowInsert } from '../../schema/columns/blank-row.ts'
import type { ColumnDefinition } from '../../schema/columns/column-definition.types.ts'
import { formatSchema } from '../../schema/columns/schema-parser.ts'
import { columnsClause, engineClause } from '../../schema/definitions/table-definition.ts'
import { type ApiError, errors } from '../../shared/errors/errors.ts'
import { toChangeError } from '../../store/caller-errors.ts'
import { clickhouseCodes } from '../../store/engine-codes.ts'
import { withoutInternals } from '../../store/engine-message.ts'
import type { Store } from '../../store/store.types.ts'
import { StoreError } from '../../store/store-error.ts'
import { checkDefinedNames, columnFault, toDefinitionError } from '../definition-fault.ts'
import { createTable, createTables, dropTables, qualified } from '../tables.ts'

type Tables = Pick<Store, 'command' | 'rows'>

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
export async function tryDefinition(tables: Tables, defined: DataSource, schema: string | undefined): Promise<void> {
  checkDefinedNames(defined, schema)
  // Tables without rows and without an entry are dropped at the start, so a kill in between leaves none for long.
  const dataSource = { ...defined, id: createDataSourceId() }
  const refused = { dataSource, schema: schema ?? formatSchema(defined.columns) }
  try {
    await createTables(tables, dataSource)
    await tryBlankRow(tables, dataSource, refused.schema)
  } catch (thrown) {
    throw await toDefinitionError(thrown, refused, tables)
  } finally {
    await dropTables(tables, dataSource.id).catch((error: unknown) => Promise.reject(toChangeError(error)))
  }
}

/**
 * Tries the row. Precondition: the engine took the definition.
 *
 * @throws SCHEMA_INVALID, ENGINE_INVALID (400) when no row can get through; StoreError. A row that is refused for what is in
 * it says nothing.
 */
export async function tryBlankRow(tables: Tables, defined: DataSource, schema: string): Promise<void> {
  const fault = (await defaultFault(tables, defined, schema)) ?? (await keyFault(tables, defined))
  if (fault !== null) throw fault
}

async function defaultFault(tables: Tables, defined: DataSource, schema: string): Promise<ApiError | null> {
  const { id, columns } = defined
  const computes = !isPlainTable(defined)
  const computed = columns.filter(isComputed)
  const tryDefaults = (some: readonly ColumnDefinition[]) =>
    tryRow(tables, id + trialSuffix, { ...trialTable(columns, some), computes })
  if (computed.length === 0 || (await tryDefaults(computed)) === null) return null
  for (const column of computed) {
    const failure = await tryDefaults([column])
    if (failure !== null) return columnFault(column, failure, schema)
  }
  return null
}

/** The fault of a key, a TTL or an index. */
async function keyFault(tables: Tables, defined: DataSource): Promise<ApiError | null> {
  const { id, columns, engine, indexes } = defined
  const texts = [...Object.values(engine.options), ...indexes.map(({ expression }) => expression)]
  if (!texts.some((text) => text.includes('('))) return null
  const definition = `(${columnsClause(columns, indexes)}) ${engineClause(engine, columns)}`
  const failure = await tryRow(tables, id + trialSuffix, { definition, columns, computes: !isPlainTable(defined) })
  return failure === null ? null : errors.ENGINE_INVALID({ reason: withoutInternals(failure.message), cause: failure })
}

interface TrialTable {
  readonly definition: string
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
  const settings = 'SETTINGS allow_suspicious_low_cardinality_types = 1'
  return { definition: `(${columnsClause(all)}) ENGINE = Null ${settings}`, columns: all }
}

async function tryRow(
  tables: Tables,
  table: string,
  { definition, columns, computes }: TrialTable,
): Promise<StoreError | null> {
  const drop = `DROP TABLE IF EXISTS ${qualified(table)}`
  try {
    await tables.command(drop)
    await createTable(tables, table, { definition, computes })
    await tables.command(blankRowInsert(qualified(table), columns), { computes })
    return null
  } catch (thrown) {
    if (!(thrown instanceof StoreError) || thrown.kind !== 'engine') throw thrown
    return faultCodes.has(thrown.clickhouseCode) ? thrown : null
  } finally {
    await tables.command(drop)
  }
}
