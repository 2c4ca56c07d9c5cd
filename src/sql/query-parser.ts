// Queries of ClickHouse SQL: SELECT with all of its clauses, set operations, WITH, tables and joins.

import { parseCall } from '../schema/syntax/call-parser.ts'
import { parseExpression, parseList, startsQuery } from '../schema/syntax/expression-parser.ts'
import type { CommonTable } from '../schema/syntax/parsed-query.types.ts'
import type { SqlCursor } from '../schema/syntax/sql-cursor.ts'
import { SqlFault } from '../schema/syntax/sql-fault.ts'
import { parseOrder, parseWindow } from '../schema/syntax/window-parser.ts'
import { parseTables } from './table-parser.ts'

/** The grammar that a cursor is made with. */
export const grammar = { parseQuery, parseCall }

/** Takes a query, set operations and all, up to the bracket that closes it. */
export function parseQuery(cursor: SqlCursor, definition: CommonTable | null): void {
  cursor.descend()
  const outer = cursor.scope
  const union = cursor.openScope(outer, definition)
  let isFirst = true
  do {
    cursor.scope = union
    if (cursor.take('(')) parseBracketedQuery(cursor, isFirst)
    else parseSelect(cursor, isFirst)
    isFirst = false
  } while (takeSetOperator(cursor))
  cursor.closeScope(union)
  cursor.scope = outer
  cursor.ascend()
}

/** `(SELECT …) UNION ALL …`: the common tables of the first are seen in all. */
function parseBracketedQuery(cursor: SqlCursor, isFirst: boolean): void {
  const union = cursor.scopes[cursor.scope]
  const inner = cursor.scopes.length
  parseQuery(cursor, null)
  cursor.expect(')')
  if (isFirst) union?.commonTables.push(...(cursor.scopes[inner]?.commonTables ?? []))
}

function takeSetOperator(cursor: SqlCursor): boolean {
  if (!cursor.take('UNION') && !cursor.take('EXCEPT') && !cursor.take('INTERSECT')) return false
  if (!cursor.take('ALL')) cursor.take('DISTINCT')
  return true
}

function parseSelect(cursor: SqlCursor, isFirst: boolean): void {
  const union = cursor.scope
  const scope = cursor.openScope(union)
  // What the first SELECT of a UNION names in its WITH is seen in the others too.
  cursor.scope = isFirst ? union : scope
  if (cursor.take('WITH')) parseWith(cursor)
  cursor.scope = scope
  const isFromFirst = cursor.take('FROM')
  if (isFromFirst) parseTables(cursor)
  cursor.expect('SELECT')
  parseDistinct(cursor)
  parseColumns(cursor)
  if (!isFromFirst && cursor.take('FROM')) parseTables(cursor)
  parseConditions(cursor)
  parseGrouping(cursor)
  parseRest(cursor)
  cursor.closeScope(scope)
  cursor.scope = union
}

function parseDistinct(cursor: SqlCursor): void {
  if (cursor.take('DISTINCT')) {
    if (cursor.is('ON') && cursor.is('(', 1)) {
      cursor.index += 2
      parseList(cursor, ')')
      cursor.expect(')')
    }
  } else if (cursor.is('ALL') && !cursor.is('(', 1)) cursor.index += 1
  if (!cursor.is('TOP') || (cursor.peek(1).kind !== 'number' && !cursor.is('(', 1))) return
  cursor.index += 1
  if (cursor.take('(')) {
    parseExpression(cursor, 'none')
    cursor.expect(')')
  } else cursor.index += 1
  if (cursor.take('WITH')) cursor.expect('TIES')
}

function parseColumns(cursor: SqlCursor): void {
  const columns = cursor.scopes[cursor.scope]?.columns
  for (;;) {
    const start = cursor.index
    const column = parseExpression(cursor, 'implicit')
    const own = column === null ? null : (cursor.tokens[column.end - 1]?.name ?? null)
    columns?.push({ start, end: cursor.index, name: cursor.alias ?? own })
    if (!cursor.take(',')) return
    // A comma may stand behind the last column, but not at the end: it would make a column of what the store puts there.
    if (cursor.is(')') || (cursor.is('FROM') && startsQuery(cursor))) return
  }
}

/** The items behind WITH: names of queries, and expressions with their names. */
function parseWith(cursor: SqlCursor): void {
  const isRecursive = cursor.take('RECURSIVE')
  do {
    if (startsCommonTable(cursor)) {
      parseCommonTable(cursor, isRecursive)
      continue
    }
    // A comma may stand behind the last item.
    if (startsQuery(cursor)) return
    parseExpression(cursor, 'explicit')
  } while (cursor.take(','))
}

/** `name AS (` and `name (columns) AS (`; an expression's name never stands in brackets. */
function startsCommonTable(cursor: SqlCursor): boolean {
  const { kind } = cursor.peek()
  if (kind !== 'word' && kind !== 'quotedName') return false
  const columnsEnd = cursor.is('(', 1) ? cursor.brackets.get(cursor.index + 1) : cursor.index
  const ahead = (columnsEnd ?? cursor.index) + 1 - cursor.index
  if (!cursor.is('AS', ahead)) return false
  return cursor.is('(', ahead + 1) || (cursor.is('MATERIALIZED', ahead + 1) && cursor.is('(', ahead + 2))
}

