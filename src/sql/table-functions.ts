// The table functions that a query may call, and what bounds the arguments of each that the engine parses itself.

import { columnsOnly } from '../schema/functions/bare-functions.ts'
import { constantText } from '../schema/syntax/constant-text.ts'
import type { ParsedQuery, TableFunctionUse, TokenRange } from '../schema/syntax/parsed-query.types.ts'
import type { Edit } from '../schema/syntax/splice.ts'
import { SqlFault } from '../schema/syntax/sql-fault.ts'
import type { Token } from '../schema/syntax/token.types.ts'
import { canonicalStructure } from '../schema/types/structure-text.ts'
import { quoteString } from '../shared/text-escapes.ts'

/**
 * What the engine makes of the arguments:
 * - `values`: of all of them values, or queries of our own parser.
 * - `zeros`: a number of rows. The engine has no such function for those who may create no tables: it is written by another.
 * - `structure`: of the first a structure text.
 * - `structureOrSeed`: of the first a structure text, unless it is a number.
 * - `structureOrRow`: of the first a structure text when it reads as one and more follow, else a row.
 */
type TableArguments = 'values' | 'zeros' | 'structure' | 'structureOrSeed' | 'structureOrRow'

/** Table functions without an input from outside the query, by their names in lower case. */
export const tableFunctions: ReadonlyMap<string, TableArguments> = new Map([
  ['generaterandom', 'structureOrSeed'],
  ['generateseries', 'values'],
  ['generate_series', 'values'],
  ['null', 'structure'],
  ['numbers', 'values'],
  ['numbers_mt', 'values'],
  ['primes', 'values'],
  // What the parser calls `(VALUES (1), (2))`: the engine takes no structure there (a test asks it).
  ['sqlstandardvalues', 'values'],
  ['values', 'structureOrRow'],
  ['view', 'values'],
  ['zeros', 'zeros'],
  ['zeros_mt', 'zeros'],
])

/** What the engine finds where a table function was written. */
export function writtenFunctions(name: string): Record<'functions' | 'tableFunctions', readonly string[]> {
  const lower = name.toLowerCase()
  if (tableFunctions.get(lower) !== 'zeros') return { functions: [], tableFunctions: [name] }
  return { functions: ['toUInt8'], tableFunctions: ['view', numbersFor(lower)] }
}

function numbersFor(zeros: string): string {
  return zeros.toLowerCase() === 'zeros_mt' ? 'numbers_mt' : 'numbers'
}

/**
 * Refuses table functions that are on no list, and makes of each structure text one that can be read in one way only.
 *
 * @returns what is written in the place of their arguments, in the order of the text.
 * @throws SqlFault.
 */
export function checkTableFunctions(parsed: ParsedQuery): readonly Edit[] {
  return parsed.tableFunctions.flatMap((use) => {
    const kind = tableFunctions.get(use.name.toLowerCase())
    if (kind === undefined) throw new SqlFault(`Table function '${use.name}' is not allowed`)
    checkNames(parsed, use)
    if (kind === 'zeros') return zerosByNumbers(use)
    const [first] = use.arguments
    if (kind === 'values' || first === undefined) return []
    const text = stringOf(parsed, first)
    if (text === null) {
      checkOther(parsed, use, kind, first)
      return []
    }
    if (kind === 'structureOrRow') return structureOrRow(parsed, use, text)
    return [write(first, structureLiteral(use, text))]
  })
}

function zerosByNumbers({ name, start, end, arguments: given, query }: TableFunctionUse): readonly Edit[] {
  if (given.length > 1 || query !== null) throw new SqlFault(`${name}() takes one number of rows`)
  return [
    write({ start, end: start + 2 }, `view(SELECT toUInt8(0) AS zero FROM ${numbersFor(name)}(`),
    write({ start: end - 1, end }, '))'),
  ]
}

