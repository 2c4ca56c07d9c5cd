// Out of which columns of its table a query makes one of its own, as far as the text of the query shows it.
//
// It answers only where it is sure: for a query over one table, or over subqueries of such. It is asked for the columns of
// partition keys, which real views give under their own name or by one function.

import type { ParsedQuery, QueryScope, SelectedColumn } from '../schema/syntax/parsed-query.types.ts'
import { toSqlError } from '../schema/syntax/sql-fault.ts'
import { parseStatement } from './parse-statement.ts'

/**
 * The columns of the table that the query reads which `column`, one that it gives, is made of; null when the text does not
 * say so.
 *
 * @param columns those of the table.
 * @throws SQL_INVALID (400) when the query cannot be read.
 */
export function columnSources(sql: string, column: string, columns: readonly string[]): ReadonlySet<string> | null {
  const parsed = parse(sql)
  const sources = parsed === null ? null : sourcesOf(parsed, 0, column)
  const isKnown = sources !== null && [...sources].every((name) => columns.includes(name))
  return isKnown ? sources : null
}

function parse(sql: string): ParsedQuery | null {
  try {
    return parseStatement(sql)
  } catch (thrown) {
    throw toSqlError(thrown, sql)
  }
}

/** What a column is made of in the query whose scope has this index. */
function sourcesOf(parsed: ParsedQuery, query: number, column: string): ReadonlySet<string> | null {
  const select = onlySelect(parsed, query)
  const table = select?.tables[0]?.query
  if (select === null || table === undefined || select.tables.length > 1) return null
  const names = inputNames(parsed, select, column)
  if (names === null || table < 0) return names
  const found = new Set<string>()
  for (const name of names) {
    const sources = sourcesOf(parsed, table, name)
    if (sources === null) return null
    for (const source of sources) found.add(source)
  }
  return found
}

/** Null for several SELECTs, and for one with names of its own. */
function onlySelect({ scopes }: ParsedQuery, query: number): QueryScope | null {
  const union = scopes[query]
  const [select, ...more] = scopes.filter(({ parent, columns }) => parent === query && columns.length > 0)
  const isPlain = union?.commonTables.length === 0 && union.aliases.size === 0 && more.length === 0
  return isPlain ? (select ?? null) : null
}

/** The names that stand in the expression which gives the column; other expressions that it names are followed. */
function inputNames(parsed: ParsedQuery, { columns }: QueryScope, column: string): ReadonlySet<string> | null {
  const found = new Set<string>()
  const followed = new Set<string>()
  const follow = (name: string): boolean => {
    followed.add(name)
    const selected = columns.find((one) => one.name === name)
    if (selected === undefined) return false
    for (const read of namesIn(parsed, selected)) {
      // A name that is no expression of its own is a column of what is read; so is that of the expression in itself.
      const isOwn = !followed.has(read) && columns.some((one) => one.name === read && one.end - one.start > 1)
      if (!isOwn) found.add(read)
      else if (!follow(read)) return false
    }
    return true
  }
  if (follow(column)) return found
  // `SELECT *` and `SELECT t.*` give columns under their own names.
  const isEverything = ({ start, end }: SelectedColumn): boolean =>
    parsed.tokens[end - 1]?.key === '*' && end - start <= 3
  return columns.some(isEverything) ? new Set([column]) : null
}

/** Names of columns in an expression: of `t.column` the column. */
function namesIn({ tokens, names }: ParsedQuery, { start, end }: SelectedColumn): readonly string[] {
  const inside = names.filter((name) => name.start >= start && name.end <= end)
  return inside.flatMap((name) => tokens[name.end - 1]?.name ?? [])
}
