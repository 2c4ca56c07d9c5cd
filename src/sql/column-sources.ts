// Out of which columns of its table a query makes one of its own, as far as the text of the query shows it.
//
// It answers only where it is sure: for a query over one table, or over subqueries of such. It is asked for the columns of
// partition keys, which real views give under their own name or by one function.

import { pairBrackets } from './bracket-pairs.ts'
import { tokenize } from './lexer.ts'
import { toSqlError } from './sql-fault.ts'
import type { Token } from './token.types.ts'

/**
 * The columns of the table that the query reads which `column`, one that it gives, is made of; null when the text does not
 * say so.
 *
 * @param columns those of the table.
 * @throws SQL_INVALID (400) when the query cannot be read.
 */
export function columnSources(sql: string, column: string, columns: readonly string[]): ReadonlySet<string> | null {
  const sources = read(sql, column)
  const isKnown = sources !== null && [...sources].every((name) => columns.includes(name))
  return isKnown ? sources : null
}

function read(sql: string, column: string): ReadonlySet<string> | null {
  try {
    const tokens = tokenize(sql)
    return sourcesOf({ tokens, brackets: pairBrackets(tokens) }, column)
  } catch (thrown) {
    throw toSqlError(thrown, sql)
  }
}

interface Query {
  readonly tokens: readonly Token[]
  readonly brackets: ReadonlyMap<number, number>
}

interface SelectParts {
  readonly items: readonly (readonly Token[])[]
  /** The subquery behind FROM; null when a table stands there. */
  readonly inner: readonly Token[] | null
}

function sourcesOf(query: Query, column: string): ReadonlySet<string> | null {
  const parts = readSelect(query)
  if (parts === null) return null
  const names = inputNames(parts.items, column)
  if (names === null || parts.inner === null) return names
  const inner = { tokens: parts.inner, brackets: pairBrackets(parts.inner) }
  const found = new Set<string>()
  for (const name of names) {
    const sources = sourcesOf(inner, name)
    if (sources === null) return null
    for (const source of sources) found.add(source)
  }
  return found
}

const joinWords = ['JOIN', 'UNION', 'EXCEPT', 'INTERSECT', 'WITH'] as const
const afterFromWords = [
  'PREWHERE',
  'WHERE',
  'GROUP',
  'HAVING',
  'ORDER',
  'LIMIT',
  'SETTINGS',
  'QUALIFY',
  'WINDOW',
] as const

/** Null for anything but one SELECT over one table or subquery. */
function readSelect({ tokens, brackets }: Query): SelectParts | null {
  const outer = outside(tokens, brackets)
  const keywordAt = (...words: readonly string[]): number =>
    outer.find((index) => isWordOf(tokens[index], ...words) && !isNamePart(tokens, index)) ?? -1
  const from = keywordAt('FROM')
  if (!isWordOf(tokens[0], 'SELECT') || from < 0 || keywordAt(...joinWords) >= 0) return null
  const start = isWordOf(tokens[1], 'DISTINCT') ? 2 : 1
  const commas = outer.filter((index) => index > start && index < from && tokens[index]?.text === ',')
  const edges = [start - 1, ...commas, from]
  const items = edges.slice(1).map((edge, index) => tokens.slice((edges[index] ?? 0) + 1, edge))
  const end = keywordAt(...afterFromWords)
  // Two tables with a comma between are a join.
  const isList = outer.some((index) => index > from && (end < 0 || index < end) && tokens[index]?.text === ',')
  if (isList) return null
  const closing = brackets.get(from + 1)
  const inner = closing === undefined ? null : tokens.slice(from + 2, closing)
  return { items, inner }
}

/** Indexes of the tokens outside of all brackets, the opening ones included. */
function outside(tokens: readonly Token[], brackets: ReadonlyMap<number, number>): readonly number[] {
  const indexes: number[] = []
  for (let index = 0; index < tokens.length; index += 1) {
    indexes.push(index)
    index = brackets.get(index) ?? index
  }
  return indexes
}

/** The names that stand in the item which gives the column; other items that it names are followed. */
function inputNames(items: readonly (readonly Token[])[], column: string): ReadonlySet<string> | null {
  const found = new Set<string>()
  const followed = new Set<string>()
  const follow = (name: string): boolean => {
    followed.add(name)
    const item = items.find((one) => nameOf(one) === name)
    if (item === undefined) return false
    for (const read of namesIn(expressionOf(item))) {
      // A name that is no item of its own is a column of what is read; so is that of the item in itself.
      const isItem = !followed.has(read) && items.some((one) => nameOf(one) === read && one.length > 1)
      if (!isItem) found.add(read)
      else if (!follow(read)) return false
    }
    return true
  }
  if (follow(column)) return found
  // `SELECT *` and `SELECT t.*` give columns under their own names.
  return items.some((item) => item.at(-1)?.text === '*' && item.length <= 3) ? new Set([column]) : null
}

function isAlias(item: readonly Token[]): boolean {
  return item.length >= 3 && isWordOf(item.at(-2), 'AS')
}

function nameOf(item: readonly Token[]): string | undefined {
  const last = item.at(-1)
  if (isAlias(item)) return last?.name
  const isColumn = item.length === 1 || (item.length === 3 && item[1]?.text === '.')
  return isColumn && (last?.kind === 'word' || last?.kind === 'quotedName') ? last.name : undefined
}

function expressionOf(item: readonly Token[]): readonly Token[] {
  return isAlias(item) ? item.slice(0, -2) : item
}

const operators: ReadonlySet<string> = new Set(
  'AND OR NOT IN LIKE ILIKE BETWEEN IS NULL CASE WHEN THEN ELSE END INTERVAL DIV MOD TRUE FALSE AS'.split(' '),
)

/** Names of columns in an expression: neither functions nor operators, and of `t.column` the column. */
function namesIn(tokens: readonly Token[]): readonly string[] {
  return tokens.flatMap((token, index) => {
    const next = tokens[index + 1]
    const isName = token.kind === 'quotedName' || (token.kind === 'word' && !operators.has(token.text.toUpperCase()))
    // `INTERVAL 1 DAY` names no column.
    const isUnit = isWordOf(tokens[index - 2], 'INTERVAL')
    return isName && !isUnit && next?.text !== '(' && next?.text !== '.' ? [token.name] : []
  })
}

/** True for what stands after a dot: a column of something, never a keyword. */
function isNamePart(tokens: readonly Token[], index: number): boolean {
  return tokens[index - 1]?.key === '.'
}

/** True when the token is one of these keywords, in any case. `keywords` are in upper case. */
function isWordOf(token: Token | undefined, ...keywords: readonly string[]): boolean {
  return token?.kind === 'word' && keywords.includes(token.key)
}
