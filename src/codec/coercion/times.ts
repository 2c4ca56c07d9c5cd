/** Date, Date32, DateTime and DateTime64: calendar texts and epoch numbers, both on their digits. */
import type { RawValue, Verdict } from '../cell.types.ts'
import { type DateTimeText, parseBareDate, parseDateTimeText, secondsPerDay } from '../date-time-text.ts'
import { localToUtcSeconds } from '../zone-offset.ts'
import { type ExactNumber, integerDigitCount, integerText, parseExactNumber, scaledDigits } from './exact-number.ts'
import { accepted, type Coercion, refused, trimBlanks } from './verdict.ts'

/** Days since 1970-01-01. */
const dateRange = { first: 0, last: 65_535 }
const date32Range = { first: -25_567, last: 120_529 }
/** Numbers up to here are days, as the engine reads them too; larger ones are instants. */
const dayNumberMax = 65_535
/** 1900-01-01 and the last second of 2299, in UTC. */
const dateTime64Range = { first: -2_208_988_800n, last: 10_413_791_999n }
const dateTimeSecondsMax = 4_294_967_295
const int64Max = 2n ** 63n - 1n

export function dateCoercion(type: 'date' | 'date32'): Coercion {
  const { first, last } = type === 'date' ? dateRange : date32Range
  return (value) => {
    const days = daysOf(value)
    return days !== undefined && days >= first && days <= last ? accepted(days) : refused
  }
}

function daysOf(value: RawValue): number | undefined {
  switch (value.kind) {
    case 'number':
      return daysOfNumber(parseExactNumber(value.text))
    case 'string':
    case 'cell': {
      const text = trimBlanks(value.text)
      const written = parseDateTimeText(text)
      // Without an offset the date counts as written; with one it is the instant's date in UTC.
      if (written !== undefined)
        return Math.floor((written.localSeconds - (written.offsetSeconds ?? 0)) / secondsPerDay)
      // Eight digits are a date even when there is no such day.
      return eightDigits.test(text) ? parseBareDate(text) : daysOfNumber(epochNumber(text))
    }
    case 'null':
    case 'boolean':
    case 'array':
    case 'object':
      return undefined
  }
}

function daysOfNumber(number: ExactNumber | undefined): number | undefined {
  if (number === undefined) return undefined
  const dayText = integerDigitCount(number) <= 5 && !number.isNegative ? integerText(number) : undefined
  if (dayText !== undefined && Number(dayText) <= dayNumberMax) return Number(dayText)
  const seconds = epochTicks(number, 0)
  return seconds === undefined ? undefined : Math.floor(Number(seconds) / secondsPerDay)
}

/** The cell counts seconds. Fractions are cut. */
export function dateTimeCoercion(zone: string | null): Coercion {
  return (value) => {
    const ticks = ticksOf(value, 0, zone)
    if (ticks === undefined) return refused
    const seconds = Number(ticks)
    return seconds >= 0 && seconds <= dateTimeSecondsMax ? accepted(seconds) : refused
  }
}

/** The cell counts ticks of 10^-scale seconds. Digits beyond the scale are cut. */
export function dateTime64Coercion(scale: number, zone: string | null): Coercion {
  const ticksPerSecond = 10n ** BigInt(scale)
  const first = dateTime64Range.first * ticksPerSecond
  const last = (dateTime64Range.last + 1n) * ticksPerSecond - 1n
  // Parts keep more than six decimals as nanoseconds, which fill 64 bits in the year 2262.
  const lastStored = scale > 6 ? int64Max / 10n ** BigInt(9 - scale) : last
  return (value) => verdictOfTicks(ticksOf(value, scale, zone), first, lastStored)
}

function verdictOfTicks(ticks: bigint | undefined, first: bigint, last: bigint): Verdict {
  return ticks !== undefined && ticks >= first && ticks <= last ? accepted(ticks) : refused
}

function ticksOf(value: RawValue, scale: number, zone: string | null): bigint | undefined {
  switch (value.kind) {
    case 'number':
      return ticksOfNumber(parseExactNumber(value.text), scale)
    case 'string':
    case 'cell': {
      const text = trimBlanks(value.text)
      const written = parseDateTimeText(text)
      return written === undefined ? ticksOfNumber(epochNumber(text), scale) : ticksOfText(written, scale, zone)
    }
    case 'null':
    case 'boolean':
    case 'array':
    case 'object':
      return undefined
  }
}

function ticksOfText(written: DateTimeText, scale: number, zone: string | null): bigint {
  const { localSeconds, offsetSeconds, fraction } = written
  const seconds = offsetSeconds === null ? zonedSeconds(localSeconds, zone) : localSeconds - offsetSeconds
  if (scale === 0) return BigInt(seconds)
  return BigInt(seconds) * 10n ** BigInt(scale) + BigInt(fraction.slice(0, scale).padEnd(scale, '0'))
}

function zonedSeconds(localSeconds: number, zone: string | null): number {
  return zone === null ? localSeconds : localToUtcSeconds(zone, localSeconds)
}

function ticksOfNumber(number: ExactNumber | undefined, scale: number): bigint | undefined {
  return number === undefined ? undefined : epochTicks(number, scale)
}

/**
 * An epoch number as ticks of 10^-scale seconds, cut to the tick before it, as a fraction in a calendar text is. Its
 * magnitude tells its unit: below 1e11 seconds, below 1e14 milliseconds, below 1e17 microseconds, else nanoseconds.
 */
function epochTicks(number: ExactNumber, scale: number): bigint | undefined {
  const digitCount = integerDigitCount(number)
  const unitScale = digitCount <= 11 ? 0 : digitCount <= 14 ? 3 : digitCount <= 17 ? 6 : 9
  // Twenty digits are beyond Int64 in any unit.
  if (digitCount > 20) return undefined
  const scaled = scaledDigits(number, scale - unitScale, 40)
  if (scaled === undefined) return undefined
  const magnitude = BigInt(scaled.digits === '' ? '0' : scaled.digits)
  if (!number.isNegative) return magnitude
  return scaled.hasRest ? -magnitude - 1n : -magnitude
}

const eightDigits = /^\d{8}$/
const epochPattern = /^[+-]?\d+(?:\.\d+)?$/

/** Digits with an optional sign and fraction; no exponents, which nobody writes for a time. */
function epochNumber(text: string): ExactNumber | undefined {
  return epochPattern.test(text) ? parseExactNumber(text) : undefined
}
