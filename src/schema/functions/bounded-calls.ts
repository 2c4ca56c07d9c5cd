// Functions that take long within one row, or one block of rows, and that the engine cannot stop there: it looks at its time
// limit between blocks. benchmarks/unstoppable-functions.ts finds them.
//
// - Of functions whose time grows with the square of their arguments, each argument gets a bound that the engine checks when it
//   has the value, in the text of the query: `[x]` filtered by a lambda that throws, and its one element again. So the
//   argument is written once, whatever it is, also within a lambda.
// - The same holds of what is searched for in a text, whose time grows with the product of both.
// - Functions that make large values out of nothing, which every other function may then be given for each row of a block,
//   make the blocks of the query small. Blocks of 65,000 rows with a constant of 40 MB took minutes.

import type { FunctionUse, ParsedQuery, TokenRange } from '../syntax/parsed-query.types.ts'
import { checkPatterns, type ScanBound, scanBounds, scanMax } from '../syntax/scan-bounds.ts'
import { splice } from '../syntax/splice.ts'
import { loneString } from '../syntax/sql-cursor.ts'
import { SqlFault } from '../syntax/sql-fault.ts'
import type { WrappedArgument } from '../syntax/wrapped-arguments.ts'

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
/** Whether a function makes large values out of nothing. */
export function isGrowing(name: string): boolean {
  return growing.has(name.toLowerCase())
}

const gathering = /^(?:group(?:uniq)?array|groupconcat|group_concat|array_agg|string_agg|array_concat_agg|groupbitmap)/
/** They give the same text again and again. */
const formatting: ReadonlySet<string> = new Set('format printf space'.split(' '))
const replacing = /^(?:replace(?:all|regexpall)?|regexp_replace)$/
const replacementMax = 16
const replacesMax = 4

/** Whether a text may become many times as long as what the query was given. */
function makesLargeValues(functions: Iterable<string>, { calls, tokens }: ParsedQuery): boolean {
  for (const name of functions) {
    const lower = name.toLowerCase()
    if (growing.has(lower) || formatting.has(lower) || gathering.test(lower)) return true
  }
  const replaces = calls.filter(({ name }) => replacing.test(name.toLowerCase()))
  if (replaces.length > replacesMax) return true
  return replaces.some(({ arguments: [, , replacement] }) => {
    const string = replacement === undefined ? null : loneString(tokens, replacement)
    return string === null || (tokens[string]?.text.length ?? 0) > replacementMax
  })
}

/** Rows of a block of a query that makes large values out of nothing. */
export const growingBlockRows = 1_024

