// What stands behind FROM: tables, subqueries, table functions, and the joins between them.

import { parseExpression, parseList, startsQuery } from '../schema/syntax/expression-parser.ts'
import { notTableAliases } from '../schema/syntax/keywords.ts'
import type { ScopeTable, TokenRange } from '../schema/syntax/parsed-query.types.ts'
import type { SqlCursor } from '../schema/syntax/sql-cursor.ts'
import { SqlFault } from '../schema/syntax/sql-fault.ts'

const joinWords: ReadonlySet<string> = new Set(
  'GLOBAL LOCAL NATURAL ANY ALL ASOF SEMI ANTI ONLY INNER LEFT RIGHT FULL OUTER CROSS PASTE'.split(' '),
)

/** Takes tables with the joins between them, from behind FROM or a bracket on. */
export function parseTables(cursor: SqlCursor): void {
  parseTable(cursor)
  for (;;) {
    if (cursor.take(',')) parseTable(cursor)
    else if (!parseJoin(cursor)) return
  }
}

/** Takes a JOIN or an ARRAY JOIN with its right side; false when none stands here. */
function parseJoin(cursor: SqlCursor): boolean {
  let ahead = 0
  while (joinWords.has(cursor.peek(ahead).key)) ahead += 1
  if (cursor.is('ARRAY', ahead) && cursor.is('JOIN', ahead + 1)) {
    cursor.index += ahead + 2
    noteTable(cursor)
    do parseExpression(cursor, 'explicit')
    while (cursor.take(','))
    return true
  }
  if (!cursor.is('JOIN', ahead)) return false
  cursor.index += ahead + 1
  parseTable(cursor)
  if (cursor.take('ON')) parseExpression(cursor, 'none')
  else if (cursor.take('USING')) {
    if (cursor.take('(')) {
      parseList(cursor, ')')
      cursor.expect(')')
    } else {
      do parseExpression(cursor, 'explicit')
      while (cursor.take(','))
    }
  }
  return true
}

function noteTable(cursor: SqlCursor, query = -1): ScopeTable {
  const table: ScopeTable = { query, alias: null }
  cursor.scopes[cursor.scope]?.tables.push(table)
  return table
}

function parseTable(cursor: SqlCursor): void {
  const { kind } = cursor.peek()
  if (cursor.is('(')) {
    const table = parseBracketedTable(cursor)
    const alias = parseTableAlias(cursor)
    if (table !== null) table.alias = alias
    parseModifiers(cursor)
  } else if (kind === 'string') {
    throw new SqlFault('A string literal can not be used as a table')
  } else if (kind === 'word' || kind === 'quotedName') {
    parseNamedTable(cursor)
  } else cursor.refuse('a table is missing')
}

/** A subquery, a group of joins, or `(VALUES (1, 2), (3, 4))`; null for the group. */
function parseBracketedTable(cursor: SqlCursor): ScopeTable | null {
  const isQuery = startsBracketedQuery(cursor)
  let table: ScopeTable | null = null
  cursor.index += 1
  cursor.descend()
  if (cursor.is('EXPLAIN')) throw new SqlFault('EXPLAIN is not allowed in a subquery')
  if (isQuery) {
    table = noteTable(cursor, cursor.scopes.length)
    cursor.parseQuery(cursor, null)
  } else if (cursor.is('VALUES') && cursor.is('(', 1)) {
    table = noteTable(cursor)
    cursor.index += 1
    const start = cursor.index
    const rows = parseList(cursor, ')')
    const use = { name: 'SQLStandardValues', scope: cursor.scope, arguments: rows, query: null }
    cursor.tableFunctions.push({ ...use, start, end: cursor.index })
  } else parseTables(cursor)
  cursor.ascend()
  cursor.expect(')')
  return table
}

/** `((SELECT 1) UNION ALL (SELECT 2))` is a query, `((SELECT 1) AS a JOIN b ON 1)` is none. */
function startsBracketedQuery(cursor: SqlCursor): boolean {
  let opening = cursor.index
  while (cursor.tokens[opening + 1]?.key === '(') {
    const closing = cursor.brackets.get(opening + 1)
    const after = closing === undefined ? '' : (cursor.tokens[closing + 1]?.key ?? '')
    if (![')', 'UNION', 'EXCEPT', 'INTERSECT'].includes(after)) return false
    opening += 1
  }
  return startsQuery(cursor, opening + 1 - cursor.index)
}

function parseNamedTable(cursor: SqlCursor): void {
  const table = noteTable(cursor)
  const start = cursor.index
  const parts = [cursor.takeName('a table')]
  while (cursor.is('.')) {
    cursor.index += 1
    parts.push(cursor.takeName('the name of a table'))
  }
  const end = cursor.index
  if (cursor.is('(')) {
    parseTableFunction(cursor, parts.join('.'), start)
    table.alias = parseTableAlias(cursor)
    parseModifiers(cursor)
    return
  }
  const given = parseTableAlias(cursor)
  const alias = given ?? parts.at(-1) ?? ''
  table.alias = alias
  const modifiers = parseModifiers(cursor)
  const { scope } = cursor
  cursor.reads.push({ kind: 'table', start, end, parts, scope, hasAlias: given !== null, alias, modifiers })
}

function parseTableFunction(cursor: SqlCursor, name: string, start: number): void {
  const end = (cursor.brackets.get(cursor.index) ?? cursor.index) + 1
  const place = { name, scope: cursor.scope, start, end }
  cursor.index += 1
  if (startsQuery(cursor)) {
    cursor.tableFunctions.push({ ...place, arguments: [], query: cursor.scopes.length })
    const outer = cursor.scope
    // What is around it cannot be seen from inside of `view(SELECT …)`.
    cursor.scope = -1
    cursor.parseQuery(cursor, null)
    cursor.scope = outer
  } else cursor.tableFunctions.push({ ...place, arguments: parseList(cursor, ')'), query: null })
  cursor.expect(')')
}

function parseTableAlias(cursor: SqlCursor): string | null {
  const { kind, key } = cursor.peek()
  const isImplicit = kind === 'quotedName' || (kind === 'word' && !notTableAliases.has(key))
  if (!isImplicit && !cursor.take('AS')) return null
  const alias = cursor.takeName('an alias')
  if (cursor.take('(')) {
    parseList(cursor, ')', 'none')
    cursor.expect(')')
  }
  return alias
}

/** `FINAL`, and `SAMPLE 1/10 OFFSET 1/2`. */
function parseModifiers(cursor: SqlCursor): TokenRange {
  const start = cursor.index
  cursor.take('FINAL')
  if (cursor.take('SAMPLE')) {
    takeRatio(cursor)
    if (cursor.take('OFFSET')) takeRatio(cursor)
  }
  return { start, end: cursor.index }
}

function takeRatio(cursor: SqlCursor): void {
  do {
    if (cursor.peek().kind !== 'number') cursor.refuse('expected a ratio')
    cursor.index += 1
  } while (cursor.take('/'))
}
