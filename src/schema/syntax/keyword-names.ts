// CASE and INTERVAL begin an expression only where all of it follows: the engine tries it, goes back where it fails, and
// takes the word for a name. Parsers of ours never go back, so they look ahead, each word once in a text.

import { intervalUnits } from './keywords.ts'
import type { Token } from './token.types.ts'

/** Operators in symbols with one operand on either side. */
export const symbolOperators: ReadonlySet<string> = new Set('+ - * / % = == != <> < > <= >= <=> ||'.split(' '))

interface OpenCase {
  readonly index: number
  hasWhen: boolean
}

/** What may stand around a CASE that ends a word that was none. */
const closing: ReadonlySet<string> = new Set([')', ']', '}'])
const opening: ReadonlySet<string> = new Set(['(', '[', '{'])

/** For each CASE that has its WHEN and its END the place of that END. */
export function caseEnds(tokens: readonly Token[]): ReadonlyMap<number, number> {
  const ends = new Map<number, number>()
  const levels: OpenCase[][] = [[]]
  for (const [index, { key }] of tokens.entries()) {
    const open = levels.at(-1) ?? []
    if (opening.has(key)) levels.push([])
    else if (closing.has(key)) {
      if (levels.length > 1) levels.pop()
    } else if (key === 'CASE' && mayBeginCase(tokens, index)) open.push({ index, hasWhen: false })
    else if (key === 'END' || isAfterCondition(key)) {
      dropNames(open)
      if (key !== 'END') continue
      const ended = open.pop()
      if (ended !== undefined) ends.set(ended.index, index)
    } else if (key === 'WHEN') {
      const last = open.at(-1)
      if (last !== undefined) last.hasWhen = true
    } else if (key === ',') dropNames(open)
  }
  return ends
}

const notBehindCase: ReadonlySet<string> = new Set(['', ',', ')', ']', '.', '::', '->', '?', ':', 'AS', 'FROM', 'THEN'])

function mayBeginCase(tokens: readonly Token[], index: number): boolean {
  const before = tokens[index - 1]?.key
  if (before === '.' || before === 'AS') return false
  const { kind = 'symbol', key = '' } = tokens[index + 1] ?? {}
  return kind !== 'symbol' || !(notBehindCase.has(key) || (symbolOperators.has(key) && key !== '-' && key !== '+'))
}

function isAfterCondition(key: string): boolean {
  return key === 'THEN' || key === 'ELSE'
}

/** Those without a WHEN so far were names. */
function dropNames(open: OpenCase[]): void {
  while (open.at(-1)?.hasWhen === false) open.pop()
}

const wordOperators: ReadonlySet<string> = new Set('AND OR DIV MOD LIKE ILIKE IN'.split(' '))

/** Reads what follows INTERVAL in turns, operands and operators, until a unit or what can be neither. */
export class IntervalReader {
  readonly #tokens: readonly Token[]
  readonly #brackets: ReadonlyMap<number, number>
  readonly #cases: ReadonlyMap<number, number>
  /** Words INTERVAL that are names; one that is an operand on the way to where another one fails, fails there too. */
  readonly #names = new Set<number>()

  constructor(
    tokens: readonly Token[],
    {
      brackets,
      cases,
    }: { readonly brackets: ReadonlyMap<number, number>; readonly cases: ReadonlyMap<number, number> },
  ) {
    this.#tokens = tokens
    this.#brackets = brackets
    this.#cases = cases
  }

  /** Whether an expression and a unit follow the word, or a string, which may hold both. */
  isInterval(index: number): boolean {
    if (this.#names.has(index)) return false
    const { kind = 'symbol' } = this.#tokens[index + 1] ?? {}
    if (kind === 'string') return true
    const passed = [index]
    for (let place = index + 1; ; ) {
      const end = this.#operandEnd(place)
      if (end === null) break
      if (intervalUnits.has(this.#key(end))) return true
      const next = this.#operatorEnd(end)
      if (next === null) break
      if (this.#key(end - 1) === 'INTERVAL') passed.push(end - 1)
      place = next
    }
    for (const name of passed) this.#names.add(name)
    return false
  }

  /** Behind an operand with its signs and accesses; null where none stands. */
  #operandEnd(start: number): number | null {
    let place = start
    while (this.#key(place) === '-' || this.#key(place) === '+') place += 1
    const token = this.#tokens[place]
    if (token === undefined) return null
    const caseEnd = this.#cases.get(place)
    if (caseEnd !== undefined) place = caseEnd + 1
    else if (opening.has(token.key)) place = this.#behindBracket(place)
    else if (token.kind === 'symbol') return null
    else place += 1
    for (;;) {
      const key = this.#key(place)
      if (key === '(' || key === '[') place = this.#behindBracket(place)
      else if ((key === '.' || key === '::') && this.#tokens[place + 1]?.kind !== 'symbol') place += 2
      else return place
    }
  }

  #operatorEnd(place: number): number | null {
    const key = this.#key(place)
    if (symbolOperators.has(key) || wordOperators.has(key)) return place + 1
    return key === 'NOT' && wordOperators.has(this.#key(place + 1)) ? place + 2 : null
  }

  #behindBracket(place: number): number {
    return (this.#brackets.get(place) ?? this.#tokens.length) + 1
  }

  #key(place: number): string {
    return this.#tokens[place]?.key ?? ''
  }
}
