import { errors } from '../shared/errors.ts'
import { quoteName } from '../shared/text-escapes.ts'
import { pairBrackets } from './bracket-pairs.ts'
import { tokenize } from './lexer.ts'
import { checkTokens, isNamePart, isWordOf } from './policy.ts'
import { findTableReads, type TableOf, type TableRead } from './table-names.ts'
import type { Token } from './token.types.ts'

/** A user's query, ready for the store. */
export interface CompiledQuery {
  /** One SELECT without FORMAT, SETTINGS and comments; every data source in it is qualified. */
  readonly sql: string
  /** The name after FORMAT as it was written, or null. */
  readonly format: string | null
  /** The tables it reads, each once, in order of first appearance. */
  readonly tables: readonly string[]
}

export interface CompileOptions {
  /** The database that the tables are in. */
  readonly database: string
  readonly tableOf: TableOf
}

/**
 * Checks one query and qualifies the data sources in it, by name or id: `FROM events` becomes
 * `` FROM `ws_0001`.`t_…` AS `events` ``. Tokens are spliced, never regenerated from a tree.
 *
 * @throws SQL_INVALID (400) when it is no single SELECT, does what a query may not, or reads an unknown table;
 *   SQL_EMPTY (400) when there is no token.
 */
export function compileQuery(sql: string, { database, tableOf }: CompileOptions): CompiledQuery {
  const statement = withoutTrailingSemicolons(tokenize(sql))
  if (statement.length === 0) throw errors.SQL_EMPTY()
  const brackets = pairBrackets(sql, statement)
  const { tokens, format } = splitFormat(statement)
  checkTokens(sql, tokens)
  const reads = findTableReads({ sql, tokens, brackets }, tableOf)
  return { sql: splice(tokens, reads, database), format, tables: [...new Set(reads.map(({ table }) => table))] }
}

function withoutTrailingSemicolons(tokens: readonly Token[]): readonly Token[] {
  const lastIndex = tokens.findLastIndex(({ text }) => text !== ';')
  return tokens.slice(0, lastIndex + 1)
}

interface SplitQuery {
  readonly tokens: readonly Token[]
  readonly format: string | null
}

/** Cuts off a last `FORMAT name`; `SELECT 1 AS format x` and `SELECT format x` have none. */
function splitFormat(tokens: readonly Token[]): SplitQuery {
  const keywordIndex = tokens.length - 2
  const [keyword, name] = tokens.slice(-2)
  const isClause = isWordOf(keyword, 'FORMAT') && name?.kind === 'word' && endsOperand(tokens, keywordIndex - 1)
  return isClause ? { tokens: tokens.slice(0, keywordIndex), format: name.text } : { tokens, format: null }
}

const beforeOperandWords = [
  'SELECT',
  'DISTINCT',
  'AS',
  'AND',
  'OR',
  'NOT',
  'BY',
  'FROM',
  'WHERE',
  'WHEN',
  'THEN',
  'ELSE',
]

function endsOperand(tokens: readonly Token[], index: number): boolean {
  const token = tokens[index]
  if (token === undefined) return false
  if (token.kind === 'symbol') return token.text === ')' || token.text === ']' || token.text === '*'
  return isNamePart(tokens, index) || !isWordOf(token, ...beforeOperandWords)
}

function splice(tokens: readonly Token[], reads: readonly TableRead[], database: string): string {
  const readAt = new Map(reads.map((read) => [read.start, read]))
  let text = ''
  for (let index = 0; index < tokens.length; index += 1) {
    const token = tokens[index]
    if (token === undefined) break
    if (needsSpace(token, tokens[index - 1])) text += ' '
    const read = readAt.get(index)
    if (read === undefined) {
      text += token.text
    } else {
      text += qualify(read, database)
      index = read.end - 1
    }
  }
  return text
}

/** Two names in a row need a space even where the source had none: `` `a`"b" `` would become one name, `` `a``b` ``. */
function needsSpace(token: Token, previous: Token | undefined): boolean {
  if (previous === undefined) return false
  return token.isSpaced || (token.kind !== 'symbol' && previous.kind !== 'symbol')
}

function qualify({ table, name, needsAlias }: TableRead, database: string): string {
  const qualified = `${quoteName(database)}.${quoteName(table)}`
  return needsAlias ? `${qualified} AS ${quoteName(name)}` : qualified
}