/** The engine works them out before it knows any column: such a name is the function's there, whatever is around it. */
function checkNames({ tokens }: ParsedQuery, use: TableFunctionUse): void {
  const [name] = use.arguments.flatMap(({ start, end }) => columnsOnly(tokens.slice(start, end)))
  if (name === undefined) return
  throw new SqlFault(`'${name}' cannot be a column in the arguments of ${use.name}(): write it with its table`)
}

function write({ start, end }: TokenRange, before: string): Edit {
  return { start, end, before, inner: null, after: '' }
}

function structureLiteral({ name }: TableFunctionUse, text: string): string {
  try {
    return quoteString(canonicalStructure(text))
  } catch (thrown) {
    if (!(thrown instanceof SqlFault)) throw thrown
    const place = thrown.offset === null ? '' : ` at character ${thrown.offset + 1}`
    const reason = `The structure text of ${name}() can not be used: ${thrown.reason}${place}`
    throw new SqlFault(`${reason}. Write names and types alone, as in 'a UInt8, b String'`, { cause: thrown })
  }
}

/**
 * Values whose first is a string: the engine takes it for a structure when it can. Where we cannot, they are all rows with
 * one text each, and a structure that says so leaves the engine no choice.
 */
function structureOrRow(parsed: ParsedQuery, use: TableFunctionUse, text: string): readonly Edit[] {
  const [first, ...others] = use.arguments
  if (first === undefined) return []
  const areTexts = others.every((range) => stringOf(parsed, range) !== null)
  const isRow = others.length === 0 || (areTexts && !readsAsStructure(text))
  if (!isRow) return [write(first, structureLiteral(use, text))]
  return [write({ start: first.start, end: first.start }, "'c1 String', ")]
}

function readsAsStructure(text: string): boolean {
  try {
    canonicalStructure(text)
    return true
  } catch (thrown) {
    if (!(thrown instanceof SqlFault)) throw thrown
    return false
  }
}

/** What the first argument may be when it is no string: nothing that the engine could make one of. */
function checkOther(parsed: ParsedQuery, { name }: TableFunctionUse, kind: TableArguments, range: TokenRange): void {
  if (kind === 'structureOrSeed' && isNumber(parsed.tokens, range)) return
  if (kind === 'structureOrRow' && (isNumber(parsed.tokens, range) || isCollection(parsed.tokens, range))) return
  const hint =
    kind === 'structureOrRow' ? "or a row of literals; write the structure first, as in values('a UInt8', …)" : ''
  throw new SqlFault(
    `The first argument of ${name}() must be its structure as one text in quotes${hint && `, ${hint}`}`,
  )
}

const constants: ReadonlySet<string> = new Set(['NULL', 'TRUE', 'FALSE', 'INF', 'NAN'])

function isNumber(tokens: readonly Token[], { start, end }: TokenRange): boolean {
  const isSigned = ['-', '+'].includes(tokens[start]?.key ?? '')
  const value = tokens[isSigned ? start + 1 : start]
  const isAlone = end === (isSigned ? start + 2 : start + 1)
  return isAlone && (value?.kind === 'number' || (!isSigned && constants.has(value?.key ?? '')))
}

/** `(a, b)` and `[a, b]`, with nothing behind them. */
function isCollection(tokens: readonly Token[], { start, end }: TokenRange): boolean {
  let depth = 0
  let commaCount = 0
  for (let index = start; index < end; index += 1) {
    const key = tokens[index]?.key ?? ''
    if (key === '(' || key === '[') depth += 1
    if (key === ')' || key === ']') depth -= 1
    if (key === ',' && depth === 1) commaCount += 1
    if (depth === 0 && index < end - 1) return false
  }
  return tokens[start]?.key === '[' || (tokens[start]?.key === '(' && commaCount > 0)
}

function stringOf(parsed: ParsedQuery, range: TokenRange): string | null {
  return constantText(parsed, range)?.value ?? null
}
