// Where in a query the values of secrets may stand. A template may use a secret to choose rows, but the value must not
// become one: everywhere in the list of SELECT, in WITH, FROM or ARRAY JOIN it could be read back from the result. So it
// has to stand beside a comparison, whose result is no more than a yes or no, or in a condition, where nothing gives it a
// name that other parts of the query could read. And as the engine names a column by its whole expression, an item of a
// SELECT that holds a secret needs a name by AS; subqueries have names of the engine's own.

import { tokenize } from '../schema/syntax/lexer.ts'
import type { Token } from '../schema/syntax/token.types.ts'
import { ApiError, errors } from '../shared/errors/errors.ts'
import type { TextSpan } from '../template/template.types.ts'

/**
 * Checks the places of secrets in a rendered text.
 *
 * @throws SQL_INVALID (400) for one that would show in the result.
 */
export function checkSecretPlaces(text: string, secrets: readonly TextSpan[]): void {
  if (secrets.length === 0) return
  const tokens = tokensOf(text)
  // What is no SQL does not run.
  if (tokens === null) return
  const indexes = new Map(tokens.map((token, index) => [token.offset, index] as const))
  for (const { start } of secrets) {
    const index = indexes.get(start)
    if (index === undefined || !(isCompared(tokens, index) || isInCondition(tokens, index))) {
      if (index !== undefined) refuseInTableFunction(tokens, index)
      throw refusal(
        'compare it with something, or use it in WHERE, PREWHERE, HAVING, QUALIFY or ON, and give it no alias',
      )
    }
    if (!isNamed(tokens, index)) throw refusal('give the column that is computed with it a name by AS')
  }
}

function refusal(advice: string): Error {
  return errors.SQL_INVALID({ reason: `The value of a secret would show in the result: ${advice}` })
}

/** Where the advice to compare it would help nobody. */
function refuseInTableFunction(tokens: readonly Token[], index: number): void {
  let depth = 0
  for (let at = index - 1; at > 1; at -= 1) {
    const word = tokens[at]?.text ?? ''
    if (word === ')') depth += 1
    // A query inside of brackets has places of its own.
    if (depth === 0 && /^SELECT$/i.test(word)) return
    if (word !== '(') continue
    depth -= 1
    const name = tokens[at - 1]?.text ?? ''
    if (depth >= 0) continue
    depth = 0
    if (!/^\w+$/.test(name) || !/^(?:FROM|JOIN)$/i.test(tokens[at - 2]?.text ?? '')) continue
    throw errors.SQL_INVALID({
      reason: `A secret cannot be an argument of the table function '${name}'`,
      hint: "A secret chooses rows, as in WHERE column = {{tb_secret('name')}}; rows of other systems come in by POST /v0/datasources",
    })
  }
}

function tokensOf(text: string): readonly Token[] | null {
  try {
    return tokenize(text)
  } catch (error) {
    if (error instanceof ApiError) return null
    throw error
  }
}

const comparisons: ReadonlySet<string> = new Set('= == != <> < > <= >= <=> LIKE ILIKE'.split(' '))

/** The value stands beside the operator itself: what is compared may be more, but only the answer goes on. */
function isCompared(tokens: readonly Token[], index: number): boolean {
  const [before, after] = [tokens[index - 1], tokens[index + 1]]
  const isBehind = before !== undefined && comparisons.has(keyOf(before))
  // An operator that binds more tightly takes what stands before the value with it, and is compared with it.
  const isBefore = after !== undefined && comparisons.has(keyOf(after))
  return isBehind || isBefore
}

const clauses: ReadonlySet<string> = new Set(
  `SELECT WITH FROM JOIN WHERE PREWHERE HAVING QUALIFY ON USING GROUP ORDER LIMIT OFFSET SETTINGS WINDOW FILL INTERPOLATE
  UNION EXCEPT INTERSECT FORMAT`.split(/\s+/),
)
const conditions: ReadonlySet<string> = new Set(['WHERE', 'PREWHERE', 'HAVING', 'QUALIFY', 'ON'])

