import { errors } from '../shared/errors.ts'
import { quoteName } from '../shared/text-escapes.ts'
import { pairBrackets } from './bracket-pairs.ts'
import { tokenize } from './lexer.ts'
import { checkTokens, isNamePart, isWordOf } from './policy.ts'
import type { NameScope, Source } from './source.types.ts'
import { findTableReads, type TableRead } from './table-names.ts'
import type { Token } from './token.types.ts'

/** A user's query, ready for the store. */
export interface CompiledQuery {
  /** One SELECT without FORMAT, SETTINGS and comments; every data source in it is qualified, every pipe and node put in. */
  readonly sql: string
  /** The name after FORMAT as it was written, or null. */
  readonly format: string | null
  /** Names of what it reads itself, each once, in order of first appearance: data sources, pipes and nodes. */
  readonly dependencies: readonly string[]
  /** The tables that it reads itself or through pipes and nodes, as `database.table`, each once. */
  readonly tables: readonly string[]
}

export interface CompileOptions {
  readonly scope: NameScope
}

/**
 * Checks one query and puts what its names stand for in their place: `FROM events` becomes
 * `` FROM `ws_0001`.`t_…` AS `events` ``, and a pipe its query in brackets. Tokens are spliced, never regenerated from a
 * tree.
 *
 * @throws SQL_INVALID (400) when it is no single SELECT, does what a query may not, or reads an unknown table;
 *   SQL_EMPTY (400) when there is no token.
 */
export function compileQuery(sql: string, { scope }: CompileOptions): CompiledQuery {
  const compilation: Compilation = { done: new Map(), open: [], tables: new Set() }
  const { text, format, dependencies } = compileText(sql, scope, compilation)
  return { sql: text, format, dependencies, tables: [...compilation.tables] }
}

/** What is known while one query is compiled. */
interface Compilation {
  /** Queries in brackets by the ids of their sources. */
  readonly done: Map<string, string>
  /** The sources around the text that is being compiled. */
  readonly open: { readonly id: string; readonly name: string }[]
  readonly tables: Set<string>
}

interface CompiledText {
  readonly text: string
  readonly format: string | null
  readonly dependencies: readonly string[]
}

function compileText(sql: string, scope: NameScope, compilation: Compilation): CompiledText {
  const statement = withoutTrailingSemicolons(tokenize(sql))
  if (statement.length === 0) throw errors.SQL_EMPTY()
  const brackets = pairBrackets(sql, statement)
  const { tokens, format } = splitFormat(statement)
  checkTokens(sql, tokens)
  const found = new Map<string, Source>()
  const reads = findTableReads({ sql, tokens, brackets }, (name) => {
    const source = scope.find(name.split('.'))
    if (source === 'denied') throw errors.SQL_INVALID({ reason: `The token has no access to '${name}'` })
    if (source !== undefined) found.set(name, source)
    return source === undefined ? undefined : name
  })
  const texts = new Map([...found].map(([name, source]) => [name, sourceText(source, compilation)]))
  return { text: splice(tokens, reads, texts), format, dependencies: [...new Set([...found.values()].map(nameOf))] }
}

function nameOf({ name }: Source): string {
  return name
}

/** What stands in a query in the place of a source. */
function sourceText(source: Source, compilation: Compilation): string {
  if (source.kind === 'table') {
    compilation.tables.add(`${source.database}.${source.table}`)
    const qualified = `${quoteName(source.database)}.${quoteName(source.table)}`
    return source.filter === null ? qualified : `(SELECT * FROM ${qualified} WHERE (${source.filter}))`
  }
  const { id, name } = source
  const done = compilation.done.get(id)
  if (done !== undefined) return done
  if (compilation.open.some((open) => open.id === id)) {
    const path = [...compilation.open.map((open) => open.name), name].join(' → ')
    throw errors.SQL_INVALID({ reason: `Circular dependency on '${name}': ${path}` })
  }
  compilation.open.push({ id, name })
  const text = `(${compileText(source.sql(), source.scope, compilation).text})`
  compilation.open.pop()
  compilation.done.set(id, text)
  return text
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

function splice(tokens: readonly Token[], reads: readonly TableRead[], texts: ReadonlyMap<string, string>): string {
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
      text += qualify(read, texts)
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

function qualify({ table, name, needsAlias }: TableRead, texts: ReadonlyMap<string, string>): string {
  const text = texts.get(table) ?? quoteName(table)
  return needsAlias ? `${text} AS ${quoteName(name)}` : text
}
