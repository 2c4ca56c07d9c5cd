import { quoteName } from '../shared/text-escapes.ts'
import { pairBrackets } from './bracket-pairs.ts'
import { tokenize } from './lexer.ts'
import { findTableReads, type TableRead } from './table-names.ts'
import type { Token } from './token.types.ts'

export interface RetargetOptions {
  readonly database: string
  /** Every table of the database that the query may read. */
  readonly tables: ReadonlySet<string>
  /** What is read in the place of a table: SQL that may stand behind FROM. Tables that are not in it are read as they are. */
  readonly replacements: ReadonlyMap<string, string>
}

export interface RetargetedQuery {
  readonly sql: string
  /** How often each table of the database is read. */
  readonly readCounts: ReadonlyMap<string, number>
}

/**
 * A query of ours, such as that of a view, with other tables in the place of some of its own. The names by which the query
 * speaks of its tables stay what they are.
 *
 * @throws SQL_INVALID (400) when it cannot be read, or reads what is none of `tables`.
 */
export function retargetTables(sql: string, { database, tables, replacements }: RetargetOptions): RetargetedQuery {
  const tokens = tokenize(sql)
  const prefix = `${database}.`
  const tableOf = (name: string): string | undefined => {
    const table = name.startsWith(prefix) ? name.slice(prefix.length) : name
    return tables.has(table) ? table : undefined
  }
  const reads = findTableReads({ sql, tokens, brackets: pairBrackets(sql, tokens) }, tableOf)
  const readCounts = new Map<string, number>()
  for (const { table } of reads) readCounts.set(table, (readCounts.get(table) ?? 0) + 1)
  const readAt = new Map(reads.map((read) => [read.start, read]))
  let text = ''
  for (let index = 0; index < tokens.length; index += 1) {
    const token = tokens[index]
    if (token === undefined) break
    const read = readAt.get(index)
    const replacement = read === undefined ? undefined : replacements.get(read.table)
    text += `${text === '' ? '' : separator(token, tokens[index - 1])}`
    if (read === undefined || replacement === undefined) text += token.text
    else {
      text += sourceText(read, replacement)
      index = read.end - 1
    }
  }
  return { sql: text, readCounts }
}

function sourceText({ table, needsAlias }: TableRead, replacement: string): string {
  return needsAlias ? `${replacement} AS ${quoteName(table)}` : replacement
}

/** Two names in a row need a space even where the source had none. */
function separator(token: Token, previous: Token | undefined): string {
  return token.isSpaced || (token.kind !== 'symbol' && previous?.kind !== 'symbol') ? ' ' : ''
}
