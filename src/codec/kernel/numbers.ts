/**
 * Fast readers of numbers: the usual spellings straight from bytes into a column.
 *
 * Each takes the first byte of a value and gives the address behind it, or 0 for anything unusual, which the exact path
 * then reads again from the start. So a reader may refuse what is right, but never accepts what the exact path refuses,
 * and never writes another value: a seeded differential test holds it to that.
 */
import { readLongFloat } from './host'
import { Column } from './layout'

const minus: u8 = 0x2d
const point: u8 = 0x2e
const zero: u8 = 0x30

/** An unsigned integer of so many digits fits 64 bits whatever the digits are. */
const wordDigitsMax: usize = 19
/** The largest number of a column of doubles is above it, that of one of Float32 below. */
const doublesFrom: f64 = 1e39
/** 2^-126, as the bits of a double. */
const leastNormalFloat: u64 = 0x3810000000000000
/** Integers up to here are exact in a double. */
const exactIntegerMax: u64 = 1 << 53
const powersOfTen = memory.data<f64>([
  1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
  1e21, 1e22,
])

/** Value of the digits that `readDigits` went over; meaningless behind more than `wordDigitsMax` of them. */
let digitsValue: u64 = 0

/** Goes over digits and gives the address behind them. */
function readDigits(at: usize, before: u64): usize {
  let offset = at
  let value = before
  let digit: u8 = load<u8>(offset) - zero
  while (digit <= 9) {
    value = value * 10 + (digit as u64)
    offset += 1
    digit = load<u8>(offset) - zero
  }
  digitsValue = value
  return offset
}

/** Digits without a leading zero, and neither a fraction nor an exponent behind them. */
function isPlainInteger(first: usize, end: usize): bool {
  if (end === first || (load<u8>(first) === zero && end - first > 1)) return false
  const next = load<u8>(end)
  return next !== point && (next | 0x20) !== 0x65
}

/** Int8 to Int32 and UInt8 to UInt32: digits with an optional minus. */
export function readInteger(at: usize, column: Column, index: i32): usize {
  const isNegative = load<u8>(at) === minus
  const first = isNegative ? at + 1 : at
  const end = readDigits(first, 0)
  if (end - first >= wordDigitsMax || !isPlainInteger(first, end)) return 0
  const value = isNegative ? -(digitsValue as i64) : (digitsValue as i64)
  if (value < (column.minimum as i64) || value > (column.maximum as i64)) return 0
  store<i32>(column.values + ((index as usize) << 2), value as i32)
  return end
}

/** Int64 and UInt64 of any number of digits that fits. */
export function readInteger64(at: usize, column: Column, index: i32): usize {
  const isNegative = load<u8>(at) === minus
  const first = isNegative ? at + 1 : at
  const end = readDigits(first, 0)
  const isUnsigned = column.maximum !== 0
  if (!isPlainInteger(first, end)) return 0
  const digitCount = end - first
  // Twenty digits fit UInt64 from 10^19 to 2^64 - 1: the sum has not wrapped if it is still as large as its first digit says.
  if (digitCount > 20 || (digitCount === 20 && (load<u8>(first) !== 0x31 || digitsValue < 10000000000000000000)))
    return 0
  if (isUnsigned) {
    if (isNegative) return 0
  } else if (digitsValue > (i64.MAX_VALUE as u64)) {
    return 0
  }
  store<i64>(column.values + ((index as usize) << 3), isNegative ? -(digitsValue as i64) : (digitsValue as i64))
  return end
}

/**
 * Whether a double may lie in the middle between two numbers of Float32: which of these the digits are nearer to, it has
 * forgotten. Below the normal numbers of Float32 it always may, but zero.
 */
function mayBeTie(magnitude: f64): bool {
  const bits = reinterpret<u64>(magnitude)
  // Zero wraps around.
  return (bits & 0x1fffffff) === 0x10000000 || bits - 1 < leastNormalFloat - 1
}

/** Float64 and Float32 in JSON's number grammar, exponents left out. */
export function readFloat(at: usize, column: Column, index: i32): usize {
  const isNegative = load<u8>(at) === minus
  const first = isNegative ? at + 1 : at
  let end = readDigits(first, 0)
  let digitCount = end - first
  if (digitCount === 0 || (load<u8>(first) === zero && digitCount > 1)) return 0
  let fractionCount: usize = 0
  if (load<u8>(end) === point) {
    const fraction = end + 1
    end = readDigits(fraction, digitsValue)
    fractionCount = end - fraction
    if (fractionCount === 0) return 0
    digitCount += fractionCount
  }
  if ((load<u8>(end) | 0x20) === 0x65) return 0
  // Both operands are exact, so one correctly rounded division gives the nearest double (Clinger's fast path).
  const isExact = digitCount <= wordDigitsMax && digitsValue <= exactIntegerMax
  const magnitude = isExact
    ? (digitsValue as f64) / load<f64>(powersOfTen + (fractionCount << 3))
    : readLongFloat(first, (end - first) as i32)
  if (magnitude > column.maximum) return 0
  // Of a whole number that a double has, the column's own rounding to a Float32 is the only one.
  if (mayBeTie(magnitude) && column.maximum < doublesFrom && !(isExact && fractionCount === 0)) return 0
  store<f64>(column.values + ((index as usize) << 3), isNegative ? -magnitude : magnitude)
  return end
}
