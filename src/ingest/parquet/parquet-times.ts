/** Days and times of a Parquet file as those of a column, in SQL. */
import { formatColumnType } from '../../schema/types/column-type.ts'
import type { ColumnType } from '../../schema/types/column-type.types.ts'
import { quoteString } from '../../shared/text-escapes.ts'
import { withoutExponent } from './parquet-numbers.ts'
import { allOf, bound, type Cast, changed, plain, refusedCast, where } from './parquet-verdict.ts'

export type TimeType = Extract<ColumnType, { readonly kind: 'date' | 'date32' | 'dateTime' | 'dateTime64' }>

const firstMoment = "toDateTime64('1900-01-01 00:00:00', 0, 'UTC')"
const endOfMoments = "toDateTime64('2300-01-01 00:00:00', 0, 'UTC')"
/** The end of what nanoseconds in 64 bits reach. */
const endOfNanoseconds = "toDateTime64('2262-04-11 23:47:16', 0, 'UTC')"
const endOfSeconds = "toDateTime64('2106-02-07 06:28:16', 0, 'UTC')"
const epoch = "toDateTime64('1970-01-01 00:00:00', 0, 'UTC')"

/** Instants stay the same; a day begins at midnight of the column's zone, and an instant's day is that in UTC. */
export function timeToTime(sql: string, from: TimeType, to: ColumnType): Cast {
  switch (to.kind) {
    case 'date':
      if (from.kind === 'date') return plain(sql)
      return changed(from.kind === 'date32' ? `toDate(${sql})` : `toDate(${sql}, 'UTC')`, dayCondition(sql, from))
    case 'date32':
      if (from.kind === 'date') return plain(sql)
      if (from.kind === 'dateTime') return changed(`toDate32(toDateTime64(${sql}, 0, 'UTC'))`, null)
      return changed(`toDate32(${sql})`, momentCondition(sql, from, firstMoment, endOfMoments))
    case 'dateTime':
      if (from.kind === 'dateTime') return plain(sql)
      return changed(sql, momentCondition(sql, from, epoch, endOfSeconds))
    case 'dateTime64':
      return timeToMoment(sql, from, to.scale)
    default:
      return refusedCast(to)
  }
}

function timeToMoment(sql: string, from: TimeType, scale: number): Cast {
  if (from.kind === 'dateTime' || from.kind === 'date') return plain(sql)
  if (from.kind === 'dateTime64' && from.scale > scale) {
    return changed(flooredMoment(sql, from.scale, scale), momentCondition(sql, from, firstMoment, endOfMoments))
  }
  // Nanoseconds of the source reach no further than those of the column.
  const isNarrow = scale > 6 && !(from.kind === 'dateTime64' && from.scale > 6)
  const end = isNarrow ? endOfNanoseconds : endOfMoments
  const condition = momentCondition(sql, from, firstMoment, end)
  if (!isNarrow || condition === null) return { value: sql, condition, isPlain: true }
  // The cast raises beyond the end.
  return changed(`if(${condition}, ${sql}, ${nothingOf(from)})`, condition)
}

/** The tick before, as in JSON: the engine's cast goes towards 1970. */
function flooredMoment(sql: string, fromScale: number, scale: number): string {
  const [unit, unitScale] = fromScale > 6 ? ['Nano', 9] : ['Micro', 6]
  const ticks = `toUnixTimestamp64${unit}(${sql})`
  return `fromUnixTimestamp64${unit}(${ticks} - positiveModulo(${ticks}, ${10 ** (unitScale - scale)}), 'UTC')`
}

function nothingOf(from: TimeType): string {
  return from.kind === 'dateTime64' ? `toDateTime64(0, ${from.scale}, 'UTC')` : "toDate32('1970-01-01')"
}

function dayCondition(sql: string, from: TimeType): string {
  const day = from.kind === 'date32' ? sql : `toDate32(toDateTime64(${sql}, 0, 'UTC'))`
  const inRange = `(${day} BETWEEN toDate32('1970-01-01') AND toDate32('2149-06-06'))`
  if (from.kind !== 'dateTime64') return inRange
  // The day of the last moments before 1970 is that of the epoch to the engine.
  return allOf([momentCondition(sql, from, epoch, endOfMoments), inRange]) ?? inRange
}

