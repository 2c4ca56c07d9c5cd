// Whether every name of a query that could be a function is a column.
//
// `SELECT user` calls the function where no column, alias or parameter of a lambda is called `user`. Which of them there are
// only the engine knows: columns come out of asterisks, table functions, structures and dictionaries. It looks around a
// query before it looks among the functions, so the query is put into one that gives such a name to what cannot be
// resolved: where the engine says so, it has found no column.

import type { CheckedQuery } from '../schema/expressions/checked-text.types.ts'
import { columnsOnly, mentionsBareFunction } from '../schema/functions/bare-functions.ts'
import { caseEnds } from '../schema/syntax/keyword-names.ts'
import { readTokens } from '../schema/syntax/lexer.ts'
import type { Token } from '../schema/syntax/token.types.ts'
import { quoteName } from '../shared/text-escapes.ts'
import { choicesOfColumns } from './choices.ts'

/** What the engine is asked, to analyse and not to run. */
export interface ColumnProbe {
  /** A SELECT. */
  readonly sql: CheckedQuery
  readonly settings: Readonly<Record<string, number>>
}

/** Null for a query in which no name could be a function that is not allowed. */
export function columnProbe(sql: CheckedQuery): ColumnProbe | null {
  if (!mentionsBareFunction(sql)) return null
  const tokens = readTokens(sql)
  const names = columnsOnly(tokens)
  if (names.length === 0) return null
  const opening = `WITH ${[...names.map(unresolved), allArguments].join(', ')} SELECT `
  const body = withoutChoices(tokens, `${opening}* FROM (`)
  // Branches that are not taken may have types that do not go with the others.
  return { sql: probeOf(opening, body), settings: { use_variant_as_common_type: 1 } }
}

/**
 * The same with the choices as they are in which no name could be such a function: branches of them that are never taken may
 * hold what cannot be computed, as constants are while a query is analysed. Null where there is no such probe.
 */
export function narrowColumnProbe(sql: CheckedQuery): ColumnProbe | null {
  const tokens = readTokens(sql)
  const heads = choicesOfColumns(tokens)
  if (heads === null) return null
  const opening = `WITH ${columnsOnly(tokens).map(unresolved).join(', ')} SELECT `
  const body = withoutChoices(tokens, `${opening}* FROM (`, heads)
  return { sql: probeOf(opening, body), settings: { use_variant_as_common_type: 1 } }
}

/** @param body the tokens of a checked query, some of them changed; the rest is of our own words and quoted names. */
function probeOf(opening: string, body: string): CheckedQuery {
  // Nothing of it has been added by a caller.
  return `${opening}1 FROM (${body})` as CheckedQuery
}

/** The name that the engine took for a function, by what it says of the probe; null when it says something else. */
export function bareFunctionIn(message: string): string | null {
  return new RegExp(`\`${mark}(\\w+)\``).exec(message)?.[1] ?? null
}

const mark = '__no_column_'

/** In an expression: a name alone that is not found would be looked for among the functions in its turn. */
function unresolved(name: string): string {
  return `(1 + ${quoteName(mark + name)}) AS ${quoteName(name)}`
}

/**
 * Of `if` and `multiIf` with a constant condition the engine looks at one branch, and the condition may be another when the
 * query runs: `now()`, a subquery. Under its second name it looks at all arguments of `multiIf`.
 */
const anyCase = 'caseWithoutExpression'
const allArguments = `((c, a, b) -> ${anyCase}(c, a, b)) AS \`if\``

interface OpenCase {
  readonly isSearched: boolean
  readonly depth: number
  isFirst: boolean
  hasElse: boolean
}

/** The query with `multiIf` and `CASE WHEN`, or these choices, under that name, and each `view` with `opening` around its query. */
function withoutChoices(tokens: readonly Token[], opening: string, heads?: ReadonlySet<number>): string {
  const cases: OpenCase[] = []
  const ends = caseEnds(tokens)
  const views: number[] = []
  let depth = 0
  let sql = ''
  for (const [index, token] of tokens.entries()) {
    if (token.key === '(') depth += 1
    const closes = token.key === ')' && views.at(-1) === depth
    if (closes) views.pop()
    if (token.key === ')') depth -= 1
    const text = caseText(tokens, { index, depth, cases, ends, heads }) ?? plainText(tokens, index, heads)
    sql += `${token.isSpaced ? ' ' : ''}${closes ? ')' : ''}${text}`
    if (!opensView(tokens, index)) continue
    views.push(depth)
    sql += opening
  }
  return sql
}

function plainText(tokens: readonly Token[], index: number, heads: ReadonlySet<number> | undefined): string {
  const { name = '', text = '' } = tokens[index] ?? {}
  const isHead = heads?.has(index) ?? name === 'multiIf'
  return isHead && tokens[index + 1]?.key === '(' ? anyCase : text
}

function opensView(tokens: readonly Token[], index: number): boolean {
  const next = tokens[index + 1]?.key ?? ''
  const isName = tokens[index - 1]?.name.toLowerCase() === 'view'
  return (
    tokens[index]?.key === '(' && isName && (next === 'SELECT' || next === 'WITH' || next === 'FROM' || next === '(')
  )
}

interface CasePlace {
  readonly index: number
  readonly depth: number
  readonly cases: OpenCase[]
  readonly ends: ReadonlyMap<number, number>
  /** Those that are looked at; absent are all. */
  readonly heads: ReadonlySet<number> | undefined
}

/** What stands in the place of a keyword of CASE; undefined for what is none. */
function caseText(tokens: readonly Token[], { index, depth, cases, ends, heads }: CasePlace): string | undefined {
  const { key = '' } = tokens[index] ?? {}
  const before = tokens[index - 1]?.key ?? ''
  if (before === '.' || before === 'AS') return undefined
  if (ends.has(index)) {
    const isSearched = tokens[index + 1]?.key === 'WHEN' && heads?.has(index) !== false
    cases.push({ isSearched, depth, isFirst: true, hasElse: false })
    return isSearched ? ` ${anyCase}(` : undefined
  }
  const open = cases.at(-1)
  if (open === undefined || open.depth !== depth) return undefined
  if (key === 'END') cases.pop()
  if (!open.isSearched) return undefined
  return searchedText(key, open)
}

function searchedText(key: string, open: OpenCase): string | undefined {
  switch (key) {
    case 'WHEN': {
      const text = open.isFirst ? '' : ','
      open.isFirst = false
      return text
    }
    case 'THEN':
      return ','
    case 'ELSE':
      open.hasElse = true
      return ','
    case 'END':
      return open.hasElse ? ')' : ', NULL)'
    default:
      return undefined
  }
}
