/**
 * Fast readers: the usual spellings of numbers and times, straight from bytes into a column's typed array.
 *
 * Each takes the first byte of a value and gives the offset behind it, or -1 for anything unusual, which the exact path
 * then reads again from the start. So a reader may refuse what is right, but never accepts what the exact path refuses,
 * and never writes another value: a seeded differential test holds it to that.
 *
 * Byte reads are asserted `as number`: a frame ends in a line feed and padding, and every loop here stops on it.
 */
import type { ValuePlan } from './value-plan.ts'
import { localToUtcSeconds } from './zone-offset.ts'

const minus = 0x2d
const point = 0x2e
const zero = 0x30
/** Integers of up to 15 digits are exact in a double. */
const exactDigitsMax = 15
const wordSize = 2 ** 32
const powersOfTen = Float64Array.from({ length: 23 }, (_, exponent) => 10 ** exponent)

/** Int8 to Int32 and UInt8 to UInt32: digits with an optional minus. */
export function readInteger(source: Uint8Array, at: number, value: ValuePlan, index: number): number {
  let offset = at
  const isNegative = source[offset] === minus
  if (isNegative) offset += 1
  const first = offset
  let magnitude = 0
  let digit = (source[offset] as number) - zero
  while (digit >= 0 && digit <= 9) {
    magnitude = magnitude * 10 + digit
    offset += 1
    digit = (source[offset] as number) - zero
  }
  if (!isPlainInteger(source, first, offset) || offset - first > exactDigitsMax) return -1
  const result = isNegative ? 0 - magnitude : magnitude
  if (result < value.minimum || result > value.maximum) return -1
  if (value.minimum < 0) value.column.int32[index] = result
  else value.column.uint32[index] = result
  return offset
}

/** Int64 and UInt64 of any number of digits that fits. */
export function readInteger64(source: Uint8Array, at: number, value: ValuePlan, index: number): number {
  let offset = at
  const isNegative = source[offset] === minus
  if (isNegative) offset += 1
  const first = offset
  let magnitude = 0
  let digit = (source[offset] as number) - zero
  while (digit >= 0 && digit <= 9 && offset - first < exactDigitsMax) {
    magnitude = magnitude * 10 + digit
    offset += 1
    digit = (source[offset] as number) - zero
  }
  if (digit >= 0 && digit <= 9)
    return isNegative ? -1 : readLongInteger(source, { at, offset, magnitude }, value, index)
  if (!isPlainInteger(source, first, offset) || (isNegative && value.maximum !== 0)) return -1
  writeWords(value, index, isNegative ? 0 - magnitude : magnitude)
  return offset
}

/** Goes on where 15 digits were not enough: two words, four more digits, and a check that nothing was lost. */
function readLongInteger(
  source: Uint8Array,
  head: { readonly at: number; readonly offset: number; readonly magnitude: number },
  value: ValuePlan,
  index: number,
): number {
  let offset = head.offset
  let low = head.magnitude % wordSize
  let high = Math.floor(head.magnitude / wordSize)
  let digit = (source[offset] as number) - zero
  while (digit >= 0 && digit <= 9) {
    const sum = low * 10 + digit
    high = high * 10 + Math.floor(sum / wordSize)
    low = sum % wordSize
    // The largest high word of Int64 is 2^31 - 1, of UInt64 2^32 - 1.
    if (high >= (value.maximum !== 0 ? wordSize : wordSize / 2)) return -1
    offset += 1
    digit = (source[offset] as number) - zero
  }
  if (!isPlainInteger(source, head.at, offset)) return -1
  value.column.words[index * 2] = low
  value.column.words[index * 2 + 1] = high
  return offset
}

/** Digits without a leading zero, and neither a fraction nor an exponent behind them. */
function isPlainInteger(source: Uint8Array, first: number, end: number): boolean {
  if (end === first || (source[first] === zero && end - first > 1)) return false
  const next = source[end]
  return next !== point && next !== 0x65 && next !== 0x45
}

/** Writes an integer below 2^53 as two words in two's complement. */
function writeWords(value: ValuePlan, index: number, integer: number): void {
  value.column.words[index * 2] = integer
  value.column.words[index * 2 + 1] = Math.floor(integer / wordSize)
}

