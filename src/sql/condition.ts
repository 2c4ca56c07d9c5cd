// A condition of a caller that becomes part of a statement of ours, such as `replace_condition`. What it means, and whether
// its names are columns, is judged by the engine, as a reader, over a subquery that shows these columns and no others.

import { readRowExpression } from '../schema/row-expression.ts'
import { toSqlError } from '../schema/sql-fault.ts'
import { errors } from '../shared/errors.ts'

export interface Condition {
  /** The expression in brackets, of canonical tokens: no comment, nothing that was not understood. */
  readonly sql: string
  /** Every word and quoted name in it: columns, functions and keywords. */
  readonly names: ReadonlySet<string>
}

/** The condition decides of each row several times, in several statements: these would not say the same each time. */
const fickleFunctions =
  /^(?:(?:block|row)number\w*|blocksize|fuzz\w*|generate(?:random\w*|serialid|snowflakeid|ulid|uuid\w*)|lag\w*|lead\w*|neighbor|nowinblock\w*|rand\w*|running\w*)$/

const conditionBytesMax = 8 * 1024

/**
 * Reads one condition.
 *
 * @param name of the parameter, for messages.
 * @throws SQL_INVALID (400) with the reason.
 */
export function readCondition(text: string, name: string): Condition {
  if (Buffer.byteLength(text) > conditionBytesMax) {
    throw errors.SQL_INVALID({ reason: `${name} is longer than ${conditionBytesMax} bytes` })
  }
  try {
    const { sql, parsed } = readRowExpression(text, name)
    const fickle = parsed.calls.find((call) => fickleFunctions.test(call.name.toLowerCase()))
    if (fickle !== undefined) {
      throw errors.SQL_INVALID({ reason: `it must not call ${fickle.name}(), which gives another value each time` })
    }
    const names = parsed.tokens.filter(({ kind }) => kind === 'word' || kind === 'quotedName').map((one) => one.name)
    return { sql: `(${sql})`, names: new Set(names) }
  } catch (thrown) {
    throw toSqlError(thrown, text)
  }
}
