// What a caller's ClickHouse expression may hold before it becomes part of a CREATE TABLE: a DEFAULT, a key, a TTL.
//
// The engine judges the meaning. This judges what the engine would do gladly and must not: leave the clause it stands
// in, read files or other tables (`DEFAULT file('/etc/passwd')` is evaluated by CREATE TABLE, and shown in its error),
// or hold up every insert.

import { TextError } from '../shared/text-error.ts'
import type { TextToken } from '../shared/text-tokens.ts'

const symbols: ReadonlySet<string> = new Set('()[],.+-*/%=<>!?:|')
const closerByOpener: ReadonlyMap<string, string> = new Map([
  ['(', ')'],
  ['[', ']'],
])

const deniedFunctions = [
  /^(file|url|s3|remote(secure)?|executable|showcertificate|hascolumnintable)$/,
  /^(dict(get.*|has|isin)|joinget(ornull)?)$/,
  /^(catboostevaluate|evalmlmethod|naivebayes.*|ai(classify|embed|extract|generate|translate))$/,
  /^get(clienthttpheader|macro|mergetreesetting|serverport|serversetting|setting|settingordefault)$/,
  /^(sleep|sleepeachrow|throwif|logtrace|generateserialid|globalvariable|addressto.*|filesystem.*)$/,
  // The operator IN with a name behind it reads that table; so does its spelling as a function.
  /^(global)?(not)?(null)?in(ignoreset)?$/,
]
const queryStarts: ReadonlySet<string> = new Set(['WITH', 'EXPLAIN', 'SHOW', 'DESCRIBE', 'FROM'])
const constants: ReadonlySet<string> = new Set(['TRUE', 'FALSE', 'NULL', 'DATE', 'INTERVAL'])

/**
 * Refuses an expression that is no expression, or more than one.
 *
 * @param tokens those of the expression alone, without the end.
 * @param name what it is, for the message: `DEFAULT`, `engine_ttl`.
 * @param offset where it should stand when there is none.
 * @throws TextError
 */
export function checkExpression(tokens: readonly TextToken[], name: string, offset: number): void {
  if (tokens.length === 0) throw new TextError({ reason: `${name} has no expression`, offset })
  checkBrackets(tokens, name)
  for (const [index, token] of tokens.entries()) {
    if (token.isAfterComment && index > 0) {
      throw new TextError({ reason: `${name} has a comment inside`, offset: token.offset })
    }
    if (token.kind === 'symbol' && !symbols.has(token.text)) {
      throw new TextError({ reason: `${name} has an unexpected character '${token.text}'`, offset: token.offset })
    }
    if (token.kind === 'word') checkWord(tokens, index, name)
    if (isCall(tokens, index)) checkCall(tokens, index, name)
  }
}

/** The items between the commas that stand outside all brackets; no tokens give one empty item. */
export function splitAtCommas(tokens: readonly TextToken[]): readonly (readonly TextToken[])[] {
  const items: TextToken[][] = [[]]
  let depth = 0
  for (const token of tokens) {
    if (token.kind === 'symbol') depth += depthChange(token)
    if (depth === 0 && token.kind === 'symbol' && token.text === ',') items.push([])
    else items.at(-1)?.push(token)
  }
  return items
}

/** 1 for an opening bracket, -1 for a closing one, else 0. */
export function depthChange(token: TextToken): number {
  if (token.kind !== 'symbol') return 0
  if (closerByOpener.has(token.text)) return 1
  return token.text === ')' || token.text === ']' ? -1 : 0
}

/** Whether an operand can end with this token, so that a word behind it is no part of one. */
export function endsOperand(token: TextToken | undefined): boolean {
  if (token === undefined) return false
  if (token.kind === 'symbol') return token.text === ')' || token.text === ']'
  return !/^(AND|OR|NOT|IS|IN|LIKE|ILIKE|BETWEEN|CASE|WHEN|THEN|ELSE|INTERVAL|AS|DIV|MOD)$/i.test(token.text)
}

function checkBrackets(tokens: readonly TextToken[], name: string): void {
  const open: TextToken[] = []
  for (const token of tokens) {
    const change = depthChange(token)
    if (change === 1) open.push(token)
    if (change !== -1) continue
    const opener = open.pop()
    if (opener === undefined || closerByOpener.get(opener.text) !== token.text) {
      throw new TextError({ reason: `${name} has '${token.text}' that closes nothing`, offset: token.offset })
    }
  }
  const unclosed = open.at(-1)
  if (unclosed === undefined) return
  throw new TextError({ reason: `${name} has '${unclosed.text}' without its end`, offset: unclosed.offset })
}

function checkWord(tokens: readonly TextToken[], index: number, name: string): void {
  const token = tokens[index]
  if (token === undefined) return
  const word = token.text.toUpperCase()
  const next = tokens[index + 1]
  const isQueryStart = queryStarts.has(word) && tokens[index - 1]?.text === '(' && beginsOperand(next)
  if (word === 'SELECT' || isQueryStart) {
    throw new TextError({ reason: `${name} cannot hold a query`, offset: token.offset })
  }
  if (word === 'APPLY' || word === 'COLUMNS') {
    throw new TextError({ reason: `${name} cannot hold ${word}`, offset: token.offset })
  }
  if (word === 'IN' && readsTable(tokens, index + 1)) {
    throw new TextError({ reason: `${name} takes a list of constants behind IN`, offset: token.offset })
  }
}

function beginsOperand(token: TextToken | undefined): boolean {
  return token !== undefined && token.kind !== 'symbol'
}

/** Behind IN, ClickHouse takes a bare name for a table, also in any number of parentheses. */
function readsTable(tokens: readonly TextToken[], from: number): boolean {
  let index = from
  while (tokens[index]?.text === '(') index += 1
  const first = tokens[index]
  return isName(first) && !constants.has(first?.text.toUpperCase() ?? '') && !isCall(tokens, index)
}

function isName(token: TextToken | undefined): boolean {
  return token?.kind === 'word' || token?.kind === 'quotedName'
}

function isCall(tokens: readonly TextToken[], index: number): boolean {
  const next = tokens[index + 1]
  return isName(tokens[index]) && next?.kind === 'symbol' && next.text === '('
}

function checkCall(tokens: readonly TextToken[], index: number, name: string): void {
  const token = tokens[index]
  if (token === undefined) return
  const called = token.value.toLowerCase()
  // `x IN (1)` and `x NOT IN (1)` are the operator, whose list is checked as such.
  const isOperator = token.kind === 'word' && called === 'in' && isBehindOperand(tokens[index - 1])
  if (isOperator || !deniedFunctions.some((denied) => denied.test(called))) return
  throw new TextError({ reason: `${name} cannot call ${token.value}()`, offset: token.offset })
}

function isBehindOperand(before: TextToken | undefined): boolean {
  return endsOperand(before) || before?.text.toUpperCase() === 'NOT'
}
