// Expressions of a query of which the engine may compute one branch alone: `if`, `multiIf`, CASE and `? :`.

import { isColumnOnly } from '../schema/functions/bare-functions.ts'
import { pairBrackets } from '../schema/syntax/bracket-pairs.ts'
import { caseEnds } from '../schema/syntax/keyword-names.ts'
import type { Token } from '../schema/syntax/token.types.ts'

interface Choice {
  /** Of the name of the function, or of CASE; of the border in front of another. */
  readonly head: number
  readonly end: number
}

const choosing: ReadonlySet<string> = new Set(['if', 'multiif', 'casewithoutexpression', 'casewithoutexpr'])

/**
 * The heads of those choices that may take a branch with a name that must be a column when the query runs, and not while it is
 * analysed. Null where they cannot be told from the text: an expression that has a name is analysed where it is used.
 */
export function choicesOfColumns(tokens: readonly Token[]): ReadonlySet<number> | null {
  const names = [...tokens.keys()].filter((index) => isColumnOnly(tokens, index))
  const ternaries = [...tokens.keys()].filter((index) => tokens[index]?.key === '?').map((at) => itemAround(tokens, at))
  const isOfTernary = (index: number): boolean => ternaries.some(({ head, end }) => index > head && index < end)
  if (names.some((index) => isOfTernary(index) || isBetweenWithAndSelect(tokens, index))) return null
  const choices = [...callsOf(tokens), ...casesOf(tokens)]
  const varying = choices.filter((choice) => !isOfLiteral(tokens, choice))
  return new Set(varying.filter(({ head, end }) => names.some((at) => at > head && at < end)).map(({ head }) => head))
}

function callsOf(tokens: readonly Token[]): readonly Choice[] {
  const calls: Choice[] = []
  for (const [opening, end] of pairBrackets(tokens)) {
    const name = tokens[opening - 1]?.name.toLowerCase() ?? ''
    if (tokens[opening]?.key === '(' && choosing.has(name)) calls.push({ head: opening - 1, end })
  }
  return calls
}

function casesOf(tokens: readonly Token[]): readonly Choice[] {
  return [...caseEnds(tokens)].map(([head, end]) => ({ head, end }))
}

/** From the bracket or comma in front of a token to the one behind it: no expression goes beyond them. */
function itemAround(tokens: readonly Token[], index: number): Choice {
  return { head: itemBorder(tokens, index, -1), end: itemBorder(tokens, index, 1) }
}

function itemBorder(tokens: readonly Token[], index: number, step: -1 | 1): number {
  const [opening, closing] = step === 1 ? ['([', ')]'] : [')]', '([']
  let depth = 0
  let at = index + step
  for (; at >= 0 && at < tokens.length; at += step) {
    const { kind, key = '' } = tokens[at] ?? {}
    if (kind !== 'symbol') continue
    if (depth === 0 && (key === ',' || closing.includes(key))) break
    if (opening.includes(key)) depth += 1
    if (closing.includes(key)) depth -= 1
  }
  return at
}

/** Whether it is an `if` whose condition is the same whenever it is computed: made of literals and operators alone. */
function isOfLiteral(tokens: readonly Token[], { head, end }: Choice): boolean {
  if (tokens[head]?.name.toLowerCase() !== 'if') return false
  const rest = tokens.slice(head + 2, end)
  const comma = rest.findIndex(({ key }) => key === ',' || key === '(' || key === '[')
  const condition = rest.slice(0, comma)
  return rest[comma]?.key === ',' && condition.every(({ kind }) => kind !== 'word' && kind !== 'quotedName')
}

/** What WITH names is analysed where it is used, which may be in a branch. */
function isBetweenWithAndSelect(tokens: readonly Token[], index: number): boolean {
  let depth = 0
  let isBehindSelect = false
  for (let at = index - 1; at >= 0; at -= 1) {
    const { key = '' } = tokens[at] ?? {}
    if (key === ')' || key === ']') depth += 1
    if (key === '(' || key === '[') {
      if (depth === 0) isBehindSelect = false
      else depth -= 1
    }
    if (depth > 0) continue
    if (key === 'SELECT') isBehindSelect = true
    if (key === 'WITH' && !isBehindSelect) return true
  }
  return false
}