/** Float64 and Float32 in JSON's number grammar; up to 15 digits by exact arithmetic, more through `Number`. */
export function readFloat(source: Uint8Array, at: number, value: ValuePlan, index: number): number {
  let offset = at
  const isNegative = source[offset] === minus
  if (isNegative) offset += 1
  const first = offset
  let mantissa = 0
  let digit = (source[offset] as number) - zero
  while (digit >= 0 && digit <= 9) {
    mantissa = mantissa * 10 + digit
    offset += 1
    digit = (source[offset] as number) - zero
  }
  let digitCount = offset - first
  if (digitCount === 0 || (source[first] === zero && digitCount > 1)) return -1
  let fractionCount = 0
  if (source[offset] === point) {
    const fraction = offset + 1
    offset = fraction
    digit = (source[offset] as number) - zero
    while (digit >= 0 && digit <= 9) {
      mantissa = mantissa * 10 + digit
      offset += 1
      digit = (source[offset] as number) - zero
    }
    fractionCount = offset - fraction
    if (fractionCount === 0) return -1
    digitCount += fractionCount
  }
  const next = source[offset]
  if (next === 0x65 || next === 0x45) return -1
  // Both operands are exact, so one correctly rounded division gives the nearest double (Clinger's fast path).
  const magnitude =
    digitCount <= exactDigitsMax ? mantissa / (powersOfTen[fractionCount] as number) : longFloat(source, first, offset)
  if (magnitude > value.maximum) return -1
  value.column.float64[index] = isNegative ? -magnitude : magnitude
  return offset
}

function longFloat(source: Uint8Array, start: number, end: number): number {
  let text = ''
  for (let offset = start; offset < end; offset += 1) text += String.fromCharCode(source[offset] as number)
  return Number(text)
}

/** What `readInstant` found: whole seconds since the epoch and the fraction's digits as nanoseconds. */
const instant = { seconds: 0, nanoseconds: 0 }
const daysBeforeMonth = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334]
const daysOfMonth = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** Two digits as a number, or -1. */
function twoDigits(source: Uint8Array, at: number): number {
  const tens = (source[at] as number) - zero
  const units = (source[at + 1] as number) - zero
  return tens >= 0 && tens <= 9 && units >= 0 && units <= 9 ? tens * 10 + units : -1
}

/** Days since 1970-01-01 of `YYYY-MM-DD` in the years 1970 to 2099, or -1. */
function readDays(source: Uint8Array, at: number): number {
  const century = twoDigits(source, at)
  const yearOfCentury = twoDigits(source, at + 2)
  const month = twoDigits(source, at + 5)
  const day = twoDigits(source, at + 8)
  if (source[at + 4] !== minus || source[at + 7] !== minus || yearOfCentury < 0) return -1
  const year = century * 100 + yearOfCentury
  if (year < 1970 || year > 2099 || month < 1 || month > 12 || day < 1) return -1
  // 1970 to 2099 holds no century year that is not a leap year.
  const isLeap = (year & 3) === 0
  const dayMax = month === 2 && isLeap ? 29 : (daysOfMonth[month - 1] as number)
  if (day > dayMax) return -1
  const leapDays = ((year - 1969) >> 2) + (isLeap && month > 2 ? 1 : 0)
  return (year - 1970) * 365 + leapDays + (daysBeforeMonth[month - 1] as number) + day - 1
}

/** `YYYY-MM-DD hh:mm:ss[.fraction][Z]`, blank or `T` between; fills `instant` and gives the end, or -1. */
function readInstant(source: Uint8Array, at: number, zone: string | null): number {
  const days = readDays(source, at)
  const separator = source[at + 10]
  const hour = twoDigits(source, at + 11)
  const minute = twoDigits(source, at + 14)
  const second = twoDigits(source, at + 17)
  if (days < 0 || (separator !== 0x20 && separator !== 0x54)) return -1
  if (source[at + 13] !== 0x3a || source[at + 16] !== 0x3a) return -1
  if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59) return -1
  const local = days * 86_400 + hour * 3_600 + minute * 60 + second
  let end = at + 19
  instant.nanoseconds = 0
  if (source[end] === point) {
    end = readFraction(source, end + 1)
    if (end < 0) return -1
  }
  const isUtc = source[end] === 0x5a
  instant.seconds = zone === null || isUtc ? local : localToUtcSeconds(zone, local)
  return isUtc ? end + 1 : end
}

/** One to nine digits behind the point, as nanoseconds. */
function readFraction(source: Uint8Array, at: number): number {
  let offset = at
  let fraction = 0
  let digit = (source[offset] as number) - zero
  while (digit >= 0 && digit <= 9) {
    fraction = fraction * 10 + digit
    offset += 1
    digit = (source[offset] as number) - zero
  }
  const digitCount = offset - at
  if (digitCount === 0 || digitCount > 9) return -1
  instant.nanoseconds = fraction * (powersOfTen[9 - digitCount] as number)
  return offset
}

