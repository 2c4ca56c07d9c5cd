// The arguments that the engine takes for names of time zones. To a name with `file:` before it the engine opens that file, and
// one like `Fixed/UTC+01:02:03` takes 4.6 MB until the engine ends; so a text must be a name that the engine has rules for,
// and what is computed for each row becomes such a name or none.
// `test/full/zone-places.test.ts` looks for such arguments by calling the engine's functions.

import { quoteString } from '../../shared/text-escapes.ts'
import { constantText } from '../syntax/constant-text.ts'
import type { FunctionUse, ParsedQuery, TokenRange } from '../syntax/parsed-query.types.ts'
import { SqlFault } from '../syntax/sql-fault.ts'
import type { WrappedArgument } from '../syntax/wrapped-arguments.ts'
import { checkZoneName } from './time-zone-names.ts'

/** By the name of the function in lower case, the places of its arguments, counted from 0, that may be a zone. */
export const zonePlaces: ReadonlyMap<string, readonly number[]> = new Map([
  ...placed([0], 'current_timestamp localtimestamp now nowinblock'),
  ...placed(
    [1],
    `date day dayofmonth dayofyear from_utc_timestamp fromunixtimestamp64micro fromunixtimestamp64milli
     fromunixtimestamp64nano fromunixtimestamp64second fromutctimestamp hour last_day microsecond millisecond minute
     month nanosecond now64 nowinblock64 parsedatetime32besteffort parsedatetime32besteffortornull
     parsedatetime32besteffortorzero parsedatetimebesteffortus parsedatetimebesteffortusornull
     parsedatetimebesteffortusorzero quarter second timeslot timezoneoffset to_days to_utc_timestamp todate todate32
     todatetime32 todatetimeordefault todatetimeornull todatetimeorzero todayofmonth todayofyear todaysinmonth
     todayssinceyearzero tohour toisoweek toisoyear tolastdayofmonth tomicrosecond tomillisecond tominute tomonday
     tomonth tomonthnumsinceepoch tonanosecond toquarter torelativedaynum torelativehournum torelativeminutenum
     torelativemonthnum torelativequarternum torelativesecondnum torelativeweeknum torelativeyearnum tosecond
     tostartofday tostartoffifteenminutes tostartoffiveminute tostartoffiveminutes tostartofhour tostartofisoyear
     tostartofmicrosecond tostartofmillisecond tostartofminute tostartofmonth tostartofnanosecond tostartofquarter
     tostartofsecond tostartoftenminutes tostartofyear tostring totimewithfixeddate totimezone tounixtimestamp
     toutctimestamp toyear toyearnumsinceepoch toyyyymm toyyyymmdd toyyyymmddhhmmss uuidv7todatetime year
     yyyymmddhhmmsstodatetime`,
  ),
  ...placed([1, 2], 'parsedatetimebesteffort parsedatetimebesteffortornull parsedatetimebesteffortorzero todatetime'),
  ...placed(
    [2],
    `adddays addhours addmicroseconds addmilliseconds addminutes addmonths addnanoseconds addquarters addseconds addweeks
     addyears date_format date_trunc datename datetrunc dayofweek formatdatetime formatdatetimeinjodasyntax from_unixtime
     fromunixtimestamp fromunixtimestampinjodasyntax parsedatetime parsedatetime64 parsedatetime64besteffort
     parsedatetime64besteffortornull parsedatetime64besteffortorzero parsedatetime64besteffortus
     parsedatetime64besteffortusornull parsedatetime64besteffortusorzero parsedatetime64injodasyntax
     parsedatetime64injodasyntaxornull parsedatetime64injodasyntaxorzero parsedatetime64ornull parsedatetime64orzero
     parsedatetimeinjodasyntax parsedatetimeinjodasyntaxornull parsedatetimeinjodasyntaxorzero parsedatetimeornull
     parsedatetimeorzero str_to_date subtractdays subtracthours subtractmicroseconds subtractmilliseconds subtractminutes
     subtractmonths subtractnanoseconds subtractquarters subtractseconds subtractweeks subtractyears to_unixtime
     todatetime64 todatetime64ordefault todatetime64ornull todatetime64orzero todayofweek tolastdayofweek tostartofweek
     toweek toyearweek tumble tumbleend tumblestart week yearweek yyyymmddhhmmsstodatetime64`,
  ),
  ...placed([2], 'snowflakeidtodatetime snowflakeidtodatetime64'),
  ...placed([2, 3], 'date_bin time_bucket tostartofinterval windowid'),
  ...placed([3], 'age date_diff datediff hop hopend hopstart timestamp_diff timestampdiff'),
  ...placed([6], 'makedatetime'),
  ...placed([8], 'makedatetime64'),
])