function parseCommonTable(cursor: SqlCursor, isRecursive: boolean): void {
  const table: CommonTable = { name: cursor.takeName('a name'), isRecursive }
  cursor.scopes[cursor.scope]?.commonTables.push(table)
  if (cursor.take('(')) {
    parseList(cursor, ')', 'none')
    cursor.expect(')')
  }
  cursor.expect('AS')
  cursor.take('MATERIALIZED')
  cursor.expect('(')
  if (cursor.is('EXPLAIN')) throw new SqlFault('EXPLAIN is not allowed in a subquery')
  parseQuery(cursor, table)
  cursor.expect(')')
}

function parseConditions(cursor: SqlCursor): void {
  const scope = cursor.scopes[cursor.scope]
  for (const key of ['PREWHERE', 'WHERE'] as const) {
    const start = cursor.index
    if (!cursor.take(key)) continue
    parseExpression(cursor, 'explicit')
    const clause = { start, end: cursor.index }
    if (scope === undefined) continue
    if (key === 'WHERE') scope.where = clause
    else scope.prewhere = clause
  }
}

function parseGrouping(cursor: SqlCursor): void {
  if (takeBy(cursor, 'GROUP')) {
    if (cursor.is('GROUPING') && cursor.is('SETS', 1)) parseGroupingSets(cursor)
    else {
      if ((cursor.is('ROLLUP') || cursor.is('CUBE')) && cursor.is('(', 1)) cursor.index += 1
      parseExpressions(cursor)
    }
  }
  while (cursor.is('WITH') && ['ROLLUP', 'CUBE', 'TOTALS'].includes(cursor.peek(1).key)) cursor.index += 2
  if (cursor.take('HAVING')) parseExpression(cursor, 'explicit')
}

function parseGroupingSets(cursor: SqlCursor): void {
  cursor.index += 2
  cursor.expect('(')
  parseList(cursor, ')')
  cursor.expect(')')
}

function takeBy(cursor: SqlCursor, key: string): boolean {
  if (!cursor.is(key) || !cursor.is('BY', 1)) return false
  cursor.index += 2
  return true
}

/** Expressions with commas between them; `ALL` is read as the name of a column, and means all the same. */
function parseExpressions(cursor: SqlCursor): void {
  do parseExpression(cursor, 'explicit')
  while (cursor.take(','))
}

/** WINDOW, QUALIFY, ORDER BY, LIMIT and SETTINGS. */
function parseRest(cursor: SqlCursor): void {
  if (cursor.take('WINDOW')) {
    do {
      cursor.takeName('the name of a window')
      cursor.expect('AS')
      parseWindow(cursor)
    } while (cursor.take(','))
  }
  if (cursor.take('QUALIFY')) parseExpression(cursor, 'explicit')
  if (takeBy(cursor, 'ORDER')) {
    parseOrder(cursor)
    if (cursor.take('INTERPOLATE') && cursor.take('(')) parseInterpolation(cursor)
  }
  while (parseLimit(cursor));
  parseSettings(cursor)
}

/** `(a, b AS b + 1)`: what stands behind AS is the expression. */
function parseInterpolation(cursor: SqlCursor): void {
  while (!cursor.is(')')) {
    cursor.takeName('a column')
    if (cursor.take('AS')) parseExpression(cursor, 'none')
    if (!cursor.take(',')) break
  }
  cursor.expect(')')
}

function parseLimit(cursor: SqlCursor): boolean {
  if (cursor.take('LIMIT')) {
    parseExpression(cursor, 'none')
    if (cursor.take(',') || cursor.take('OFFSET')) parseExpression(cursor, 'none')
    takeTies(cursor)
    if (cursor.take('BY')) parseExpressions(cursor)
    return true
  }
  if (cursor.take('OFFSET')) {
    parseExpression(cursor, 'none')
    takeRows(cursor)
    return true
  }
  if (!cursor.is('FETCH') || (!cursor.is('FIRST', 1) && !cursor.is('NEXT', 1))) return false
  cursor.index += 2
  if (!takeRows(cursor)) {
    parseExpression(cursor, 'none')
    takeRows(cursor)
  }
  if (!cursor.take('ONLY')) takeTies(cursor)
  return true
}

function takeRows(cursor: SqlCursor): boolean {
  return cursor.take('ROW') || cursor.take('ROWS')
}

function takeTies(cursor: SqlCursor): void {
  if (!cursor.is('WITH') || !cursor.is('TIES', 1)) return
  cursor.index += 2
}

/** Takes `SETTINGS name = value, …`; whether they are those of the whole query shows at its end. */
export function parseSettings(cursor: SqlCursor): void {
  const start = cursor.index
  const countBefore = cursor.settings.length
  if (!cursor.take('SETTINGS')) return
  do {
    const name = cursor.takeName('the name of a setting')
    cursor.expect('=')
    const isNegative = cursor.take('-')
    const { kind, text } = cursor.peek()
    if (kind !== 'number' && kind !== 'string' && (kind !== 'word' || isNegative)) {
      // Lists and maps are read by no setting that is allowed.
      throw new SqlFault(`Setting '${name}' is not allowed`)
    }
    cursor.index += 1
    cursor.settings.push({ name, value: isNegative ? `-${text}` : text, isOuter: false })
  } while (cursor.take(','))
  cursor.settingsClause = { start, end: cursor.index, countBefore }
}
