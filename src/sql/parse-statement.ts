import { pairBrackets } from './bracket-pairs.ts'
import { parseExpression, startsQuery } from './expression-parser.ts'
import { readTokens } from './lexer.ts'
import type { ParsedQuery } from './parsed-query.types.ts'
import { grammar, parseQuery, parseSettings } from './query-parser.ts'
import { SqlCursor } from './sql-cursor.ts'
import { SqlFault } from './sql-fault.ts'

/**
 * What one text of SQL says, a single query with its FORMAT and SETTINGS; null when there is no token in it.
 *
 * @throws SqlFault for everything else.
 */
export function parseStatement(sql: string): ParsedQuery | null {
  const all = readTokens(sql)
  const tokens = all.slice(0, all.findLastIndex(({ key }) => key !== ';') + 1)
  if (tokens.length === 0) return null
  const cursor = new SqlCursor({ sql, tokens, brackets: pairBrackets(tokens) }, grammar)
  checkStatement(cursor, sql)
  parseQuery(cursor, null)
  const { bodyEnd, bodySettings } = endOfBody(cursor)
  const queryEnd = cursor.index
  const format = parseEnd(cursor)
  const settings = cursor.settings.map((setting, index) => ({ ...setting, isOuter: index >= bodySettings }))
  return parsedOf(cursor, { bodyEnd, queryEnd, format, settings })
}

/**
 * What one expression says, as if it stood in a SELECT over a table.
 *
 * @throws SqlFault when it is no expression, or more than one.
 */
export function parseOneExpression(sql: string): ParsedQuery {
  const tokens = readTokens(sql)
  const cursor = new SqlCursor({ sql, tokens, brackets: pairBrackets(tokens) }, grammar)
  cursor.scope = cursor.openScope(-1)
  parseExpression(cursor, 'none')
  if (!cursor.isAtEnd) cursor.refuse('expected the end of the expression')
  return parsedOf(cursor, { bodyEnd: tokens.length, queryEnd: tokens.length, format: null, settings: [] })
}

function parsedOf(
  { tokens, scopes, reads, calls, tableFunctions, names }: SqlCursor,
  end: Pick<ParsedQuery, 'bodyEnd' | 'queryEnd' | 'format' | 'settings'>,
): ParsedQuery {
  // Some reads are noted when what stands behind them is known.
  const inOrder = [...reads].sort((one, other) => one.start - other.start)
  return { tokens, ...end, scopes, reads: inOrder, calls, tableFunctions, names }
}

function checkStatement(cursor: SqlCursor, sql: string): void {
  let ahead = 0
  while (cursor.is('(', ahead)) ahead += 1
  if (startsQuery(cursor, ahead)) return
  const near = sql.slice(cursor.peek(ahead).offset).slice(0, 40)
  throw new SqlFault(`Syntax error near "${near}": only SELECT statements are supported`)
}

/** Where the SETTINGS of the whole query begin, which stand behind its last SELECT, and how many there are before. */
function endOfBody({ index, settings, settingsClause }: SqlCursor): Record<'bodyEnd' | 'bodySettings', number> {
  const isLast = settingsClause !== null && settingsClause.end === index
  return isLast
    ? { bodyEnd: settingsClause.start, bodySettings: settingsClause.countBefore }
    : { bodyEnd: index, bodySettings: settings.length }
}

/** FORMAT and SETTINGS behind the query; gives the format. */
function parseEnd(cursor: SqlCursor): string | null {
  let format: string | null = null
  parseSettings(cursor)
  if (cursor.take('FORMAT')) {
    const { kind } = cursor.peek()
    if (kind !== 'word') cursor.refuse('expected the name of a format')
    format = cursor.takeName('the name of a format')
    parseSettings(cursor)
  }
  if (cursor.isAtEnd) return format
  if (cursor.is('INTO'))
    throw new SqlFault(cursor.is('OUTFILE', 1) ? 'INTO OUTFILE is not allowed' : 'INTO is not allowed')
  if (cursor.is(';')) throw new SqlFault('Multi-statements are not allowed')
  if (cursor.is('PARALLEL')) throw new SqlFault('PARALLEL WITH is not allowed')
  return cursor.refuse('expected the end of the query')
}