/** Rows of a block at most, for a query that calls these functions; null where the engine's own size holds. */
export function blockRowsMax(functions: Iterable<string>): number | null {
  let found: number | null = null
  for (const name of functions) {
    const lower = name.toLowerCase()
    if (growing.has(lower) || bounds.get(lower)?.isSquare === true) return growingBlockRows
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

/**
 * What is written around the arguments that are bound.
 *
 * @param functions all that the query calls, and the queries of the nodes that it reads.
 */
export function boundArguments(parsed: ParsedQuery, functions: Iterable<string>): readonly WrappedArgument[] {
  for (const call of parsed.calls) checkTest(parsed, call)
  checkPatterns(parsed)
  const isLarge = makesLargeValues(functions, parsed)
  const bound = parsed.calls.flatMap((call) => argumentsOf(parsed, call, isLarge))
  if (isLarge) bound.push(...patternsOf(parsed))
  return bound.map(({ range, isSpaced = false, ...one }) => ({
    range,
    before: `${isSpaced ? ' ' : ''}${before(one)}`,
    after: '])[1]',
    value: null,
  }))
}

interface BoundArgument {
  readonly name: string
  readonly range: TokenRange
  /** For the message; null where the argument may be a number. */
  readonly lengthMax: number | null
  /** When it is too long, in SQL. */
  readonly condition: string
  /** Whether a word stands before it. */
  readonly isSpaced?: boolean
}

function argumentsOf(parsed: ParsedQuery, call: FunctionUse, isLarge: boolean): readonly BoundArgument[] {
  const { name, isCalled, arguments: given } = call
  if (!isCalled) return []
  const scans = isLarge ? scanBounds(parsed, call) : []
  return given.flatMap((range, position) => {
    const found: ScanBound[] = scans.filter((scan) => scan.position === position)
    const bound = bounds.get(name.toLowerCase())
    if (bound?.positions.includes(position) === true) {
      found.push({ position, lengthMax, ...(bound.isSquare ? { squareMax: workMax } : {}) })
    }
    if (found.length === 0 || isShortText(parsed, range, name)) return []
    const terms = found.flatMap((one) => termsOf(parsed, call, one))
    if (terms.length === 0) return []
    const lengths = found.flatMap((one) => one.lengthMax ?? [])
    return [
      { name, range, lengthMax: lengths.length === 0 ? null : Math.min(...lengths), condition: terms.join(' OR ') },
    ]
  })
}

/** When an argument is too long, in SQL. */
function termsOf(parsed: ParsedQuery, { arguments: given }: FunctionUse, bound: ScanBound): readonly string[] {
  const { lengthMax: most, squareMax, totalMax, scanned, isBySize = false, isProduct = false } = bound
  const length = `${isBySize ? 'byteSize' : 'length'}(${parameter})`
  const terms: string[] = []
  if (most !== null) terms.push(`${length} > ${most}`)
  if (squareMax !== undefined) terms.push(`${length} * ${length} * ${rowCount} > ${squareMax}`)
  if (totalMax !== undefined) terms.push(`${length} * ${rowCount} > ${Math.floor(totalMax)}`)
  if (scanned === undefined) return terms
  const other = copyOf(parsed, given[scanned])
  const factor = isProduct ? `${length} * ` : ''
  terms.push(
    other === null ? `${rowCount} > ${patternRowsMax}` : `${factor}length(${other}) * ${rowCount} > ${scanMax}`,
  )
  return terms
}

const copiedTokensMax = 32

/**
 * An argument once more, which the engine computes once. Null for one that calls what is not listed: the copy is written as the
 * caller wrote it, without what bounds the arguments in it.
 */
function copyOf({ tokens, calls }: ParsedQuery, range: TokenRange | undefined): string | null {
  if (range === undefined || range.end - range.start > copiedTokensMax) return null
  const { start, end } = range
  const inside = calls.filter((call) => call.start >= start && call.start < end)
  if (inside.some(({ name }) => !copied.test(name))) return null
  const copy = tokens.slice(start, end)
  if (copy.some(({ key }) => unlikeCopies.has(key))) return null
  return splice({ source: '', node: null, tokens: copy, end: end - start, edits: [] }).text
}

const copied = /^(?:range|repeat|concat|arrayWithConstant|arrayReverse|mapFromArrays|materialize|lower|upper)$/i
const unlikeCopies: ReadonlySet<string> = new Set('SELECT -> AS LIKE ILIKE REGEXP * ::'.split(' '))

/** What they are matched with may be a long text that is the same for all. */
const patternRowsMax = 65_536

/** Patterns of LIKE and REGEXP that the query makes. */
function patternsOf(parsed: ParsedQuery): readonly BoundArgument[] {
  return parsed.patterns
    .filter((range) => !isShortText(parsed, range, 'LIKE'))
    .map((range) => ({
      name: 'LIKE',
      range,
      lengthMax: 256,
      condition: `length(${parameter}) > 256 OR ${rowCount} > ${patternRowsMax}`,
      isSpaced: true,
    }))
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
/**
 * Rows of the block, or elements of all arrays of the block within a lambda: a byte for each. `blockSize()` depends on no
 * argument, so the engine computes it outside of the lambda.
 */
const rowCount = `blockSerializedSize(empty([${parameter}]))`

function before({ name, lengthMax: most, condition }: Omit<BoundArgument, 'range'>): string {
  return `arrayFilter(${parameter} -> NOT throwIf(${condition}, '${most === null ? tooMuch(name) : tooLong(name, most)}'), [`
}

function tooLong(name: string, most = lengthMax): string {
  return `An argument of function ${name} is longer than ${most} bytes or elements, or too long for so many rows: the function cannot be stopped, so shorten it with substring or arraySlice`
}

function tooMuch(name: string): string {
  return `The arguments of function ${name} are too long for so many rows or elements: the function cannot be stopped, so shorten them with substring or arraySlice`
}

function named(bound: Bound, names: string): readonly (readonly [string, Bound])[] {
  return names.split(/\s+/).map((name) => [name, bound] as const)
}
