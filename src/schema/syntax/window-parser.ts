// Orders and windows: what ORDER BY, OVER and WINDOW have in common.

import { parseExpression, parseList } from './expression-parser.ts'
import type { SqlCursor } from './sql-cursor.ts'

/** Takes a window in its brackets: `(w PARTITION BY a ORDER BY b ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)`. */
export function parseWindow(cursor: SqlCursor): void {
  cursor.windows.push(cursor.index)
  cursor.expect('(')
  const isName = cursor.peek().kind === 'quotedName' || (cursor.peek().kind === 'word' && !startsPart(cursor))
  if (isName) cursor.index += 1
  if (cursor.take('PARTITION')) {
    cursor.expect('BY')
    parseList(cursor, 'ORDER')
  }
  if (cursor.take('ORDER')) {
    cursor.expect('BY')
    parseOrder(cursor)
  }
  if (frameUnits.has(cursor.peek().key)) parseFrame(cursor)
  cursor.expect(')')
}

const frameUnits: ReadonlySet<string> = new Set(['ROWS', 'RANGE', 'GROUPS'])

function startsPart(cursor: SqlCursor): boolean {
  const isBy = cursor.is('PARTITION') || cursor.is('ORDER')
  return (isBy && cursor.is('BY', 1)) || (frameUnits.has(cursor.peek().key) && !cursor.is(')', 1))
}

function parseFrame(cursor: SqlCursor): void {
  cursor.index += 1
  const isBetween = cursor.take('BETWEEN')
  parseFrameEdge(cursor)
  if (!isBetween) return
  cursor.expect('AND')
  parseFrameEdge(cursor)
}

function parseFrameEdge(cursor: SqlCursor): void {
  if (cursor.take('CURRENT')) {
    cursor.expect('ROW')
    return
  }
  if (!cursor.take('UNBOUNDED')) parseExpression(cursor, 'none')
  if (!cursor.take('PRECEDING')) cursor.expect('FOLLOWING')
}

const directions: ReadonlySet<string> = new Set(['ASC', 'DESC', 'ASCENDING', 'DESCENDING'])

/** Takes the elements behind ORDER BY. */
export function parseOrder(cursor: SqlCursor): void {
  do {
    parseExpression(cursor, 'explicit')
    if (directions.has(cursor.peek().key)) cursor.index += 1
    if (cursor.take('NULLS') && !cursor.take('FIRST')) cursor.expect('LAST')
    if (cursor.take('COLLATE')) parseExpression(cursor, 'none')
    if (cursor.is('WITH') && cursor.is('FILL', 1)) parseFill(cursor)
  } while (cursor.take(','))
}

function parseFill(cursor: SqlCursor): void {
  cursor.index += 2
  while (cursor.take('FROM') || cursor.take('TO') || cursor.take('STEP') || cursor.take('STALENESS')) {
    parseExpression(cursor, 'none')
  }
}
