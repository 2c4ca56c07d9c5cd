/** Times of docs/values.md read a second time, by patterns of their own, as spellings that a ClickHouse server reads in one way alone. */
import type { ColumnType } from '../../src/schema/types/column-type.types.ts'
import { type Canonical, refusal, respelled } from './canonical.ts'

type TimeType = Extract<ColumnType, { kind: 'date' | 'date32' | 'dateTime' | 'dateTime64' }>

const spelled =
  'A time is taken in common spellings; basic reads `YYYY-MM-DD hh:mm:ss` alone, and best_effort others too.'
const digitsRule = 'How many digits there are tells what they are.'
const numberRule = 'A number is an instant whose unit its size tells, a small one in a column of days a day.'
const outside = 'A time that a column does not have sets the row aside.'
const noTime = 'There is no such day, or no such time of the day, or it is spelled in another way.'

const second = 10n ** 9n
const daySeconds = 86_400n

/** Nanoseconds, and whether they are local to the column. */
interface Moment {
  readonly nanoseconds: bigint
  readonly isLocal: boolean
}

export function canonicalTimeNumber(number: string, type: TimeType): Canonical {
  const nanoseconds = scaled(number)
  if (nanoseconds === null) return refusal(noTime)
  const isDay = type.kind === 'date' || type.kind === 'date32'
  const whole = floorDiv(nanoseconds, second)
  const isWhole = whole * second === nanoseconds
  if (isDay && isWhole && whole >= 0n && whole <= 65_535n) {
    return written({ nanoseconds: whole * daySeconds * second, isLocal: false }, type, numberRule)
  }
  const size = whole < 0n ? -nanoseconds / second : whole
  const divisor = size < 10n ** 11n ? 1n : size < 10n ** 14n ? 1_000n : size < 10n ** 17n ? 1_000_000n : second
  return written({ nanoseconds: floorDiv(nanoseconds, divisor), isLocal: false }, type, numberRule)
}

export function canonicalTimeText(text: string, type: TimeType): Canonical {
  const digits = /^([+-]?)(\d+)(\.\d+)?$/.exec(text)
  if (digits !== null) return ofDigits(digits, type)
  const moment = momentOf(text)
  return moment === null ? refusal(noTime) : written(moment, type, spelled)
}

function ofDigits([text = '', sign = '', whole = '', fraction]: RegExpExecArray, type: TimeType): Canonical {
  const isCivil = whole.length === 14 || (whole.length === 8 && fraction === undefined)
  if (sign === '' && isCivil) {
    const [, ...fields] = /^(\d{4})(\d\d)(\d\d)(\d\d)?(\d\d)?(\d\d)?$/.exec(whole) ?? []
    const moment = civil(
      fields.map((field) => Number(field ?? 0)),
      nanosecondsOf((fraction ?? '').slice(1)),
    )
    return moment === null ? refusal(digitsRule) : written({ nanoseconds: moment, isLocal: true }, type, digitsRule)
  }
  const units = new Map([
    [9, 1n],
    [10, 1n],
    [13, 1_000n],
    [16, 1_000_000n],
    [19, second],
  ])
  const unit = whole === '0' ? 1n : units.get(whole.length)
  const nanoseconds = unit === undefined ? null : scaled(text)
  if (unit === undefined || nanoseconds === null) return refusal(digitsRule)
  return written({ nanoseconds: floorDiv(nanoseconds, unit), isLocal: false }, type, digitsRule)
}

const clock = String.raw`(?:(\d{1,2}):(\d\d)(?::(\d\d)(?:[.](\d+))?)?)`
const offset = String.raw`(?:(Z|z)|([+-])(\d\d)(?::?(\d\d))?| ?(?:([Uu][Tt][Cc]|[Gg][Mm][Tt]|Z|z)|([+-])(\d\d)(?::?(\d\d))?))?`
const dashed = new RegExp(String.raw`^(\d{4})([-/])(\d{1,2})\2(\d{1,2})(?:[Tt ]${clock}${offset})?$`)
const daysPacked = new RegExp(String.raw`^(\d{4})(\d\d)(\d\d)[Tt ]${clock}${offset}$`)
const packed = new RegExp(String.raw`^(\d{4})(\d\d)(\d\d)[Tt ]?(\d\d)(\d\d)(\d\d)(?:[.](\d+))?${offset}$`)

