// What a caller's ClickHouse text may hold before it becomes part of a CREATE TABLE: a DEFAULT, a key, a TTL, an index.
//
// `schema` judges what it may call and hold, by the parser and the allow list of queries. Here is found out where such a text
// ends, and what people get wrong about that is told with its place.

import { TextError } from '../../shared/text-error.ts'
import { SqlFault } from '../syntax/sql-fault.ts'
import type { TextToken } from '../syntax/text-tokens.ts'
import { readStoredText, type StoredKind } from './stored-expression.ts'

const symbols: ReadonlySet<string> = new Set('()[],.+-*/%=<>!?:|')
const closerByOpener: ReadonlyMap<string, string> = new Map([
  ['(', ')'],
  ['[', ']'],
])

/** A text that stands at `offset` of a longer one. */
export interface PlacedText {
  readonly text: string
  /** Those of the text alone, without the end; their offsets are those of the longer one. */
  readonly tokens: readonly TextToken[]
  readonly offset: number
}

/**
 * Reads a text that becomes part of a table.
 *
 * @param name what it is, for the message: `DEFAULT`, `engine_ttl`.
 * @returns the text as it goes on: without comments, with single blanks.
 * @throws TextError
 */
export function readStored({ text, tokens, offset }: PlacedText, kind: StoredKind, name: string): string {
  if (tokens.length === 0) throw new TextError({ reason: `${name} has no expression`, offset })
  checkBrackets(tokens, name)
  for (const [index, token] of tokens.entries()) {
    if (token.isAfterComment && index > 0) {
      throw new TextError({ reason: `${name} has a comment inside`, offset: token.offset })
    }
    if (token.kind === 'symbol' && !symbols.has(token.text)) {
      throw new TextError({ reason: `${name} has an unexpected character '${token.text}'`, offset: token.offset })
    }
  }
  try {
    return readStoredText(text, kind, name)
  } catch (thrown) {
    if (!(thrown instanceof SqlFault)) throw thrown
    const reason = thrown.reason.startsWith(`${name} `) ? thrown.reason : `${name}: ${thrown.reason}`
    throw textErrorOf(thrown, reason, offset + (thrown.offset ?? 0))
  }
}

/** A fault of `schema` as one of the text that it was found in. */
export function textErrorOf(cause: SqlFault, reason: string, offset: number): TextError {
  return new TextError({ reason, offset, cause })
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
