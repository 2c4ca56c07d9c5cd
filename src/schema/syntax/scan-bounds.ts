// Bounds of functions that go over a long value for each row, each match or each pair of parts. Most values that queries read
// are short, and a bound costs time, so these hold only in queries that also make large values out of nothing
// (`makesLargeValues`). What is written in the query as a text is judged whatever else it calls.

import { constantText } from './constant-text.ts'
import type { FunctionUse, ParsedQuery, TokenRange } from './parsed-query.types.ts'
import { SqlFault } from './sql-fault.ts'

/** What one argument of a call may be, as the engine sees it. */
export interface ScanBound {
  readonly position: number
  /** Bytes or elements; null where the argument may be a number. */
  readonly lengthMax: number | null
  /** Most squares of its length over all rows of a block. */
  readonly squareMax?: number
  /** Most of its length over all rows of a block. */
  readonly totalMax?: number
  /** Another argument, whose length over all rows of a block is bounded by `scanMax`. */
  readonly scanned?: number
  /** Whether its own length counts with that. */
  readonly isProduct?: boolean
  /** Counts bytes where the length tells nothing. */
  readonly isBySize?: boolean
}

/** Bytes or elements that are looked at in about a second. */
export const scanMax = 4_000_000_000

const matchedTextMax = 65_536
/** Texts or patterns that are looked for at once. */
const manyMax = 1_024
const wildcardsMax = 100
const patternLengthMax = 256
/** Steps of an automaton whose states are too many to be kept. */
const stepsMax = 100_000_000
const stepsFree = 200

function names(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/))
}

/** They look for the second argument in the first. */
const searches = names(
  `has indexof countequal hassubsequence hassubsequencecaseinsensitive
   hassubsequenceutf8 hassubsequencecaseinsensitiveutf8 substringutf8 leftutf8 rightutf8 match like ilike notlike notilike
   jsonextract jsonextractarrayraw jsonextractbool jsonextractfloat jsonextractint jsonextractkeys jsonextractkeysandvalues
   jsonextractkeysandvaluesraw jsonextractraw jsonextractstring jsonextractuint jsonhas jsonkey jsonlength jsontype
   mapcontains mapcontainskey mapcontainsvalue`,
)
/** They compare it at each place. */
const comparing = /^(?:position|instr|countsubstrings|replace(?:all|one)?$)/
const fixed: ReadonlyMap<string, readonly ScanBound[]> = new Map([
  ...each('pointinpolygon', [{ position: 1, lengthMax: 65_536, totalMax: scanMax, isBySize: true }]),
  ...each('hasall hasany', [{ position: 1, lengthMax: 4_096 }]),
  ...each(
    'jsonmergepatch',
    [0, 1, 2, 3].map((position) => ({ position, lengthMax: 65_536, squareMax: 4e10 })),
  ),
  ...each('urlhierarchy urlpathhierarchy', [{ position: 0, lengthMax: 16_384, squareMax: 1e9 }]),
  ...each('extracttextfromhtml', [{ position: 0, lengthMax: 262_144, squareMax: 1e11 }]),
  ...each(
    `multisearchallpositions multisearchallpositionscaseinsensitive multisearchallpositionscaseinsensitiveutf8
     multisearchallpositionsutf8 multisearchany multisearchanycaseinsensitive multisearchanycaseinsensitiveutf8
     multisearchanyutf8 multisearchfirstindex multisearchfirstindexcaseinsensitive
     multisearchfirstindexcaseinsensitiveutf8 multisearchfirstindexutf8 multisearchfirstposition
     multisearchfirstpositioncaseinsensitive multisearchfirstpositioncaseinsensitiveutf8 multisearchfirstpositionutf8`,
    [
      { position: 0, lengthMax: 1_048_576, totalMax: 4_000_000 },
      { position: 1, lengthMax: manyMax },
    ],
  ),
  ...each('multimatchany multimatchanyindex multimatchallindices', [{ position: 1, lengthMax: manyMax }]),
  ...each('multifuzzymatchany multifuzzymatchanyindex multifuzzymatchallindices', [
    { position: 2, lengthMax: manyMax },
  ]),
  ...each(
    `geometryintersectcartesian geometryintersectspherical polygonsdistancecartesian polygonsdistancespherical
     polygonsequalscartesian polygonsintersectcartesian polygonsintersectioncartesian polygonsintersectionspherical
     polygonsintersectspherical polygonssymdifferencecartesian polygonssymdifferencespherical polygonsunioncartesian
     polygonsunionspherical polygonswithincartesian polygonswithinspherical`,
    [0, 1].map((position) => ({ position, lengthMax: 65_536, squareMax: 1e10, isBySize: true })),
  ),
])

function each(text: string, bounds: readonly ScanBound[]): readonly (readonly [string, readonly ScanBound[]])[] {
  return [...names(text)].map((name) => [name, bounds] as const)
}