function momentOf(text: string): Moment | null {
  const found = dashed.exec(text)
  const fields = found === null ? packedFields(text) : found.filter((_, at) => at !== 2).slice(1)
  if (fields === null) return null
  const [year, month, day, hour, minute, sec, fraction = '', ...zone] = fields
  const nanoseconds = civil(
    [year, month, day, hour, minute, sec].map((field) => Number(field ?? 0)),
    nanosecondsOf(fraction),
  )
  if (nanoseconds === null) return null
  const shift = shiftOf(zone)
  if (shift === undefined) return null
  return { nanoseconds: nanoseconds - (shift ?? 0n) * second, isLocal: shift === null }
}

function packedFields(text: string): readonly (string | undefined)[] | null {
  return (packed.exec(text) ?? daysPacked.exec(text))?.slice(1) ?? null
}

/** Seconds of an offset; null where there is none, undefined for one that no zone has. */
function shiftOf([z, sign, hours, minutes, word, laterSign, laterHours, laterMinutes]: readonly (
  | string
  | undefined
)[]) {
  if (z !== undefined || word !== undefined) return 0n
  const given = sign ?? laterSign
  if (given === undefined) return null
  const [hour, minute] = [Number(hours ?? laterHours), Number(minutes ?? laterMinutes ?? 0)]
  if (hour > 23 || minute > 59) return undefined
  return BigInt(given === '-' ? -1 : 1) * BigInt(hour * 3600 + minute * 60)
}

function nanosecondsOf(fraction: string): bigint {
  return BigInt(fraction.slice(0, 9).padEnd(9, '0'))
}

function civil([year = 0, month = 0, day = 0, hour = 0, minute = 0, sec = 0]: readonly number[], fraction: bigint) {
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  const isDay = date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day
  if (!isDay || hour > 23 || minute > 59 || sec > 59) return null
  return BigInt(date.getTime() / 1000 + hour * 3600 + minute * 60 + sec) * second + fraction
}

const limits = {
  date: [0n, 65_535n * daySeconds + daySeconds - 1n],
  date32: [BigInt(Date.UTC(1900, 0, 1) / 1000), BigInt(Date.UTC(2299, 11, 31, 23, 59, 59) / 1000)],
  dateTime: [0n, 4_294_967_295n],
  dateTime64: [BigInt(Date.UTC(1900, 0, 1) / 1000), BigInt(Date.UTC(2299, 11, 31, 23, 59, 59) / 1000)],
} as const

/** What is local may lie beyond a limit in UTC, or not, by the zone: those within a day of it are left to others. */
function written({ nanoseconds, isLocal }: Moment, type: TimeType, reason: string): Canonical {
  const seconds = floorDiv(nanoseconds, second)
  const [first, last] = limits[type.kind]
  const end = type.kind === 'dateTime64' && type.scale > 6 ? 9_223_372_036n : last
  const isDay = type.kind === 'date' || type.kind === 'date32'
  const hasZone = !isDay && isLocal && type.zone !== null && type.zone !== 'UTC'
  const slack = hasZone ? daySeconds : 0n
  if (seconds < first - slack || seconds > end + slack) return refusal(outside)
  if (hasZone && (seconds < first + slack || seconds > end - slack)) return { kind: 'unknown' }
  const iso = new Date(Number(seconds) * 1000).toISOString()
  if (isDay) return respelled(`"${iso.slice(0, 10)}"`, reason)
  const fraction = String(nanoseconds - seconds * second).padStart(9, '0')
  const digits = type.kind === 'dateTime64' && type.scale > 0 ? `.${fraction.slice(0, type.scale)}` : ''
  return respelled(`"${iso.slice(0, 10)} ${iso.slice(11, 19)}${digits}${isLocal ? '' : 'Z'}"`, reason)
}

/** The number times 10^9, floored; null where it has an exponent beyond reason, or is none. */
function scaled(number: string): bigint | null {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?$/.exec(number) ?? []
  if (whole + fraction === '' || Number(exponent) > 60) return null
  const digits = BigInt(`${whole}${fraction}`) * (sign === '-' ? -1n : 1n)
  const shift = Math.max(-5_000, 9 - fraction.length + Number(exponent))
  return shift >= 0 ? digits * 10n ** BigInt(shift) : floorDiv(digits, 10n ** BigInt(-shift))
}

function floorDiv(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor
  return value % divisor < 0n ? quotient - 1n : quotient
}
