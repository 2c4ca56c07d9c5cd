/** Fast readers of dates and times in ISO form. They keep to the same rule as those of `numbers.ts`. */
import { localToUtcSeconds } from './host'
import { Column } from './layout'

const minus: u8 = 0x2d
const point: u8 = 0x2e
const zero: u8 = 0x30
const upperZ: u8 = 0x5a
const secondsPerDay: i64 = 86_400

const integerPowersOfTen = memory.data<i64>([
  1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000,
])
const daysBeforeMonth = memory.data<i32>([0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334])
const daysOfMonth = memory.data<u8>([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])

/** What `readInstant` found: whole seconds since the epoch, and the digits behind the point as a number. */
let instantSeconds: i64 = 0
let instantFraction: i64 = 0
let instantFractionDigits: i32 = 0
/** The date that was read last, as its ten bytes: rows that follow one another mostly share it. */
let lastDateHead: u64 = 0
let lastDateTail: u16 = 0
let lastDays: i32 = -1

/** Days since 1970-01-01 of `YYYY-MM-DD` in the years 1970 to 2099, or -1. */
function readDays(at: usize): i32 {
  const head = load<u64>(at)
  const tail = load<u16>(at + 8)
  if (head === lastDateHead && tail === lastDateTail) return lastDays
  const days = computeDays(at)
  if (days < 0) return -1
  lastDateHead = head
  lastDateTail = tail
  lastDays = days
  return days
}

function computeDays(at: usize): i32 {
  const century = twoDigits(at)
  const yearOfCentury = twoDigits(at + 2)
  const month = twoDigits(at + 5)
  const day = twoDigits(at + 8)
  if (load<u8>(at + 4) !== minus || load<u8>(at + 7) !== minus || yearOfCentury < 0) return -1
  const year = century * 100 + yearOfCentury
  if (year < 1970 || year > 2099 || month < 1 || month > 12 || day < 1) return -1
  // 1970 to 2099 holds no century year that is not a leap year.
  const isLeap = (year & 3) === 0
  const dayMax: i32 = month === 2 && isLeap ? 29 : (load<u8>(daysOfMonth + month - 1) as i32)
  if (day > dayMax) return -1
  const leapDays = ((year - 1969) >> 2) + (isLeap && month > 2 ? 1 : 0)
  return (year - 1970) * 365 + leapDays + load<i32>(daysBeforeMonth + ((month - 1) << 2)) + day - 1
}

/** Two digits as a number, or -1. */
function twoDigits(at: usize): i32 {
  const tens: u8 = load<u8>(at) - zero
  const units: u8 = load<u8>(at + 1) - zero
  return tens <= 9 && units <= 9 ? (tens as i32) * 10 + (units as i32) : -1
}

/** `hh:mm:ss` as seconds, or -1. */
function readTimeOfDay(at: usize): i32 {
  // Eight bytes at once: with colons taken off as such, every byte is a digit's value, and the sums carry nothing over.
  const digits: u64 = load<u64>(at) ^ 0x30303a30303a3030
  if (((digits + 0x7676767676767676) & 0x8080808080808080) !== 0 || (digits & 0xf0f0f0f0f0f0f0f0) !== 0) return -1
  if ((digits & 0x0000ff0000ff0000) !== 0) return -1
  const hour = ((digits & 0xf) as i32) * 10 + (((digits >> 8) & 0xf) as i32)
  const minute = (((digits >> 24) & 0xf) as i32) * 10 + (((digits >> 32) & 0xf) as i32)
  const second = (((digits >> 48) & 0xf) as i32) * 10 + (((digits >> 56) & 0xf) as i32)
  return hour > 23 || minute > 59 || second > 59 ? -1 : hour * 3_600 + minute * 60 + second
}

/** `YYYY-MM-DD hh:mm:ss[.fraction][Z]`, blank or `T` between; sets the instant and gives the end, or 0. */
function readInstant(at: usize, zone: i32): usize {
  const days = readDays(at)
  if (days < 0) return 0
  const timeOfDay = readTimeOfDay(at + 11)
  const separator = load<u8>(at + 10)
  if (timeOfDay < 0 || (separator !== 0x20 && separator !== 0x54)) return 0
  const local = (days as i64) * secondsPerDay + (timeOfDay as i64)
  let end = at + 19
  instantFractionDigits = 0
  if (load<u8>(end) === point) {
    end = readFraction(end + 1)
    if (end === 0) return 0
  }
  const isUtc = load<u8>(end) === upperZ
  instantSeconds = zone === 0 || isUtc ? local : (localToUtcSeconds(zone, local as f64) as i64)
  return isUtc ? end + 1 : end
}

/** One to nine digits behind the point. */
function readFraction(at: usize): usize {
  let offset = at
  let fraction: i64 = 0
  let digit: u8 = load<u8>(offset) - zero
  while (digit <= 9) {
    fraction = fraction * 10 + (digit as i64)
    offset += 1
    digit = load<u8>(offset) - zero
  }
  const digitCount = (offset - at) as i32
  if (digitCount === 0 || digitCount > 9) return 0
  instantFraction = fraction
  instantFractionDigits = digitCount
  return offset
}

/** The fraction in units of 10^-`scale` seconds. Digits beyond the scale are cut, not rounded. */
function fractionAt(scale: i32): i64 {
  if (instantFractionDigits === 0) return 0
  if (instantFractionDigits === scale) return instantFraction
  return instantFractionDigits < scale
    ? instantFraction * powerOfTen(scale - instantFractionDigits)
    : instantFraction / powerOfTen(instantFractionDigits - scale)
}

function powerOfTen(exponent: i32): i64 {
  return load<i64>(integerPowersOfTen + (exponent << 3))
}

/** Date and Date32 from `YYYY-MM-DD` alone. */
export function readDate(at: usize, column: Column, index: i32): usize {
  const days = readDays(at)
  if (days < 0) return 0
  store<i32>(column.values + ((index as usize) << 2), days)
  return at + 10
}

export function readDateTime(at: usize, column: Column, index: i32): usize {
  const end = readInstant(at, column.zone)
  if (end === 0 || instantSeconds < 0) return 0
  store<u32>(column.values + ((index as usize) << 2), instantSeconds as u32)
  return end
}

/** Writes ticks of the part's unit: seconds, milliseconds, microseconds or nanoseconds (see `encodingOf`). */
export function readDateTime64(at: usize, column: Column, index: i32): usize {
  const end = readInstant(at, column.zone)
  if (end === 0 || instantSeconds < 0) return 0
  const scale = column.scale
  const unitScale: i32 = scale === 0 ? 0 : scale <= 3 ? 3 : scale <= 6 ? 6 : 9
  const ticks = instantSeconds * powerOfTen(unitScale) + fractionAt(scale) * powerOfTen(unitScale - scale)
  store<i64>(column.values + ((index as usize) << 3), ticks)
  return end
}
