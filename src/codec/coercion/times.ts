/** Date, Date32, DateTime and DateTime64: calendar texts and epoch numbers, both on their digits. */

import type { ValueRules } from '../../shared/value-rules.ts'
import type { RawValue, Verdict } from '../cell.types.ts'
import { type DateTimeText, secondsPerDay } from './date-time-text.ts'
import { type ExactNumber, integerDigitCount, integerText, parseExactNumber, scaledDigits } from './exact-number.ts'
import { type TimeTextReader, timeTextReader } from './time-texts.ts'
import { accepted, type Coercion, refused, trimBlanks } from './verdict.ts'
import { localToUtcSeconds } from './zone-offset.ts'

/** Days since 1970-01-01. */
const dateRange = { first: 0, last: 65_535 }
const date32Range = { first: -25_567, last: 120_529 }
/** Numbers up to here are days, as the engine reads them too; larger ones are instants. */
const dayNumberMax = 65_535
/** 1900-01-01 and the last second of 2299, in UTC. */
const dateTime64Range = { first: -2_208_988_800n, last: 10_413_791_999n }
const dateTimeSecondsMax = 4_294_967_295
const int64Max = 2n ** 63n - 1n

export function dateCoercion(type: 'date' | 'date32', rules: ValueRules): Coercion {
  const { first, last } = type === 'date' ? dateRange : date32Range
  const read = timeTextReader(rules, 'day')
  return (value) => {
    const days = daysOf(value, read)
    return days !== undefined && days >= first && days <= last ? accepted(days) : refused
  }
}

function daysOf(value: RawValue, read: TimeTextReader): number | undefined {
  switch (value.kind) {
    case 'number':
      return daysOfNumber(parseExactNumber(value.text))
    case 'string':
    case 'cell':
      return daysOfText(trimBlanks(value.text), read)
    case 'null':
    case 'boolean':
    case 'array':
    case 'object':
      return undefined
  }
}

function daysOfText(text: string, read: TimeTextReader): number | undefined {
  const time = read(text)
  switch (time?.kind) {
    case undefined:
      return undefined
    case 'calendar': {
      // Without an offset the date counts as written; with one it is the instant's date in UTC.
      const { localSeconds, offsetSeconds } = time.written
      return Math.floor((localSeconds - (offsetSeconds ?? 0)) / secondsPerDay)
    }
    case 'epoch':
      return time.unitScale === null ? daysOfNumber(time.number) : daysOfInstant(time.number, time.unitScale)
  }
}

function daysOfNumber(number: ExactNumber | undefined): number | undefined {
  if (number === undefined) return undefined
  const dayText = integerDigitCount(number) <= 5 && !number.isNegative ? integerText(number) : undefined
  if (dayText !== undefined && Number(dayText) <= dayNumberMax) return Number(dayText)
  return daysOfInstant(number, unitScaleOf(number))
}

function daysOfInstant(number: ExactNumber, unitScale: number): number | undefined {
  const seconds = epochTicks(number, 0, unitScale)
  return seconds === undefined ? undefined : Math.floor(Number(seconds) / secondsPerDay)
}

/** The cell counts seconds. Fractions are cut. */
export function dateTimeCoercion(zone: string | null, rules: ValueRules): Coercion {
  const moments = { scale: 0, zone, read: timeTextReader(rules, 'instant') }
  return (value) => {
    const ticks = ticksOf(value, moments)
    if (ticks === undefined) return refused
    const seconds = Number(ticks)
    return seconds >= 0 && seconds <= dateTimeSecondsMax ? accepted(seconds) : refused
  }
}

/** The cell counts ticks of 10^-scale seconds. Digits beyond the scale are cut. */
export function dateTime64Coercion(
  { scale, zone }: { readonly scale: number; readonly zone: string | null },
  rules: ValueRules,
): Coercion {
  const moments = { scale, zone, read: timeTextReader(rules, 'instant') }
  const ticksPerSecond = 10n ** BigInt(scale)
  const first = dateTime64Range.first * ticksPerSecond
  const last = (dateTime64Range.last + 1n) * ticksPerSecond - 1n
  // Parts keep more than six decimals as nanoseconds, which fill 64 bits in the year 2262.
  const lastStored = scale > 6 ? int64Max / 10n ** BigInt(9 - scale) : last
  return (value) => verdictOfTicks(ticksOf(value, moments), first, lastStored)
}

function verdictOfTicks(ticks: bigint | undefined, first: bigint, last: bigint): Verdict {
  return ticks !== undefined && ticks >= first && ticks <= last ? accepted(ticks) : refused
}

/** How a column counts instants, and reads them. */
interface Moments {
  readonly scale: number
  readonly zone: string | null
  readonly read: TimeTextReader
}

function ticksOf(value: RawValue, moments: Moments): bigint | undefined {
  switch (value.kind) {
    case 'number':
      return ticksOfNumber(parseExactNumber(value.text), moments.scale)
    case 'string':
    case 'cell':
      return ticksOfText(trimBlanks(value.text), moments)
    case 'null':
    case 'boolean':
    case 'array':
    case 'object':
      return undefined
  }
}

function ticksOfText(text: string, { scale, zone, read }: Moments): bigint | undefined {
  const time = read(text)
  switch (time?.kind) {
    case undefined:
      return undefined
    case 'calendar':
      return ticksOfCalendar(time.written, scale, zone)
    case 'epoch':
      return epochTicks(time.number, scale, time.unitScale ?? unitScaleOf(time.number))
  }
}

function ticksOfCalendar(written: DateTimeText, scale: number, zone: string | null): bigint {
  const { localSeconds, offsetSeconds, fraction } = written
  const seconds = offsetSeconds === null ? zonedSeconds(localSeconds, zone) : localSeconds - offsetSeconds
  if (scale === 0) return BigInt(seconds)
  return BigInt(seconds) * 10n ** BigInt(scale) + BigInt(fraction.slice(0, scale).padEnd(scale, '0'))
}

function zonedSeconds(localSeconds: number, zone: string | null): number {
  return zone === null ? localSeconds : localToUtcSeconds(zone, localSeconds)
}

function ticksOfNumber(number: ExactNumber | undefined, scale: number): bigint | undefined {
  return number === undefined ? undefined : epochTicks(number, scale, unitScaleOf(number))
}

/** The unit of a number, 10^-x seconds, by its magnitude: below 1e11 seconds, 1e14 milliseconds, 1e17 microseconds, else nanoseconds. */
function unitScaleOf(number: ExactNumber): number {
  const digitCount = integerDigitCount(number)
  return digitCount <= 11 ? 0 : digitCount <= 14 ? 3 : digitCount <= 17 ? 6 : 9
}

/** An epoch number as ticks of 10^-scale seconds, cut to the tick before it, as a fraction in a calendar text is. */
function epochTicks(number: ExactNumber, scale: number, unitScale: number): bigint | undefined {
  // Twenty digits are beyond Int64 in any unit.
  if (integerDigitCount(number) > 20) return undefined
  const scaled = scaledDigits(number, scale - unitScale, 40)
  if (scaled === undefined) return undefined
  const magnitude = BigInt(scaled.digits === '' ? '0' : scaled.digits)
  if (!number.isNegative) return magnitude
  return scaled.hasRest ? -magnitude - 1n : -magnitude
}