function momentCondition(sql: string, from: TimeType, first: string, end: string): string | null {
  // Two scales are compared at the larger one, in whose 64 bits the end has to fit.
  const hasEnd = !(from.kind === 'dateTime64' && from.scale > 6 && end !== endOfSeconds)
  const moment = from.kind === 'date' || from.kind === 'date32' ? `toDateTime64(${sql}, 0, 'UTC')` : sql
  return allOf([`${moment} >= ${first}`, hasEnd ? `${moment} < ${end}` : null])
}

/** Epoch numbers, their unit told by their size, as in JSON; small ones are days for a column of days. */
export function wholeToTime(sql: string, to: TimeType): Cast {
  const number = `toInt64(${sql})`
  const microseconds = [
    `multiIf(abs(${number}) < 100000000000, ${number} * 1000000`,
    `abs(${number}) < 100000000000000, ${number} * 1000`,
    `abs(${number}) < 100000000000000000, ${number}`,
    `intDiv(${number}, 1000) - (${number} < 0 AND ${number} % 1000 != 0))`,
  ].join(', ')
  const moment = `fromUnixTimestamp64Micro(${microseconds}, 'UTC')`
  const cast = timeToTime(moment, { kind: 'dateTime64', scale: 6, zone: 'UTC' }, to)
  // Of UInt64 beyond 2^63 the sign is wrong, and they are no instants.
  const isNumber = `(${sql} <= 9223372036854775807)`
  if (to.kind === 'dateTime64' && to.scale > 6) {
    const nanoseconds = `if(abs(${number}) < 100000000000000000, (${microseconds}) * 1000, ${number})`
    return changed(`fromUnixTimestamp64Nano(${nanoseconds}, 'UTC')`, allOf([isNumber, cast.condition]))
  }
  if (to.kind !== 'date' && to.kind !== 'date32') return changed(cast.value, allOf([isNumber, cast.condition]))
  const isDays = `(${sql} BETWEEN 0 AND 65535)`
  const days = to.kind === 'date' ? `toDate(toUInt16(${sql}))` : `toDate32(toInt32(${sql}))`
  return changed(`if(${isDays}, ${days}, ${cast.value})`, allOf([isNumber, `(${isDays} OR ${cast.condition ?? '1'})`]))
}

/** Numbers of JSON, as texts: instants with a fraction or an exponent, cut to the tick before them. Other texts are refused. */
export function numberToTime(text: string, to: TimeType): Cast {
  return where('1', withoutExponent(text), (written) => {
    return digitsToTime(written, to, 'magnitude')
  })
}

/** A number of JSON as the text that a column of the type takes for the same time; its condition is that of the number. */
export function numberToTimeText(text: string, to: TimeType): Cast & { readonly condition: string } {
  const { value, condition } = numberToTime(text, to)
  const isDay = to.kind === 'date' || to.kind === 'date32'
  const written = isDay ? value : `CAST(${value}, ${quoteString(formatColumnType({ ...to, zone: 'UTC' }))})`
  return { value: `concat(toString(${written}), '${isDay ? '' : 'Z'}')`, condition: condition ?? '1', isPlain: false }
}

/** Whether the unit of an instant is told by the size of the number or by how many digits are written in front of its point. */
type UnitSource = 'digits' | 'magnitude'

