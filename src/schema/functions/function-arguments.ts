// The arguments of allowed functions that the engine parses itself, and what bounds each. Some of these texts it runs: the
// parameters in `arrayReduce('topK(…)', …)` are an expression to it, with subqueries and all. `test/schema/functions/function-arguments.test.ts`
// holds the table to the engine's own descriptions of its functions. Names of time zones have a table of their own in time-zones.ts.
//
// Not in the table, because nothing bounds them but the engine, which evaluates nothing of them: patterns of regular expressions
// and LIKE, JSON paths, formats of other times and `format()`, names of elements and subcolumns, ciphers, charsets, tokenizers, and
// the queries of formatQuery() and its like, which are parsed and never run.

import { beginningOf } from '../../shared/beginning-of.ts'
import { quoteString } from '../../shared/text-escapes.ts'
import { constantText } from '../syntax/constant-text.ts'
import type { FunctionUse, ParsedQuery, TokenRange } from '../syntax/parsed-query.types.ts'
import type { Edit } from '../syntax/splice.ts'
import type { SqlCursor } from '../syntax/sql-cursor.ts'
import { SqlFault } from '../syntax/sql-fault.ts'
import { textCursor } from '../syntax/text-cursor.ts'
import { checkTypeText, takeLiterals } from '../syntax/type-parser.ts'
import { isAllowedAggregate } from './function-policy.ts'

/**
 * - `type`: a type, as behind AS in a cast.
 * - `aggregate`: an aggregate function with literals for parameters.
 * - `format`: a format that needs nothing but rows.
 * - `codec`: codecs with literals for parameters.
 * - `joda`: the format of a time that is parsed, which reads no name of a time zone out of it.
 */
export type TextKind = 'type' | 'aggregate' | 'format' | 'codec' | 'joda'

export interface TextArgument {
  readonly kind: TextKind
  /** Counted from 0; `last` stands behind the first; `parameter` is the first in the brackets before the arguments. */
  readonly at: number | 'last' | 'parameter'
}

const last = (kind: TextKind): TextArgument => ({ kind, at: 'last' })
const at = (index: number, kind: TextKind): TextArgument => ({ kind, at: index })

/** By the name of the function in lower case. */
export const textArguments: ReadonlyMap<string, TextArgument> = new Map([
  ['_cast', at(1, 'type')],
  ['accuratecast', at(1, 'type')],
  ['accuratecastordefault', at(1, 'type')],
  ['accuratecastornull', at(1, 'type')],
  ['arrayreduce', at(0, 'aggregate')],
  ['arrayreduceinranges', at(0, 'aggregate')],
  ['cast', at(1, 'type')],
  ['defaultvalueoftypename', at(0, 'type')],
  ['dynamicelement', at(1, 'type')],
  ['estimatecompressionratio', { kind: 'codec', at: 'parameter' }],
  ['formatrow', at(0, 'format')],
  ['formatrownonewline', at(0, 'format')],
  ['groupformat', { kind: 'format', at: 'parameter' }],
  ['initializeaggregation', at(0, 'aggregate')],
  ['isdynamicelementinshareddata', at(1, 'type')],
  ['jsonextract', last('type')],
  ['jsonextractcaseinsensitive', last('type')],
  ['jsonextractkeysandvalues', last('type')],
  ['jsonextractkeysandvaluescaseinsensitive', last('type')],
  ['parsedatetime64injodasyntax', at(1, 'joda')],
  ['parsedatetime64injodasyntaxornull', at(1, 'joda')],
  ['parsedatetime64injodasyntaxorzero', at(1, 'joda')],
  ['parsedatetimeinjodasyntax', at(1, 'joda')],
  ['parsedatetimeinjodasyntaxornull', at(1, 'joda')],
  ['parsedatetimeinjodasyntaxorzero', at(1, 'joda')],
  ['reinterpret', at(1, 'type')],
  ['variantelement', at(1, 'type')],
])

// Combinators may stand behind an aggregate function.
const aggregatesWithTexts = /^(estimatecompressionratio|groupformat)/

function argumentOf(name: string): TextArgument | undefined {
  const lower = name.toLowerCase()
  return textArguments.get(lower) ?? textArguments.get(aggregatesWithTexts.exec(lower)?.[1] ?? '')
}

/**
 * Checks the texts among the arguments of all calls.
 *
 * @returns what is written in the place of names that stand for such a text, in the order of the calls.
 * @throws SqlFault.
 */
