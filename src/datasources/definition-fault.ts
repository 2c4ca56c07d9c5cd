// Whose fault it is when the engine refuses a table: the schema's, the engine parameters', or the engine's own.

import type { DataSource } from '../catalog/data-source.types.ts'
import { isPlainTable } from '../ingest/insert/plain-table.ts'
import type { ColumnDefinition } from '../schema/columns/column-definition.types.ts'
import { formatSchema } from '../schema/columns/schema-parser.ts'
import { bareNameFault } from '../schema/definitions/definition-faults.ts'
import type { IndexDefinition } from '../schema/definitions/index-definition.ts'
import { rowlessTableDefinition, tableDefinition } from '../schema/definitions/table-definition.ts'
import { readTextTokens } from '../schema/syntax/text-tokens.ts'
import { type ApiError, errors } from '../shared/errors/errors.ts'
import { toChangeError } from '../store/caller-errors.ts'
import { clickhouseCodes } from '../store/engine-codes.ts'
import { withoutInternals } from '../store/engine-message.ts'
import { isFaultOfEngine, isTooCostly, StoreError } from '../store/store-error.ts'
import type { Tables } from '../store/tables.types.ts'
import { dropTables } from './tables.ts'

interface RefusedDefinition {
  readonly dataSource: DataSource
  /** The schema string that the columns came from. */
  readonly schema: string
}

/**
 * What the caller is told when the engine refused the tables of `dataSource`: ENGINE_INVALID or SCHEMA_INVALID (400), or
 * that it is no fault of the request. Errors that are not the store's pass unchanged.
 *
 * Tries parts of the definition in a table that keeps no rows, under the id of the data source; none is left behind.
 */
export async function toDefinitionError(
  thrown: unknown,
  refused: RefusedDefinition,
  tables: Pick<Tables, 'create' | 'drop'>,
): Promise<unknown> {
  if (!(thrown instanceof StoreError)) return thrown
  if (isTooCostly(thrown)) return errors.DEFINITION_TOO_COSTLY({ reason: costOf(thrown), cause: thrown })
  if (thrown.kind !== 'engine' || isFaultOfEngine(thrown)) return toChangeError(thrown)
  const fault = (await schemaFault(refused, tables)) ?? (await indexFault(refused, tables))
  return fault ?? errors.ENGINE_INVALID({ reason: withoutInternals(thrown.message), cause: thrown })
}

/**
 * Refuses a definition whose expressions call functions by bare names that are no columns of it.
 *
 * @throws SCHEMA_INVALID, INDEX_INVALID, ENGINE_INVALID (400).
 */
export function checkDefinedNames(dataSource: DataSource, schema = formatSchema(dataSource.columns)): void {
  const fault = bareNameFault(dataSource)
  if (fault === undefined) return
  const { part, place, reason } = fault
  if (part === 'index') throw errors.INDEX_INVALID({ reason })
  if (part === 'engine') throw errors.ENGINE_INVALID({ reason })
  const column = dataSource.columns.find(({ name }) => place === `column '${name}'`)
  throw errors.SCHEMA_INVALID({ reason: `${place}: ${reason}`, ...positionOf(schema, column) })
}

/** A clause. The engine names queries of its own behind the limit. */
function costOf({ message }: StoreError): string {
  const memory = /\bmaximum: ([\d.]+ \w+)/.exec(message)?.[1]
  return memory === undefined ? withoutInternals(message) : `it takes more than ${memory} of memory`
}

/** The fault of an index, if the tables are refused with it and taken without. */
async function indexFault({ dataSource }: RefusedDefinition, tables: Pick<Tables, 'create' | 'drop'>) {
  const { id, columns, engine, indexes } = dataSource
  const computes = !isPlainTable(dataSource)
  const tryIndexes = async (tried: readonly IndexDefinition[]): Promise<StoreError | null> => {
    try {
      await tables.create(id, tableDefinition({ columns, engine, indexes: tried }), { computes })
      await dropTables(tables, id)
      return null
    } catch (thrown) {
      if (thrown instanceof StoreError && thrown.kind === 'engine') return thrown
      throw thrown
    }
  }
  if (indexes.length === 0 || (await tryIndexes([])) !== null) return null
  for (const index of indexes) {
    const fault = await tryIndexes([index])
    if (fault !== null)
      return errors.INDEX_INVALID({ reason: `'${index.name}': ${withoutInternals(fault.message)}`, cause: fault })
  }
  return null
}