function placed(places: readonly number[], names: string): readonly (readonly [string, readonly number[]])[] {
  return names.split(/\s+/).map((name) => [name, places] as const)
}

// Its third argument is a zone, or the time from which intervals are counted.
const withOrigin: ReadonlySet<string> = new Set(['date_bin', 'time_bucket', 'tostartofinterval'])

/**
 * What is written around zones that are no texts, and in the place of names that stand for one.
 *
 * @throws SqlFault for a text that is no zone, and for a function that would be given zones unseen.
 */
export function zoneArguments(parsed: ParsedQuery): readonly WrappedArgument[] {
  return parsed.calls.flatMap((call) => {
    const places = zonePlaces.get(call.name.toLowerCase()) ?? []
    if (!call.isCalled) checkHanded(parsed, call, places)
    return places.flatMap((place) => zoneArgument(parsed, call, place))
  })
}

/**
 * The same where nothing can be written around: each zone is a text.
 *
 * @param what it stands in, for messages: `DEFAULT`.
 * @throws SqlFault.
 */
export function checkZonesAreTexts(parsed: ParsedQuery, what: string): void {
  const [first] = zoneArguments(parsed)
  if (first === undefined) return
  const offset = parsed.tokens[first.range.start]?.offset ?? 0
  throw new SqlFault(`${what} takes the name of a time zone as a text in quotes alone`, { offset })
}

const zonePattern = '^([A-Za-z][A-Za-z0-9_+-]{0,31}(?:/[A-Za-z0-9_+-]{1,31}){0,2})$'
const noZone = 'that is no name such as UTC or Europe/Berlin'

/** Constants stay constant to the engine, which takes nothing else for most zones. */
const asZone = {
  before: 'ifNull(nullIf(extract(',
  after: `, ${quoteString(zonePattern)}), ''), ${quoteString(noZone)})`,
  value: null,
}

/** A text is no time any more, and a time stays what it is. */
const asOrigin = { before: '(', after: ') + toIntervalDay(0)', value: null }

function zoneArgument(parsed: ParsedQuery, call: FunctionUse, place: number): readonly WrappedArgument[] {
  const range = call.arguments[place]
  if (range === undefined || isOther(parsed, range)) return []
  const text = constantText(parsed, range)
  if (text === null) {
    const isOrigin = withOrigin.has(call.name.toLowerCase()) && place === 2
    return [{ range, ...(isOrigin ? asOrigin : asZone) }]
  }
  try {
    checkZoneName(text.value)
  } catch (thrown) {
    if (!(thrown instanceof SqlFault)) throw thrown
    throw new SqlFault(`The time zone of ${call.name}() can not be used: ${thrown.reason}`, { cause: thrown })
  }
  return text.isNamed ? [{ range, before: '', after: '', value: quoteString(text.value) }] : []
}

/** A number, NULL or an interval, which is no zone to the engine either: `toDateTime(x, 3)`. */
function isOther({ tokens }: ParsedQuery, { start, end }: TokenRange): boolean {
  const token = tokens[start]
  if (end === start + 3 && token?.key === 'INTERVAL') return true
  return end === start + 1 && (token?.kind === 'number' || token?.key === 'NULL')
}

/** Handed to a function of arrays, it takes an argument of each; handed to columns, it takes each alone. */
function checkHanded({ calls, tokens }: ParsedQuery, { name, start }: FunctionUse, places: readonly number[]): void {
  const [first] = places
  if (first === undefined) return
  const above = calls.find(({ arguments: given }) => given.length > 1 && given[0]?.start === start)
  const isApplied = tokens[start - 1]?.key === 'APPLY' || tokens[start - 2]?.key === 'APPLY'
  // Functions of maps hand over a key and its value.
  const aboveCount = above?.name.toLowerCase().startsWith('map') ? 2 : (above?.arguments.length ?? 0) - 1
  const givenCount = above === undefined ? Number(isApplied) : aboveCount
  if (givenCount > first)
    throw new SqlFault(`Function '${name}' can not be handed to another: write a lambda, x -> ${name}(…)`)
}
