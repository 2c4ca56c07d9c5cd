import { readTokens } from '../schema/syntax/lexer.ts'

/**
 * The text of a compiled query with its literals blanked: queries that differ in nothing else have the same shape.
 *
 * What the engine finds in a query does not depend on its literals, but for the table of `joinGet`, which stands in a
 * string; strings that could name a table are kept.
 */
export function shapeOf(sql: string): string {
  let shape = ''
  for (const { kind, text, isSpaced } of readTokens(sql)) {
    if (isSpaced) shape += ' '
    if (kind === 'number') shape += '0'
    else if (kind === 'string') shape += tableText.test(text) ? text : "''"
    else shape += text
  }
  return shape
}

const tableText = /^'\w+\.\w+'$/
