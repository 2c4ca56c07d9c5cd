// Functions whose value is not bound to the row: another each time, or one that depends on the rows around it and on how they
// are kept. A `replace_condition` decides of each row in several statements, which must all decide the same.
//
// `test/schema/row-functions` holds the lists to what the engine says of its functions.

import { isBareFunction } from '../schema/functions/bare-functions.ts'
import { textArguments } from '../schema/functions/function-arguments.ts'
import { constantText } from '../schema/syntax/constant-text.ts'
import type { FunctionUse, ParsedQuery } from '../schema/syntax/parsed-query.types.ts'
import type { Edit } from '../schema/syntax/splice.ts'
import { SqlFault } from '../schema/syntax/sql-fault.ts'

const fickle: ReadonlySet<string> = new Set(
  `arraypartialreversesort arraypartialshuffle arraypartialsort arrayrandomsample arrayshuffle blocknumber
   blockserializedsize blocksize datetimetouuidv7 dumpcolumnstructure fuzzbits generaterandomstructure
   generatesnowflakeid generateuuidv4 generateuuidv7 indexhint isconstant localtime lowcardinalityindices
   lowcardinalitykeys neighbor now64 nowinblock nowinblock64 obfuscatequery rand rand32 rand64 randbernoulli
   randbinomial randcanonical randchisquared randconstant randexponential randfisherf randlognormal
   randnegativebinomial randnormal randomfixedstring randomprintableascii randomstring randomstringutf8 randpoisson
   randstudentt randuniform rownumberinallblocks rownumberinblock runningaccumulate runningconcurrency
   runningdifference runningdifferencestartingwithfirstvalue timeseriescopytag timeseriescopytags
   timeseriesextracttag timeseriesgrouptosamplingkey timeseriesgrouptotags timeseriesidtogroup timeseriesidtotags
   timeseriesidtotagsgroup timeseriesjointags timeseriesremovealltagsexcept timeseriesremovetag timeseriesremovetags
   timeseriesreplacetag timeseriesstoretags timeseriestagsgrouptotags timeseriestagstogroup
   timeseriesthrowduplicateseriesif tocolumntypename`.split(/\s+/),
)

/** It draws a seed of its own for each state. */
const fickleAggregate = /^\s*[`"]?grouparraysample/i

/** How the time of the replace is written in the place of a call, without the bracket that closes it. */
const times: ReadonlyMap<string, { readonly open: (seconds: number) => string; readonly takesZone: boolean }> = new Map(
  [
    ...named('now current_timestamp localtimestamp', true, (seconds) => `toDateTime(${seconds}`),
    ...named('utctimestamp utc_timestamp', false, (seconds) => `toDateTime(${seconds}, 'UTC'`),
    ...named('today curdate current_date', false, (seconds) => `toDate(toDateTime(${seconds})`),
    ...named('yesterday', false, (seconds) => `addDays(toDate(toDateTime(${seconds})), -1`),
  ],
)

function named(names: string, takesZone: boolean, open: (seconds: number) => string) {
  return names.split(' ').map((name) => [name, { open, takesZone }] as const)
}

export function isFickleFunction(name: string): boolean {
  return fickle.has(name.toLowerCase())
}

/** Those that tell the time in whole seconds or days, so that the time of the replace can stand for them. */
export const timeFunctions: readonly string[] = [...times.keys()]

/** What is fixed while a condition holds. */
export interface ConditionMoment {
  readonly columns: readonly string[]
  /** What the condition calls now. */
  readonly seconds: number
}

/**
 * Makes an expression say the same of a row in each statement that it is written into: the time is written as what it is.
 *
 * @returns what stands in the place of calls and names that tell the time.
 * @throws SqlFault for what else may differ.
 */
export function settleValues(parsed: ParsedQuery, { columns, seconds }: ConditionMoment): readonly Edit[] {
  const calls = parsed.calls.flatMap((call) => settleCall(parsed, call, seconds))
  const names = parsed.names.flatMap(({ start, end }) => {
    const name = end === start + 1 ? (parsed.tokens[start]?.name ?? '') : ''
    const time = isBareFunction(name) ? times.get(name.toLowerCase()) : undefined
    if (time === undefined || columns.includes(name)) return []
    return [{ start, end, before: `${time.open(seconds)})`, inner: null, after: '' }]
  })
  return [...calls, ...names].sort((one, other) => one.start - other.start)
}

function settleCall(parsed: ParsedQuery, call: FunctionUse, seconds: number): readonly Edit[] {
  const { name, isCalled, start, arguments: given, parameters } = call
  if (isFickleFunction(name) || isFickleReduction(parsed, call)) throw faultOf(name)
  const time = times.get(name.toLowerCase())
  if (time === undefined || !isCalled) return []
  const isPlain = parameters.length === 0 && given.length <= (time.takesZone ? 1 : 0)
  if (!isPlain || parsed.tokens[start + 1]?.key !== '(') throw faultOf(name)
  const zone = given.length > 0 ? ',' : ''
  return [{ start, end: start + 2, before: `${time.open(seconds)}${zone}`, inner: null, after: '' }]
}

function isFickleReduction(parsed: ParsedQuery, { name, arguments: given }: FunctionUse): boolean {
  const argument = textArguments.get(name.toLowerCase())
  if (argument?.kind !== 'aggregate' || typeof argument.at !== 'number') return false
  const range = given[argument.at]
  return range !== undefined && fickleAggregate.test(constantText(parsed, range)?.value ?? '')
}

function faultOf(name: string): SqlFault {
  return new SqlFault(`it must not call ${name}(), which gives another value each time`)
}