export function checkTextArguments(parsed: ParsedQuery): readonly Edit[] {
  return parsed.calls.flatMap((call) => {
    const argument = argumentOf(call.name)
    return argument === undefined ? [] : checkTextArgument(parsed, call, argument)
  })
}

function checkTextArgument(parsed: ParsedQuery, call: FunctionUse, argument: TextArgument): readonly Edit[] {
  const { name, isCalled } = call
  if (!isCalled) throw new SqlFault(`Function '${name}' can not be handed to another: write a lambda, x -> ${name}(…)`)
  const range = rangeOf(call, argument)
  if (range === undefined) return []
  const text = constantText(parsed, range)
  if (text === null) {
    if (argument.kind === 'type' && isTypeName(parsed, range)) return []
    if (argument.at === 'parameter' && call.parameters.length === 0) return []
    throw new SqlFault(`The ${what[argument.kind]} of ${name}() must be a text in quotes`)
  }
  try {
    checks[argument.kind](text.value)
  } catch (thrown) {
    if (!(thrown instanceof SqlFault)) throw thrown
    throw new SqlFault(`The ${what[argument.kind]} of ${name}() can not be used: ${thrown.reason}`, { cause: thrown })
  }
  return text.isNamed ? [{ ...range, before: quoteString(text.value), inner: null, after: '' }] : []
}

const what: Readonly<Record<TextKind, string>> = {
  type: 'type',
  aggregate: 'aggregate function',
  format: 'format',
  codec: 'codec',
  joda: 'format',
}

function rangeOf({ arguments: given, parameters }: FunctionUse, { at: place }: TextArgument): TokenRange | undefined {
  // In `* APPLY(f('x'))` the parameters are all there is.
  if (place === 'parameter') return (parameters.length > 0 ? parameters : given)[0]
  if (place === 'last') return given.length > 1 ? given.at(-1) : undefined
  return given[place]
}

/** `toTypeName(x)`, which gives the name of a type that is there already. */
function isTypeName({ calls, tokens }: ParsedQuery, { start, end }: TokenRange): boolean {
  const call = calls.find((one) => one.start === start && one.isCalled)
  if (call?.name !== 'toTypeName' || call.arguments.length !== 1) return false
  return call.arguments[0]?.end === end - 1 && tokens[end - 1]?.key === ')'
}

const checks: Readonly<Record<TextKind, (text: string) => void>> = {
  type: checkTypeText,
  aggregate: checkAggregate,
  format: checkFormat,
  codec: (text) => checkWhole(text, takeCodecs),
  joda: checkJoda,
}

function checkWhole(text: string, take: (cursor: SqlCursor) => void): void {
  const cursor = textCursor(text)
  take(cursor)
  if (!cursor.isAtEnd) cursor.refuse('expected the end of the text')
}

/** `sum`, `quantileIf(0.9)`. */
function checkAggregate(text: string): void {
  checkWhole(text, (cursor) => {
    const name = cursor.takeName('an aggregate function')
    if (!isAllowedAggregate(name)) throw new SqlFault(`'${beginningOf(name, 60)}' is not a known aggregate function`)
    takeParameters(cursor)
  })
}

/** `Delta, ZSTD(1)`. */
export function takeCodecs(cursor: SqlCursor): void {
  do {
    cursor.takeName('a codec')
    takeParameters(cursor)
  } while (cursor.take(','))
}

function takeParameters(cursor: SqlCursor): void {
  if (!cursor.take('(')) return
  takeLiterals(cursor)
  cursor.expect(')')
}

// Formats with a schema or a template read that from a file.
const plainFormats =
  /^(?:CSV|JSON|Markdown|MD|NDJSON|Pretty|Raw|RowBinary|SQLInsert|TabSeparated|TSKV|TSV|Values|Vertical|XML)\w*$/i

function checkFormat(text: string): void {
  if (!plainFormats.test(text)) throw new SqlFault(`'${beginningOf(text, 60)}' is not a known text format of rows`)
}

/** Letters between single quotes stand for themselves. A quote that is not closed is refused by the engine. */
function checkJoda(text: string): void {
  if (!text.replaceAll(/'[^']*'/g, '').includes('z')) return
  throw new SqlFault(
    "'z' reads the name of a time zone; read an offset with 'Z', or give the zone as the last argument",
  )
}
