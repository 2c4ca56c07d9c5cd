// Where a function is called that an error of the engine names. Operators are functions to it, and have other names in a text.

import { readTokens } from '../schema/syntax/lexer.ts'
import { SqlFault } from '../schema/syntax/sql-fault.ts'
import type { Token } from '../schema/syntax/token.types.ts'
import type { CompiledQuery, SourcePlace } from '../sql/compile-query.ts'

type Placed = Pick<CompiledQuery, 'sql' | 'placeOf'>

/** The operators of a function, as keys of tokens. */
const operators: ReadonlyMap<string, readonly string[]> = new Map([
  ['plus', ['+']],
  ['minus', ['-']],
  ['negate', ['-']],
  ['multiply', ['*']],
  ['divide', ['/']],
  ['modulo', ['%', 'MOD']],
  ['intDiv', ['DIV']],
  ['equals', ['=', '==']],
  ['notEquals', ['!=', '<>']],
  ['less', ['<']],
  ['greater', ['>']],
  ['lessOrEquals', ['<=', 'BETWEEN']],
  ['greaterOrEquals', ['>=', 'BETWEEN']],
  ['isNotDistinctFrom', ['<=>']],
  ['like', ['LIKE']],
  ['notLike', ['LIKE']],
  ['ilike', ['ILIKE']],
  ['notILike', ['ILIKE']],
  ['match', ['REGEXP']],
  ['in', ['IN']],
  ['notIn', ['IN']],
  ['and', ['AND']],
  ['or', ['OR']],
  ['not', ['NOT']],
  ['concat', ['||']],
  ['arrayElement', ['[']],
  ['tupleElement', ['.']],
  ['multiIf', ['CASE']],
  ['if', ['?', 'CASE']],
  ['CAST', ['::']],
])

/** What is an operator between two values, and something else, or another operator, where no value stands before it. */
const binaryAlone: ReadonlySet<string> = new Set(['plus', 'minus', 'multiply', 'arrayElement', 'tupleElement'])
const negated: ReadonlySet<string> = new Set(['notLike', 'notILike', 'notIn'])
const affirmed: ReadonlySet<string> = new Set(['like', 'ilike', 'in'])

/** Operators that are looked at: a text with more tells no single place. */
const placesMax = 100

/** Where the function is called: the place if it is one, the node if they are all in one; undefined for all else. */
export function placeOfCall(name: string, plan: Placed): SourcePlace | { readonly source: string } | undefined {
  const places = callPlaces(name, plan)
  const [first, another] = places
  if (first === undefined || places.length > placesMax) return undefined
  if (another === undefined) return first
  const { source } = first
  return source !== null && places.every((place) => place.source === source) ? { source } : undefined
}

function callPlaces(name: string, { sql, placeOf }: Placed): readonly SourcePlace[] {
  const lower = name.toLowerCase()
  const tokens = tokensOf(sql)
  const found = tokens.filter((token, index) => {
    const before = tokens[index - 1]
    const isCalled = token.kind === 'word' && token.name.toLowerCase() === lower && tokens[index + 1]?.key === '('
    return (isCalled && before?.key !== '.') || isOperator(name, token, before)
  })
  return found.slice(0, placesMax + 1).map(({ offset }) => placeOf(Buffer.byteLength(sql.slice(0, offset))))
}

/** None where it cannot be read any more, as with what was put into it. */
function tokensOf(sql: string): readonly Token[] {
  try {
    return readTokens(sql)
  } catch (thrown) {
    if (thrown instanceof SqlFault) return []
    throw thrown
  }
}

function isOperator(name: string, { key }: Token, before: Token | undefined): boolean {
  if (operators.get(name)?.includes(key) !== true) return false
  if (binaryAlone.has(name)) return endsValue(before)
  if (name === 'negate') return !endsValue(before)
  if (negated.has(name)) return before?.key === 'NOT'
  return !affirmed.has(name) || before?.key !== 'NOT'
}

/** Keywords behind which a value begins. */
const opening = new Set(
  'SELECT DISTINCT WHERE PREWHERE HAVING AND OR NOT BY ON WHEN THEN ELSE CASE IN LIKE ILIKE BETWEEN LIMIT OFFSET AS QUALIFY'.split(
    ' ',
  ),
)

function endsValue(token: Token | undefined): boolean {
  if (token === undefined) return false
  if (token.kind === 'symbol') return [')', ']', '}'].includes(token.key)
  return token.kind !== 'word' || !opening.has(token.key)
}
