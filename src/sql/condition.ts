// A condition of a caller that becomes part of a statement of ours, such as `replace_condition`. What it means, and whether
// its names are columns, is judged by the engine, as a reader, over a subquery that shows these columns and no others.

import type { CheckedExpression } from '../schema/expressions/checked-text.types.ts'
import { readRowExpression } from '../schema/expressions/row-expression.ts'
import { isStoredFunction } from '../schema/expressions/stored-expression.ts'
import { isBareFunction } from '../schema/functions/bare-functions.ts'
import { splice } from '../schema/syntax/splice.ts'
import { toSqlError } from '../schema/syntax/sql-fault.ts'
import { errors } from '../shared/errors/errors.ts'
import { type ConditionMoment, isFickleFunction, settleValues } from './fickle-functions.ts'

export interface Condition {
  /** The expression in brackets, of canonical tokens: no comment, nothing that was not understood. */
  readonly sql: CheckedExpression
  /** Every word and quoted name in it: columns, functions and keywords. */
  readonly names: ReadonlySet<string>
  /** Those of them that call a function of the session unless they are columns. */
  readonly bareNames: readonly string[]
}

const conditionBytesMax = 8 * 1024

/**
 * Reads one condition.
 *
 * @param name of the parameter, for messages.
 * @param moment whose time the condition is about, whenever it is asked.
 * @throws SQL_INVALID (400) with the reason.
 */
export function readCondition(text: string, name: string, moment: ConditionMoment): Condition {
  if (Buffer.byteLength(text) > conditionBytesMax) {
    throw errors.SQL_INVALID({ reason: `${name} is longer than ${conditionBytesMax} bytes` })
  }
  try {
    const { parsed } = readRowExpression(text, name)
    const edits = settleValues(parsed, moment)
    const ofSession = parsed.calls.find((call) => call.isCalled && !isStoredFunction(call.name))
    if (ofSession !== undefined) throw errors.SQL_INVALID({ reason: `it must not call ${ofSession.name}()` })
    const names = parsed.tokens.filter(({ kind }) => kind === 'word' || kind === 'quotedName').map((one) => one.name)
    const alone = parsed.names.flatMap(({ start, end }) =>
      end === start + 1 ? [parsed.tokens[start]?.name ?? ''] : [],
    )
    const bareNames = alone.filter((one) => isBareFunction(one) && (!isStoredFunction(one) || isFickleFunction(one)))
    const { tokens, bodyEnd: end } = parsed
    const sql = splice({ source: text, node: null, tokens, end, edits }).text
    // It is parsed, and its calls are allowed.
    return { sql: `(${sql})` as CheckedExpression, names: new Set(names), bareNames }
  } catch (thrown) {
    throw toSqlError(thrown, text)
  }
}
