import { pairBrackets } from './bracket-pairs.ts'
import { parseCall } from './call-parser.ts'
import { parseExpression } from './expression-parser.ts'
import { readTokens } from './lexer.ts'
import type { ParsedQuery } from './parsed-query.types.ts'
import { SqlCursor } from './sql-cursor.ts'
import { SqlFault } from './sql-fault.ts'

/**
 * What one expression says, as if it stood in a SELECT over a table.
 *
 * @param what it is, for messages: `A row filter`.
 * @throws SqlFault when it is no expression, more than one, or holds a query.
 */
export function parseOneExpression(sql: string, what: string): ParsedQuery {
  const refusal = (): SqlFault => new SqlFault(`${what} can not read a table`)
  return parseExpressions(sql, { refusal, parse: (cursor) => void parseExpression(cursor, 'none') })
}

export interface ExpressionGrammar {
  /** Takes all of the text. */
  readonly parse: (cursor: SqlCursor) => void
  /** What is said of a query inside. */
  readonly refusal: (cursor: SqlCursor) => SqlFault
}

/** The same for a text of several expressions, with what else its grammar has. @throws SqlFault */
export function parseExpressions(sql: string, { parse, refusal }: ExpressionGrammar): ParsedQuery {
  const parseQuery = (cursor: SqlCursor): never => {
    throw refusal(cursor)
  }
  const tokens = readTokens(sql)
  const cursor = new SqlCursor({ sql, tokens, brackets: pairBrackets(tokens) }, { parseQuery, parseCall })
  cursor.scope = cursor.openScope(-1)
  parse(cursor)
  if (!cursor.isAtEnd) cursor.refuse('expected the end of the expression')
  return parsedOf(cursor, { bodyEnd: tokens.length, queryEnd: tokens.length, format: null, settings: [] })
}

/** What a parser found on its way to the end of a text. */
export function parsedOf(
  { tokens, scopes, reads, calls, tableFunctions, names, patterns, stars, windows, constants }: SqlCursor,
  end: Pick<ParsedQuery, 'bodyEnd' | 'queryEnd' | 'format' | 'settings'>,
): ParsedQuery {
  // Some reads are noted when what stands behind them is known.
  const inOrder = [...reads].sort((one, other) => one.start - other.start)
  return { tokens, ...end, scopes, reads: inOrder, calls, tableFunctions, names, patterns, stars, windows, constants }
}
