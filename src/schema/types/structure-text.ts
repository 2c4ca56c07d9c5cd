// Structure texts: the columns of a table function, as a string, `'a UInt8, b String'`. The engine parses such a text as it
// parses CREATE TABLE, with DEFAULT, ALIAS and all they may call, and looks for no grant when it runs them. So it is read
// here as names and types alone, and written again out of what was read.

import { quoteName } from '../../shared/text-escapes.ts'
import { splice } from '../syntax/splice.ts'
import type { SqlCursor } from '../syntax/sql-cursor.ts'
import { textCursor } from '../syntax/text-cursor.ts'
import { parseType } from '../syntax/type-parser.ts'

const columnsMax = 1_000

/**
 * The structure that a text tells, in a form that can be read in one way only: `` `a` UInt8, `b` String ``.
 *
 * @throws SqlFault when it is anything but names and types.
 */
export function canonicalStructure(text: string): string {
  const cursor = textCursor(text)
  const columns: string[] = []
  do {
    const name = cursor.takeName('the name of a column')
    columns.push(`${quoteName(name)} ${takeTypeText(text, cursor)}`)
    if (columns.length > columnsMax) cursor.refuse(`there are more than ${columnsMax} columns`)
  } while (cursor.take(','))
  if (!cursor.isAtEnd) cursor.refuse('a structure text takes names and types alone')
  return columns.join(', ')
}

function takeTypeText(source: string, cursor: SqlCursor): string {
  const start = cursor.index
  parseType(cursor)
  const tokens = cursor.tokens.slice(start, cursor.index)
  return splice({ source, node: null, tokens, end: tokens.length, edits: [] }).text
}
