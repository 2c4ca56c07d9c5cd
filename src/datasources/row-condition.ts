// A condition of a caller over the rows of one table, judged before anything is touched.

import type { CheckedExpression } from '../schema/expressions/checked-text.types.ts'
import { ApiError } from '../shared/errors/errors.ts'
import { type Condition, readCondition } from '../sql/condition.ts'
import { toCopyError } from '../store/caller-errors.ts'
import { withoutInternals } from '../store/engine-message.ts'
import { rowsAlias } from '../store/sql/rows-alias.ts'
import { isOfItsMemory, isTooCostly, StoreError } from '../store/store-error.ts'
import type { GraphTable, Trials } from '../store/tables.types.ts'

export interface AskedCondition {
  readonly text: string
  /** The parameter that it is in, for messages. */
  readonly parameter: string
  readonly table: Pick<GraphTable, 'columns' | 'name'>
  /** What the condition calls now, in epoch seconds. */
  readonly seconds: number
  /** Makes the error that the caller is told. */
  readonly invalid: (reason: string) => ApiError
}

/** Reads a condition, as far as it can be judged without the engine. @throws what `invalid` makes. */
export function readRowCondition({ text, parameter, table, seconds, invalid }: AskedCondition): Condition {
  if (/^\s*where\s/i.test(text) && !table.columns.some((column) => column.toLowerCase() === 'where')) {
    throw invalid('it is the condition alone, without the word WHERE before it')
  }
  const condition = read(text, { parameter, columns: table.columns, seconds, invalid })
  if (condition.names.has(rowsAlias)) throw invalid(`it must not use the name ${rowsAlias}`)
  // The statements that it becomes part of run as the service.
  const name = condition.bareNames.find((one) => !table.columns.includes(one))
  if (name !== undefined) throw invalid(`there is no column '${name}'`)
  return condition
}

/**
 * Has the engine judge a condition as a reader does, over a subquery with the columns and no rows: there is nothing else that its
 * names could be. Then it is tried on a row with nothing in it, within the limit of a query: what it becomes part of has none.
 *
 * @returns it as SQL over the columns of the table, in brackets.
 * @throws what `invalid` makes, and states of the engine (503).
 */
export async function tryRowCondition(
  trials: Trials,
  { sql }: Condition,
  { table, text, invalid }: Pick<AskedCondition, 'invalid' | 'table' | 'text'>,
): Promise<CheckedExpression> {
  const tried = { table: table.name, columns: table.columns, condition: sql }
  try {
    await trials.judgeCondition(tried)
    await trials.computeCondition(tried).catch(throwIfCostly)
  } catch (thrown) {
    if (isOfItsMemory(thrown)) throw invalid(withoutInternals(thrown.message))
    throw toCopyError(thrown, (reason) => invalid(withHint(reason, text)))
  }
  return sql
}

/** What stands in double quotes is a column, and many mean a text. */
function withHint(reason: string, text: string): string {
  return /^Unknown (expression|identifier|expression identifier)/i.test(reason) && text.includes('"')
    ? `${reason}; a text stands in single quotes`
    : reason
}

/** What the condition says of values that no row may have is no fault of it. */
function throwIfCostly(thrown: unknown): void {
  if (!(thrown instanceof StoreError) || thrown.kind !== 'engine' || isTooCostly(thrown)) throw thrown
}

interface Reading extends Pick<AskedCondition, 'invalid' | 'parameter' | 'seconds'> {
  readonly columns: readonly string[]
}

function read(text: string, { parameter, columns, seconds, invalid }: Reading): Condition {
  try {
    return readCondition(text, parameter, { columns, seconds })
  } catch (thrown) {
    if (thrown instanceof ApiError && thrown.code === 'SQL_INVALID') throw invalid(thrown.message)
    throw thrown
  }
}