interface Matching {
  readonly text: number
  readonly pattern: number
  /** Whether it looks for all matches, each of which may look to the end of the text. */
  readonly isRepeated: boolean
}

const matchings: ReadonlyMap<string, Matching> = new Map([
  ...matching('match extractgroups replaceregexpone regexp_extract regexpextract', [0, 1], false),
  ...matching(
    `extractall extractallgroups extractallgroupshorizontal extractallgroupsvertical replaceregexpall regexp_replace
     countmatches countmatchescaseinsensitive regexp_matches regexp_substr regexp_instr regexpinstr regexpposition`,
    [0, 1],
    true,
  ),
  ...matching('splitbyregexp', [1, 0], true),
])

function matching(
  text: string,
  [textAt, pattern]: readonly [number, number],
  isRepeated: boolean,
): readonly (readonly [string, Matching])[] {
  return [...names(text)].map((name) => [name, { text: textAt, pattern, isRepeated }] as const)
}

/** What bounds the arguments of a call in a query that makes large values. */
export function scanBounds(parsed: ParsedQuery, call: FunctionUse): readonly ScanBound[] {
  const lower = call.name.toLowerCase()
  const found = [...(fixed.get(lower) ?? [])]
  const match = matchings.get(lower)
  if (match !== undefined) found.push(...matchBounds(parsed, call, match))
  if (likes.has(lower)) found.push({ position: 1, lengthMax: patternLengthMax, scanned: 0 })
  else if (searches.has(lower) || comparing.test(lower)) {
    found.push({ position: 1, lengthMax: null, scanned: 0, isProduct: comparing.test(lower) })
  }
  if (jsonPaths.has(lower)) found.push({ position: 0, lengthMax: matchedTextMax, squareMax: 4e10 })
  return found
}

function matchBounds(parsed: ParsedQuery, call: FunctionUse, match: Matching): readonly ScanBound[] {
  const range = call.arguments[match.pattern]
  const pattern = range === undefined ? null : constantText(parsed, range)
  const found: ScanBound[] = []
  const steps = pattern === null ? patternLengthMax * 4 : stepsOf(pattern.value)
  if (pattern === null) found.push({ position: match.pattern, lengthMax: patternLengthMax })
  if (steps > stepsFree) {
    found.push({ position: match.text, lengthMax: Math.floor(stepsMax / steps), totalMax: (4 * stepsMax) / steps })
  }
  if (match.isRepeated && (pattern === null || /(?:[*+]|,\})(?![)?]*$)/.test(pattern.value))) {
    found.push({ position: match.text, lengthMax: matchedTextMax, squareMax: 1e10 })
  }
  return found
}

/** States that the pattern may have at once, for each character of the text. */
function stepsOf(pattern: string): number {
  let steps = pattern.length
  for (const [, least = '', most = ''] of pattern.matchAll(/\{(\d{1,9})(?:,(\d{0,9}))?\}/g)) {
    steps += Math.max(Number(least), Number(most)) * 2
  }
  return steps
}

const likes = names('like ilike notlike notilike')
const jsonPaths = names('json_query json_value json_exists')

/** Refuses patterns and paths in the query whose work does not end. @throws SqlFault. */
export function checkPatterns(parsed: ParsedQuery): void {
  for (const { start, end } of parsed.patterns) checkLike(parsed, { start, end })
  for (const { name, arguments: given } of parsed.calls) {
    const lower = name.toLowerCase()
    if (lower === 'h3line') throw new SqlFault(`Function '${name}' is not allowed: its line may be of any length`)
    const second = given[1]
    if (second === undefined) continue
    if (likes.has(lower)) checkLike(parsed, second)
    if (jsonPaths.has(lower)) checkPath(parsed, second, name)
  }
}

/** Strings that are put together count as one. */
function checkLike({ tokens }: ParsedQuery, { start, end }: TokenRange): void {
  let count = 0
  for (const { kind, text } of tokens.slice(start, end)) {
    if (kind === 'string') count += text.replaceAll(/[^%_]/g, '').length
  }
  if (count > wildcardsMax) throw new SqlFault(`A pattern of LIKE has more than ${wildcardsMax} wildcards`)
}

const indexMax = 10_000
const loopsMax = 4

/** A path counts from one index to another whatever the text holds. */
function checkPath(parsed: ParsedQuery, range: TokenRange, name: string): void {
  const path = constantText(parsed, range)
  if (path === null) throw new SqlFault(`The path of ${name}() must be a text in quotes`)
  const large = path.value.match(/\d+/g)?.find((digits) => Number(digits) > indexMax)
  if (/\bto\b/i.test(path.value) && large !== undefined) {
    throw new SqlFault(
      `The path of ${name}() has the index ${large.slice(0, 20)}; the largest of a range is ${indexMax}`,
    )
  }
  const loops = path.value.match(/\bto\b|\*/gi)?.length ?? 0
  if (loops > loopsMax) throw new SqlFault(`The path of ${name}() has more than ${loopsMax} ranges and asterisks`)
}
