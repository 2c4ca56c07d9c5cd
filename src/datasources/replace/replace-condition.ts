// The condition of a replace, judged before anything is read or touched.

import type { DataSource } from '../../catalog/data-source.types.ts'
import type { CheckedExpression } from '../../schema/expressions/checked-text.types.ts'
import { type ApiError, errors } from '../../shared/errors/errors.ts'
import type { GraphTable, Trials } from '../../store/tables.types.ts'
import { readRowCondition, tryRowCondition } from '../row-condition.ts'
import { partitionColumns } from './replace-keys.ts'

/**
 * Gives the condition as SQL over the columns of the table, in brackets.
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
  const seconds = Math.floor(Date.now() / 1_000)
  const condition = readRowCondition({ text, parameter: 'replace_condition', table, seconds, invalid })
  if (!keyColumns.some((column) => condition.names.has(column))) {
    throw invalid(`it must contain the partition field (${keyColumns.join(', ')}) of Data Source "${name}"`)
  }
  return await tryRowCondition(trials, condition, { table, text, invalid })
}

/** What a reader is told of a condition that the engine refuses. */
function invalid(reason: string): ApiError {
  return errors.REPLACE_CONDITION_INVALID({ reason })
}