/** Date and Date32 from `YYYY-MM-DD` alone. */
export function readDate(source: Uint8Array, at: number, value: ValuePlan, index: number): number {
  const days = readDays(source, at)
  if (days < 0) return -1
  if (value.column.storage === 'int32') value.column.int32[index] = days
  else value.column.uint32[index] = days
  return at + 10
}

export function readDateTime(source: Uint8Array, at: number, value: ValuePlan, index: number): number {
  const end = readInstant(source, at, value.zone)
  if (end < 0 || instant.seconds < 0) return -1
  value.column.uint32[index] = instant.seconds
  return end
}

/** Writes ticks of the part's unit: seconds, milliseconds, microseconds or nanoseconds (see `encodingOf`). */
export function readDateTime64(source: Uint8Array, at: number, value: ValuePlan, index: number): number {
  const end = readInstant(source, at, value.zone)
  if (end < 0 || instant.seconds < 0) return -1
  const scale = value.scale
  if (scale === 0) {
    writeWords(value, index, instant.seconds)
    return end
  }
  // Digits beyond the column's scale are cut, not rounded.
  const cut = powersOfTen[9 - scale] as number
  const nanoseconds = instant.nanoseconds - (instant.nanoseconds % cut)
  const milliseconds = instant.seconds * 1_000 + Math.floor(nanoseconds / 1_000_000)
  if (scale <= 3) {
    writeWords(value, index, milliseconds)
  } else if (scale <= 6) {
    writeFine(value, index, { milliseconds, factor: 1_000, rest: Math.floor((nanoseconds % 1_000_000) / 1_000) })
  } else {
    writeFine(value, index, { milliseconds, factor: 1_000_000, rest: nanoseconds % 1_000_000 })
  }
  return end
}

/** Writes `milliseconds × factor + rest`, which may be over 2^53, as two words. */
function writeFine(
  value: ValuePlan,
  index: number,
  ticks: { readonly milliseconds: number; readonly factor: number; readonly rest: number },
): void {
  const low = (ticks.milliseconds % wordSize) * ticks.factor + ticks.rest
  const high = Math.floor(ticks.milliseconds / wordSize) * ticks.factor + Math.floor(low / wordSize)
  value.column.words[index * 2] = low % wordSize
  value.column.words[index * 2 + 1] = high
}

/** `true`, `false`, `1` and `0` as CSV has them. */
export function readBoolText(source: Uint8Array, at: number, value: ValuePlan, index: number): number {
  const first = source[at] as number
  const { uint32 } = value.column
  if (first === zero || first === zero + 1) {
    uint32[index] = first - zero
    return at + 1
  }
  uint32[index] = first === 0x74 ? 1 : 0
  if (first === 0x74) return isWord(source, at, trueBytes) ? at + 4 : -1
  return isWord(source, at, falseBytes) ? at + 5 : -1
}

const trueBytes = [0x74, 0x72, 0x75, 0x65]
const falseBytes = [0x66, 0x61, 0x6c, 0x73, 0x65]

function isWord(source: Uint8Array, at: number, word: readonly number[]): boolean {
  for (let position = 0; position < word.length; position += 1) {
    if (source[at + position] !== word[position]) return false
  }
  return true
}

/** Value of each hexadecimal digit's byte, 255 for all other bytes. */
const hexDigits = new Uint8Array(256).fill(255)
for (let digit = 0; digit < 16; digit += 1) {
  hexDigits[digit.toString(16).charCodeAt(0)] = digit
  hexDigits[digit.toString(16).toUpperCase().charCodeAt(0)] = digit
}
/** Where the two digits of each byte stand in `8-4-4-4-12`. */
const uuidDigits = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34]

/** A UUID of 36 characters in either case. */
export function readUuid(source: Uint8Array, at: number, value: ValuePlan, index: number): number {
  if (source[at + 8] !== minus || source[at + 13] !== minus) return -1
  if (source[at + 18] !== minus || source[at + 23] !== minus) return -1
  const { bytes } = value.column
  const start = index * 16
  let seen = 0
  for (let byte = 0; byte < 16; byte += 1) {
    const from = at + (uuidDigits[byte] as number)
    const high = hexDigits[source[from] as number] as number
    const low = hexDigits[source[from + 1] as number] as number
    seen |= high | low
    bytes[start + byte] = (high << 4) | low
  }
  // No digit is over 15, and no other byte is under 255.
  return seen > 15 ? -1 : at + 36
}