/** Of a text without an exponent. Small numbers are days to a column of days, but where digits tell the unit. */
function digitsToTime(written: string, to: TimeType, unitSource: UnitSource): Cast {
  const parsed = `accurateCastOrNull(${written}, 'Decimal(38, 9)')`
  const isInstant = `(isNotNull(${parsed}) AND abs(assumeNotNull(${parsed})) < 100000000000000000000)`
  // What is below a billionth is cut from the decimal, and still makes an instant before 1970 one that is earlier.
  const hasRest = `match(${written}, '^-\\\\d*[.]\\\\d{9}\\\\d*[1-9]')`
  const isDays = unitSource === 'digits' ? '0' : `NOT match(${written}, '[.]\\\\d*[1-9]')`
  const digits = `length(extract(${written}, '^[+-]?(\\\\d+)'))`
  const unit =
    unitSource === 'digits'
      ? `multiIf(${digits} <= 10, 1, ${digits} = 13, 1000, ${digits} = 16, 1000000, 1000000000)`
      : '0'
  const parts = `(assumeNotNull(${parsed}), ${hasRest}, ${isDays}, toInt128(${unit}))`
  return where(isInstant, parts, (argument) => decimalToTime(argument, to, unitSource))
}

/**
 * Of a tuple: a decimal with nine places below 10^20, whether digits were cut from it, whether it may count days, and how many
 * of its unit are a second.
 */
function decimalToTime(argument: string, to: TimeType, unitSource: UnitSource): Cast {
  const [number, hasRest, mayBeDays, unit] = [1, 2, 3, 4].map((at) => `tupleElement(${argument}, ${at})`)
  const ofMagnitude = [
    `multiIf(abs(${number}) < 100000000000, 1`,
    `abs(${number}) < 100000000000000, 1000`,
    `abs(${number}) < 100000000000000000, 1000000`,
    '1000000000)',
  ].join(', ')
  const divisor = unitSource === 'digits' ? unit : ofMagnitude
  const nanoseconds = bound(`(toInt128(${number} * 1000000000) - ${hasRest}, toInt128(${divisor}))`, (pair) => {
    const [billionths, unit] = [`tupleElement(${pair}, 1)`, `tupleElement(${pair}, 2)`]
    return `intDiv(${billionths} - positiveModulo(${billionths}, ${unit}), ${unit})`
  })
  const tick = 10 ** (9 - (to.kind === 'dateTime64' ? to.scale : 0))
  const instant = where('1', nanoseconds, (exact) => {
    return nanosecondsToTime(`(${exact} - positiveModulo(${exact}, ${tick}))`, to)
  })
  if (to.kind !== 'date' && to.kind !== 'date32') return instant
  const isDays = `(${mayBeDays} AND ${number} BETWEEN 0 AND 65535)`
  const days = to.kind === 'date' ? `toDate(toUInt16(${number}))` : `toDate32(toInt32(${number}))`
  return changed(`if(${isDays}, ${days}, ${instant.value})`, `(${isDays} OR ${instant.condition})`)
}

function nanosecondsToTime(nanoseconds: string, to: TimeType): Cast {
  if (to.kind === 'dateTime64' && to.scale > 6) {
    const inRange = `(${nanoseconds} BETWEEN -2208988800000000000 AND 9223372036854775807)`
    return changed(`fromUnixTimestamp64Nano(toInt64(if(${inRange}, ${nanoseconds}, 0)), 'UTC')`, inRange)
  }
  const moment = `fromUnixTimestamp64Micro(toInt64(intDiv(${nanoseconds}, 1000)), 'UTC')`
  return timeToTime(moment, { kind: 'dateTime64', scale: 6, zone: 'UTC' }, to)
}

