// The condition of a replace, judged before anything is read or touched.

import type { DataSource } from '../../catalog/data-source.types.ts'
import type { CheckedExpression } from '../../schema/expressions/checked-text.types.ts'
import { ApiError, errors } from '../../shared/errors/errors.ts'
import { type Condition, readCondition } from '../../sql/condition.ts'
import type { ConditionMoment } from '../../sql/fickle-functions.ts'
import { toCopyError } from '../../store/caller-errors.ts'
import { rowsAlias } from '../../store/sql/rows-alias.ts'
import { isTooCostly, StoreError } from '../../store/store-error.ts'
import type { GraphTable, Trials } from '../../store/tables.types.ts'
import { partitionColumns } from './replace-keys.ts'

/**
 * Gives the condition as SQL over the columns of the table, in brackets.
 *
 * The engine judges it as a reader does, over a subquery with the columns and no rows: there is nothing else that its names
 * could be. Then it is tried on a row with nothing in it, within the limit of a query: a copy has none.
 *
 * @throws REPLACE_CONDITION_INVALID (400).
 */
export async function checkCondition(
  trials: Trials,
  text: string,
  { name, table }: { readonly name: DataSource['name']; readonly table: GraphTable },
): Promise<CheckedExpression> {
  const keyColumns = partitionColumns(table)
  if (keyColumns.length === 0) {
    throw invalid(
      `Data Source "${name}" has no partition key; replace all of it, or create it with engine_partition_key`,
    )
  }
  const condition = read(text, { columns: table.columns, seconds: Math.floor(Date.now() / 1_000) })
  if (condition.names.has(rowsAlias)) throw invalid(`it must not use the name ${rowsAlias}`)
  if (!keyColumns.some((column) => condition.names.has(column))) {
    throw invalid(`it must contain the partition field (${keyColumns.join(', ')}) of Data Source "${name}"`)
  }
  refuseBareNames(condition, table.columns)
  const tried = { table: table.name, columns: table.columns, condition: condition.sql }
  try {
    await trials.judgeCondition(tried)
    await trials.computeCondition(tried).catch(throwIfCostly)
  } catch (thrown) {
    throw toCopyError(thrown, invalid)
  }
  return condition.sql
}

/** What the condition says of values that no row may have is no fault of it. */
function throwIfCostly(thrown: unknown): void {
  if (!(thrown instanceof StoreError) || thrown.kind !== 'engine' || isTooCostly(thrown)) throw thrown
}

/** The statements of a replace run as the service. */
function refuseBareNames({ bareNames }: Condition, columns: readonly string[]): void {
  const name = bareNames.find((one) => !columns.includes(one))
  if (name !== undefined) throw invalid(`there is no column '${name}'`)
}

/** What a reader is told of a condition that the engine refuses. */
function invalid(reason: string): ApiError {
  return errors.REPLACE_CONDITION_INVALID({ reason })
}

function read(text: string, moment: ConditionMoment): Condition {
  try {
    return readCondition(text, 'replace_condition', moment)
  } catch (thrown) {
    if (thrown instanceof ApiError && thrown.code === 'SQL_INVALID') throw invalid(thrown.message)
    throw thrown
  }
}
