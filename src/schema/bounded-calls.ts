// Functions that take long within one row, or one block of rows, and that the engine cannot stop there: it looks at its time
// limit between blocks. benchmarks/unstoppable-functions.ts finds them.
//
// - Of functions whose time grows with the square of their arguments, each argument gets a bound that the engine checks when it
//   has the value, in the text of the query: `[x]` filtered by a lambda that throws, and its one element again. So the
//   argument is written once, whatever it is, also within a lambda.
// - The same holds of what is searched for in a text, whose time grows with the product of both.
// - Functions that make large values out of nothing, which every other function may then be given for each row of a block,
//   make the blocks of the query small. Blocks of 65,000 rows with a constant of 40 MB took minutes.

import type { FunctionUse, ParsedQuery, TokenRange } from './parsed-query.types.ts'
import { SqlFault } from './sql-fault.ts'
import type { WrappedArgument } from './wrapped-arguments.ts'

/** Bytes of a text, or elements of an array. */
const lengthMax = 4_096
/** Squares of lengths over all rows of a block: some seconds. */
const workMax = 4_000_000_000

/** By the name in lower case, which arguments are bound, and whether their number of rows counts too. */
const bounds: ReadonlyMap<string, Bound> = new Map([
  ...named(
    { positions: [0, 1], isSquare: true },
    `editdistance editdistanceutf8 levenshteindistance levenshteindistanceutf8 dameraulevenshteindistance jarosimilarity
     jarowinklersimilarity arraylevenshteindistance arraylevenshteindistanceweighted arraysimilarity hassubstr`,
  ),
  ...named({ positions: [0], isSquare: true }, 'base58encode base58decode trybase58decode'),
  ...named(
    { positions: [1], isSquare: false },
    `position positioncaseinsensitive positionutf8 positioncaseinsensitiveutf8 instr countsubstrings
     countsubstringscaseinsensitive countsubstringscaseinsensitiveutf8 replace replaceall replaceone`,
  ),
  ...named({ positions: [0], isSquare: false }, 'locate splitbystring'),
])

interface Bound {
  readonly positions: readonly number[]
  readonly isSquare: boolean
}

const growing: ReadonlySet<string> = new Set(
  `range repeat replicate arraywithconstant arrayresize arrayshingles leftpad leftpadutf8 rightpad rightpadutf8 lpad rpad
   randomstring randomstringutf8 randomfixedstring randomprintableascii mappopulateseries bitmaptoarray h3kring
   h3tochildren geohashesinbox arrayfold`.split(/\s+/),
)
const gathering = /^(?:group(?:uniq)?array|groupconcat|group_concat|array_agg|string_agg|array_concat_agg|groupbitmap)/

/** Rows of a block at most, for a query that calls these functions; null where the engine's own size holds. */
export function blockRowsMax(functions: Iterable<string>): number | null {
  let found: number | null = null
  for (const name of functions) {
    const lower = name.toLowerCase()
    if (growing.has(lower) || bounds.get(lower)?.isSquare === true) return 1_024
    if (gathering.test(lower)) found = 8_192
  }
  return found
}

/** Refuses a bound function that is handed to another by its name, where no argument can be bound. */
export function checkBoundPassed({ name, isCalled }: Pick<FunctionUse, 'name' | 'isCalled'>): void {
  // Columns are called `position` and `replace`, and what is searched for is no argument that a higher function could give.
  if (isCalled || bounds.get(name.toLowerCase())?.isSquare !== true) return
  throw new SqlFault(`Function '${name}' cannot be handed to another by its name; write a lambda that calls it`)
}

/** Refuses bound functions where what is written cannot be changed, as in the definition of a column. */
export function checkNoneBound({ calls }: Pick<ParsedQuery, 'calls'>, what: string): void {
  for (const { name } of calls) {
    if (bounds.get(name.toLowerCase())?.isSquare === true) throw new SqlFault(`${what} cannot call function '${name}'`)
  }
}

/** What is written around the arguments that are bound. */
export function boundArguments(parsed: ParsedQuery): readonly WrappedArgument[] {
  for (const call of parsed.calls) checkTest(parsed, call)
  return parsed.calls
    .flatMap((call) => argumentsOf(parsed, call))
    .map(({ range, name, isSquare }) => ({ range, before: before(name, isSquare), after: '])[1]', value: null }))
}

interface BoundArgument {
  readonly name: string
  readonly range: TokenRange
  readonly isSquare: boolean
}

function argumentsOf(parsed: ParsedQuery, call: FunctionUse): readonly BoundArgument[] {
  const { name, isCalled, arguments: given } = call
  const bound = isCalled ? bounds.get(name.toLowerCase()) : undefined
  if (bound === undefined) return []
  return bound.positions.flatMap((position) => {
    const range = given[position]
    if (range === undefined || isShortText(parsed, range, name)) return []
    return [{ name, range, isSquare: bound.isSquare }]
  })
}

/** What gives no more than it is given. */
const shortening: ReadonlySet<string> = new Set(
  'lower upper lowerutf8 upperutf8 concat trim ltrim rtrim tostring char unhex substring left right ifnull coalesce'.split(
    ' ',
  ),
)

/**
 * Whether the argument is made of texts in the query that are not long: it stays a constant to the engine, which searches for
 * one far faster.
 */
function isShortText(parsed: ParsedQuery, { start, end }: TokenRange, name: string): boolean {
  let length = 0
  for (let index = start; index < end; index += 1) {
    const token = parsed.tokens[index]
    if (token === undefined) return false
    if (token.kind === 'string') length += token.text.length
    if (token.kind !== 'word' && token.kind !== 'quotedName') continue
    if (shortening.has(token.name.toLowerCase()) && parsed.tokens[index + 1]?.key === '(') continue
    const constant = parsed.tokens[parsed.constants.get(token.name) ?? -1]
    if (constant === undefined) return false
    length += constant.text.length
  }
  if (length > lengthMax) throw new SqlFault(tooLong(name), { offset: parsed.tokens[start]?.offset ?? 0 })
  return true
}

/** Refuses the exact test of Kolmogorov and Smirnov, whose end takes the product of both samples. */
function checkTest({ tokens }: ParsedQuery, { name, parameters }: FunctionUse): void {
  if (!name.toLowerCase().startsWith('kolmogorovsmirnovtest')) return
  for (const { start, end } of parameters) {
    const token = tokens[start]
    const isKnown = end === start + 1 && token?.kind === 'string' && !/exact|\\/i.test(token.text)
    if (!isKnown) throw new SqlFault(`Function ${name} takes 'auto' or 'asymp' as its method, written as a text`)
  }
}

const parameter = '`__bounded`'

function before(name: string, isSquare: boolean): string {
  const length = `length(${parameter})`
  const isTooMuch = isSquare ? ` OR ${length} * ${length} * blockSize() > ${workMax}` : ''
  return `arrayFilter(${parameter} -> NOT throwIf(${length} > ${lengthMax}${isTooMuch}, '${tooLong(name)}'), [`
}

function tooLong(name: string): string {
  return `An argument of function ${name} is longer than ${lengthMax} bytes or elements, or too long for so many rows: the function cannot be stopped, so shorten it with substring or arraySlice`
}

function named(bound: Bound, names: string): readonly (readonly [string, Bound])[] {
  return names.split(/\s+/).map((name) => [name, bound] as const)
}