function isInCondition(tokens: readonly Token[], index: number): boolean {
  const clause = clauseAround(tokens, index)
  return clause !== null && conditions.has(keyOf(tokens[clause.at])) && !hasAlias(tokens, index, clause.openers)
}

interface Clause {
  /** The index of its keyword. */
  readonly at: number
  /** The brackets around a token inside of the clause, the innermost first. */
  readonly openers: readonly number[]
}

/** The clause that a token stands in; null when there is none. */
function clauseAround(tokens: readonly Token[], index: number): Clause | null {
  const openers: number[] = []
  let depth = 0
  for (let at = index - 1; at >= 0; at -= 1) {
    if (isClosing(tokens[at])) depth += 1
    else if (isOpening(tokens[at]) && depth > 0) depth -= 1
    else if (isOpening(tokens[at])) openers.push(at)
    else if (depth === 0 && isClause(tokens, at)) return { at, openers }
  }
  return null
}

/** Whether the item of a SELECT or WITH that holds the token has a name, also when it is in a FILTER of the item. */
function isNamed(tokens: readonly Token[], index: number): boolean {
  const clause = clauseAround(tokens, index)
  if (clause === null) return true
  const key = keyOf(tokens[clause.at])
  if (key === 'SELECT' || key === 'WITH') return hasItemName(tokens, index, clause.openers)
  // `FILTER (WHERE …)`: the bracket opens no query.
  const isFilter = isOpening(tokens[clause.at - 1]) && keyOf(tokens[clause.at - 2]) === 'FILTER'
  return !isFilter || isNamed(tokens, clause.at - 1)
}

/** `expression AS name` around the token. */
function hasItemName(tokens: readonly Token[], index: number, openers: readonly number[]): boolean {
  let depth = 0
  for (let at = openers.at(-1) ?? index; at < tokens.length && depth >= 0; at += 1) {
    if (isOpening(tokens[at])) depth += 1
    else if (isClosing(tokens[at])) depth -= 1
    else if (depth === 0 && (tokens[at]?.text === ',' || isClause(tokens, at))) return false
    else if (depth === 0 && keyOf(tokens[at]) === 'AS') return true
  }
  return false
}

/** Whether an expression that holds the value is named by AS. */
function hasAlias(tokens: readonly Token[], index: number, openers: readonly number[]): boolean {
  let enclosing = 0
  let depth = 0
  for (let at = index + 1; at < tokens.length; at += 1) {
    if (isOpening(tokens[at])) depth += 1
    else if (isClosing(tokens[at]) && depth > 0) depth -= 1
    else if (isClosing(tokens[at])) {
      // The bracket of the query itself.
      if (enclosing === openers.length) return false
      enclosing += 1
    } else if (depth === 0 && isClause(tokens, at)) return false
    else if (depth === 0 && keyOf(tokens[at]) === 'AS') {
      // In `CAST(x AS T)` a type follows.
      const opener = openers[enclosing]
      if (opener === undefined || keyOf(tokens[opener - 1]) !== 'CAST') return true
    }
  }
  return false
}

function isClause(tokens: readonly Token[], at: number): boolean {
  const token = tokens[at]
  return token?.kind === 'word' && clauses.has(keyOf(token)) && tokens[at - 1]?.text !== '.'
}

function isOpening(token: Token | undefined): boolean {
  return token?.kind === 'symbol' && (token.text === '(' || token.text === '[')
}

function isClosing(token: Token | undefined): boolean {
  return token?.kind === 'symbol' && (token.text === ')' || token.text === ']')
}

/** Words in capitals; empty for what is quoted. */
function keyOf(token: Token | undefined): string {
  if (token === undefined || (token.kind !== 'word' && token.kind !== 'symbol')) return ''
  return token.text.toUpperCase()
}