type TryColumns = (columns: readonly ColumnDefinition[]) => Promise<StoreError | null>

/** The fault of the schema, if the columns alone are refused too. */
async function schemaFault(
  { dataSource, schema }: RefusedDefinition,
  tables: Pick<Tables, 'create' | 'drop'>,
): Promise<ApiError | null> {
  const { id, columns } = dataSource
  const computes = !isPlainTable(dataSource)
  const tryColumns: TryColumns = async (tried) => {
    try {
      await tables.create(id, rowlessTableDefinition(tried), { computes })
      await dropTables(tables, id)
      return null
    } catch (thrown) {
      if (thrown instanceof StoreError && thrown.kind === 'engine') return thrown
      throw thrown
    }
  }
  const fault = await tryColumns(columns)
  if (fault === null) return null
  return columnFault(await findCulprit(columns, tryColumns), fault, schema)
}

/** That the engine refused a schema for the DEFAULT or CODEC of a column, or, when that is undefined, for a type. */
export function columnFault(culprit: ColumnDefinition | undefined, fault: StoreError, schema: string): ApiError {
  const reason = culpritText(culprit) + (unknownName(culprit, fault) ?? withoutInternals(fault.message))
  return errors.SCHEMA_INVALID({ reason, ...positionOf(schema, culprit), cause: fault })
}

/** Where a name is all of a DEFAULT, the engine calls it by the column that it stands for. */
function unknownName(culprit: ColumnDefinition | undefined, { clickhouseCode }: StoreError): string | null {
  const name = culprit?.defaultExpression ?? ''
  const isUnknown = clickhouseCode === clickhouseCodes.unknownIdentifier && /^[A-Za-z_]\w*$/.test(name)
  return isUnknown ? `there is no column '${name}'` : null
}

/** What the fault is in; the engine's own words speak of columns that it made up for a trial. */
function culpritText(culprit: ColumnDefinition | undefined): string {
  if (culprit === undefined) return ''
  const { name, defaultExpression, codec } = culprit
  const attributes = [
    ...(defaultExpression === null ? [] : [`DEFAULT ${defaultExpression}`]),
    ...(codec === null ? [] : [`CODEC(${codec})`]),
  ]
  return `column '${name}' cannot have ${attributes.join(' ')}: `
}

/** The first column whose DEFAULT or CODEC is refused; undefined when it is none of them, but a type. */
async function findCulprit(
  columns: readonly ColumnDefinition[],
  tryColumns: TryColumns,
): Promise<ColumnDefinition | undefined> {
  for (const column of columns) {
    if (column.defaultExpression === null && column.codec === null) continue
    // A DEFAULT may speak of any other column, so all of them stay, with nothing but their types.
    const others = columns.map((other) =>
      other === column ? other : { ...other, defaultExpression: null, codec: null },
    )
    if ((await tryColumns(others)) !== null) return column
  }
  return undefined
}

/** Where the column stands in the schema, counting from 1; the beginning when it is unknown. */
function positionOf(schema: string, column: ColumnDefinition | undefined): { line: number; column: number } {
  const offset = column === undefined ? 0 : offsetOf(schema, column.name)
  const before = schema.slice(0, offset)
  return { line: before.split('\n').length, column: offset - before.lastIndexOf('\n') }
}

/** Where the definition of the column begins: its name is the first token of the schema, or the first behind a comma. */
function offsetOf(schema: string, name: string): number {
  let depth = 0
  let isFirst = true
  for (const { text, value, offset } of readTextTokens(schema)) {
    if (isFirst && value === name) return offset
    if (text === '(' || text === '[') depth += 1
    if (text === ')' || text === ']') depth -= 1
    isFirst = depth === 0 && text === ','
  }
  return 0
}
