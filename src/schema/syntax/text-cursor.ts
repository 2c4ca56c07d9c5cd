import { pairBrackets } from './bracket-pairs.ts'
import { readTokens } from './lexer.ts'
import { type Grammar, SqlCursor } from './sql-cursor.ts'
import { SqlFault } from './sql-fault.ts'

const noExpressions: Grammar = { parseQuery: refuseAll, parseCall: refuseAll }

function refuseAll(): never {
  throw new SqlFault('only names, types and literals are allowed here')
}

/** A cursor over a text that holds no expression, such as a list of columns with their types. @throws SqlFault */
export function textCursor(sql: string): SqlCursor {
  const tokens = readTokens(sql)
  return new SqlCursor({ sql, tokens, brackets: pairBrackets(tokens) }, noExpressions)
}