const dayForm = '\\d{4}-\\d\\d-\\d\\d'
const clockForm = '(?:[01]\\d|2[0-3]):[0-5]\\d(?::[0-5]\\d(?:[.]\\d+)?)?'
const offsetForm = '(?:[Zz]|[+-](?:[01]\\d|2[0-3])(?::?[0-5]\\d)?)?'
/** As literals of SQL. */
const timeForm = `'^${dayForm}(?:[Tt ]${clockForm}${offsetForm})?$'`
/** As `codec/coercion/date-time-text` has it: what it takes beside ISO 8601, and, by the steps, as what. */
const commonDay = '(?:\\d{4}-\\d{1,2}-\\d{1,2}|\\d{4}/\\d{1,2}/\\d{1,2}|\\d{8})'
const commonClock = '[Tt ]\\d{1,2}:\\d\\d(?::\\d\\d(?:[.]\\d+)?)?'
const bareMoment = '\\d{8}[Tt ]?\\d{6}(?:[.]\\d+)?'
const commonZone = '(?: ?(?:[Zz]|(?i:utc|gmt)|[+-]\\d\\d(?::?\\d\\d)?))?'
const commonForm = `'^(?:${commonDay}|(?:${commonDay}${commonClock}|${bareMoment})${commonZone})$'`
const spellingSteps: readonly (readonly [string, string])[] = [
  ['^(\\d{4})(\\d\\d)(\\d\\d)', '\\1-\\2-\\3'],
  ['^(\\d{4})/(\\d{1,2})/', '\\1-\\2-'],
  ['^(\\d{4})-(\\d)-', '\\1-0\\2-'],
  ['^(\\d{4}-\\d\\d)-(\\d)(\\D|$)', '\\1-0\\2\\3'],
  ['^(.{10})[Tt ]?(\\d\\d)(\\d\\d)(\\d\\d)', '\\1 \\2:\\3:\\4'],
  ['^(.{10})[Tt ](\\d):', '\\1 0\\2:'],
  [' ?(?i:utc|gmt|z)$', 'Z'],
  [' ([+-])', '\\1'],
]
/** Digits whose number tells their unit. */
const epochForm = `'^[+-]?(?:0|\\\\d{9,10}|\\\\d{13}|\\\\d{16}|\\\\d{19})(?:[.]\\\\d+)?$'`

/** Days and times in ISO 8601 or another common spelling, or digits. A day must be one of the calendar. */
export function textToTime(text: string, to: TimeType): Cast {
  const isUsual = `match(${text}, ${timeForm})`
  const other = where(`NOT ${isUsual}`, text, (argument) => otherTextToTime(argument, to))
  return eitherTime(isUsual, [usualTextToTime(text, to), other], to)
}

function otherTextToTime(text: string, to: TimeType): Cast {
  const isEpoch = `match(${text}, ${epochForm})`
  const epoch = where(isEpoch, text, (argument) => digitsToTime(argument, to, 'digits'))
  const respelled = spellingSteps.reduce((sql, [from, into]) => `replaceRegexpOne(${sql}, '${from}', '${into}')`, text)
  const common = where(`match(${text}, ${commonForm})`, respelled, (argument) => {
    const { value, condition } = usualTextToTime(argument, to)
    return changed(value, allOf([`match(${argument}, ${timeForm})`, condition]))
  })
  return eitherTime(isEpoch, [epoch, common], to)
}

function eitherTime(isFirst: string, casts: readonly [Cast, Cast], to: TimeType): Cast {
  const target = quoteString(formatColumnType(to))
  const [first, second] = casts.map(({ value }) => `CAST(${value}, ${target})`)
  return changed(
    `if(${isFirst}, ${first}, ${second})`,
    `if(${isFirst}, ${casts[0].condition ?? '1'}, ${casts[1].condition ?? '1'})`,
  )
}

/** The engine reads no fraction of twenty digits. */
function withShortFraction(text: string): string {
  return `if(length(${text}) < 40, ${text}, replaceRegexpOne(${text}, '([.]\\\\d{9})\\\\d+', '\\\\1'))`
}

/** Of a text in ISO 8601; anything of others. */
function usualTextToTime(text: string, to: TimeType): Cast {
  const zone = 'zone' in to && to.zone !== null ? to.zone : 'UTC'
  const scale = to.kind === 'dateTime64' ? Math.max(to.scale, 3) : 3
  const parsed = `parseDateTime64BestEffortOrNull(upper(${withShortFraction(text)}), ${scale}, ${quoteString(zone)})`
  const day = `left(${text}, 10)`
  const { value, condition } = timeToTime(`assumeNotNull(${parsed})`, { kind: 'dateTime64', scale, zone }, to)
  const isDay = `toString(toDate32OrZero(${day})) = ${day}`
  return changed(value, allOf([isDay, `isNotNull(${parsed})`, condition]))
}
