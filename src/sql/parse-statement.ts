import { pairBrackets } from '../schema/syntax/bracket-pairs.ts'
import { startsQuery } from '../schema/syntax/expression-parser.ts'
import { readTokens } from '../schema/syntax/lexer.ts'
import { parsedOf } from '../schema/syntax/parse-expression.ts'
import type { ParsedQuery } from '../schema/syntax/parsed-query.types.ts'
import { SqlCursor } from '../schema/syntax/sql-cursor.ts'
import { SqlFault } from '../schema/syntax/sql-fault.ts'
import { beginningOf } from '../shared/beginning-of.ts'
import { didYouMean } from '../shared/nearest-name.ts'
import { grammar, parseQuery, parseSettings } from './query-parser.ts'

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

function checkStatement(cursor: SqlCursor, sql: string): void {
  let ahead = 0
  while (cursor.is('(', ahead)) ahead += 1
  if (startsQuery(cursor, ahead)) return
  const near = beginningOf(sql.slice(cursor.peek(ahead).offset), 40)
  throw new SqlFault(`Syntax error near "${near}": only SELECT statements are supported`, {
    hint: statementAdvice(near),
  })
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

/** What the API has in the place of other statements. */
const instead: ReadonlyMap<string, string> = new Map([
  ['INSERT', 'Rows come by POST /v0/events, or by POST /v0/datasources?mode=append'],
  ['CREATE', 'A Data Source is created by POST /v0/datasources with a schema, a Pipe by POST /v0/pipes'],
  ['SHOW', 'GET /v0/datasources and GET /v0/pipes list what there is'],
  ['DESCRIBE', 'GET /v0/datasources/<name> has the columns of a Data Source'],
  ['DESC', 'GET /v0/datasources/<name> has the columns of a Data Source'],
  ['EXPLAIN', 'GET /v0/pipes/<name>/explain shows the plan of a Pipe'],
  ['ALTER', 'A Data Source is altered by POST /v0/datasources/<name>/alter'],
  ['DROP', 'A Data Source is dropped by DELETE /v0/datasources/<name>'],
  ['TRUNCATE', 'A Data Source is emptied by POST /v0/datasources/<name>/truncate'],
  ['DELETE', 'mode=replace with a replace_condition gives a Data Source other rows'],
  ['UPDATE', 'mode=replace with a replace_condition gives a Data Source other rows'],
])

function statementAdvice(near: string): string | undefined {
  const word = /^\w+/.exec(near)?.[0]?.toUpperCase() ?? ''
  return instead.get(word) ?? didYouMean(word, ['SELECT', 'WITH', ...instead.keys()])
}
