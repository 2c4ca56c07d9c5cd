// Arguments that get something written around them. The engine names a column of SELECT without an alias by its text, so such
// columns then get the name that they would have had.

import type { ParsedQuery, SelectedColumn, TokenRange } from './parsed-query.types.ts'
import { type Edit, splice } from './splice.ts'

export interface WrappedArgument {
  readonly range: TokenRange
  readonly before: string
  readonly after: string
  /** What is written in its place, where it is known. */
  readonly value: string | null
}

/** What is written around or in the place of the arguments, and the names that columns of SELECT have without it. */
export function wrapArguments(parsed: ParsedQuery, wrapped: readonly WrappedArgument[]): readonly Edit[] {
  if (wrapped.length === 0) return []
  const unnamed = parsed.scopes.flatMap(({ columns }) => columns.filter(({ name }) => name === null))
  return [
    ...wrapped.flatMap(editsOf),
    ...unnamed
      .filter((column) => wrapped.some(({ range }) => column.start <= range.start && range.end <= column.end))
      .map((column) => insertion(column.end, ` AS ${nameOf(parsed, column)}`)),
  ]
}

function editsOf({ range, before, after, value }: WrappedArgument): readonly Edit[] {
  if (value !== null) return [{ ...range, before: value, inner: null, after: '' }]
  return [insertion(range.start, before), insertion(range.end, after)]
}

/** The engine names a column by its text. */
function nameOf({ tokens }: ParsedQuery, { start, end }: SelectedColumn): string {
  const { text } = splice({ source: '', node: null, tokens: tokens.slice(start, end), end: end - start, edits: [] })
  return `\`${text.trim().replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``
}

function insertion(at: number, text: string): Edit {
  return { start: at, end: at, before: text, inner: null, after: '' }
}
