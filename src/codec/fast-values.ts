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

/** A frame's bytes one at a time and four at a time. */
export interface FrameBytes {
  readonly source: Uint8Array
  readonly view: DataView
}

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

/** What `readInstant` found: whole seconds since the epoch, and the digits behind the point as a number. */
const instant = { seconds: 0, fraction: 0, fractionDigits: 0 }
/** The date that was read last, as its ten bytes in three words: rows that follow one another mostly share it. */
const lastDate = { head: 0, middle: 0, tail: 0, days: -1 }
const daysBeforeMonth = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334]
const daysOfMonth = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** Days since 1970-01-01 of `YYYY-MM-DD` in the years 1970 to 2099, or -1. */
function readDays(bytes: FrameBytes, at: number): number {
  const { view } = bytes
  const head = view.getInt32(at, true)
  const middle = view.getInt32(at + 4, true)
  const tail = view.getInt16(at + 8, true)
  if (head === lastDate.head && middle === lastDate.middle && tail === lastDate.tail) return lastDate.days
  const days = computeDays(bytes.source, at)
  if (days < 0) return -1
  lastDate.head = head
  lastDate.middle = middle
  lastDate.tail = tail
  lastDate.days = days
  return days
}

function computeDays(source: Uint8Array, at: number): number {
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

/** Two digits as a number, or -1. */
function twoDigits(source: Uint8Array, at: number): number {
  const tens = (source[at] as number) - zero
  const units = (source[at + 1] as number) - zero
  return tens >= 0 && tens <= 9 && units >= 0 && units <= 9 ? tens * 10 + units : -1
}

/** `hh:mm:ss` as seconds, or -1. All digits are checked at once: one that is none makes its term negative. */
function readTimeOfDay(source: Uint8Array, at: number): number {
  const hourTens = (source[at] as number) - zero
  const hourUnits = (source[at + 1] as number) - zero
  const minuteTens = (source[at + 3] as number) - zero
  const minuteUnits = (source[at + 4] as number) - zero
  const secondTens = (source[at + 6] as number) - zero
  const secondUnits = (source[at + 7] as number) - zero
  const hour = hourTens * 10 + hourUnits
  const digits =
    hourTens | hourUnits | (9 - hourUnits) | minuteTens | (5 - minuteTens) | minuteUnits | (9 - minuteUnits)
  const rest = secondTens | (5 - secondTens) | secondUnits | (9 - secondUnits) | (23 - hour)
  if ((digits | rest) < 0 || source[at + 2] !== 0x3a || source[at + 5] !== 0x3a) return -1
  return hour * 3_600 + (minuteTens * 10 + minuteUnits) * 60 + secondTens * 10 + secondUnits
}

/** `YYYY-MM-DD hh:mm:ss[.fraction][Z]`, blank or `T` between; fills `instant` and gives the end, or -1. */
function readInstant(bytes: FrameBytes, at: number, zone: string | null): number {
  const { source } = bytes
  const days = readDays(bytes, at)
  const timeOfDay = readTimeOfDay(source, at + 11)
  const separator = source[at + 10]
  if (days < 0 || timeOfDay < 0 || (separator !== 0x20 && separator !== 0x54)) return -1
  const local = days * 86_400 + timeOfDay
  let end = at + 19
  instant.fractionDigits = 0
  if (source[end] === point) {
    end = readFraction(source, end + 1)
    if (end < 0) return -1
  }
  const isUtc = source[end] === 0x5a
  instant.seconds = zone === null || isUtc ? local : localToUtcSeconds(zone, local)
  return isUtc ? end + 1 : end
}

/** One to nine digits behind the point. */
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
  instant.fraction = fraction
  instant.fractionDigits = digitCount
  return offset
}

/** The fraction in units of 10^-`scale` seconds. Digits beyond the scale are cut, not rounded. */
function fractionAt(scale: number): number {
  const { fraction, fractionDigits } = instant
  if (fractionDigits === scale) return fraction
  if (fractionDigits === 0) return 0
  return fractionDigits < scale
    ? fraction * (powersOfTen[scale - fractionDigits] as number)
    : Math.floor(fraction / (powersOfTen[fractionDigits - scale] as number))
}

/** Date and Date32 from `YYYY-MM-DD` alone. */
export function readDate(bytes: FrameBytes, at: number, value: ValuePlan, index: number): number {
  const days = readDays(bytes, at)
  if (days < 0) return -1
  if (value.column.storage === 'int32') value.column.int32[index] = days
  else value.column.uint32[index] = days
  return at + 10
}

export function readDateTime(bytes: FrameBytes, at: number, value: ValuePlan, index: number): number {
  const end = readInstant(bytes, at, value.zone)
  if (end < 0 || instant.seconds < 0) return -1
  value.column.uint32[index] = instant.seconds
  return end
}

/** Writes ticks of the part's unit: seconds, milliseconds, microseconds or nanoseconds (see `encodingOf`). */
export function readDateTime64(bytes: FrameBytes, at: number, value: ValuePlan, index: number): number {
  const end = readInstant(bytes, at, value.zone)
  const { seconds } = instant
  if (end < 0 || seconds < 0) return -1
  const { scale } = value
  const { words } = value.column
  if (scale === 0) {
    words[index * 2] = seconds
    words[index * 2 + 1] = 0
  } else if (scale <= 3) {
    const milliseconds = seconds * 1_000 + fractionAt(scale) * (powersOfTen[3 - scale] as number)
    words[index * 2] = milliseconds
    words[index * 2 + 1] = (milliseconds / wordSize) | 0
  } else {
    const nanoseconds = fractionAt(scale) * (powersOfTen[9 - scale] as number)
    if (scale <= 6) writeProduct(words, index, { factor: 1_000_000, multiplier: seconds, addend: nanoseconds / 1_000 })
    else writeNanoseconds(words, index, seconds, nanoseconds)
  }
  return end
}

function writeNanoseconds(words: Int32Array, index: number, seconds: number, nanoseconds: number): void {
  const milliseconds = seconds * 1_000 + Math.floor(nanoseconds / 1_000_000)
  const addend = nanoseconds - Math.floor(nanoseconds / 1_000_000) * 1_000_000
  writeProduct(words, index, { factor: 1_000_000, multiplier: milliseconds, addend })
}

/** Writes `multiplier × factor + addend`, which may be over 2^53, as two words. The factor is at most 2^20. */
function writeProduct(
  words: Int32Array,
  index: number,
  { multiplier, factor, addend }: { readonly multiplier: number; readonly factor: number; readonly addend: number },
): void {
  const multiplierHigh = Math.floor(multiplier / wordSize)
  const low = (multiplier - multiplierHigh * wordSize) * factor + addend
  const carry = Math.floor(low / wordSize)
  words[index * 2] = low - carry * wordSize
  words[index * 2 + 1] = multiplierHigh * factor + carry
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
