/** Dates and times as people write them, down to seconds on the civil calendar. Knows no time zone. */

export interface DateTimeText {
  /** Seconds since 1970-01-01 00:00:00 as written: local time where there is no offset. */
  readonly localSeconds: number
  /** Digits behind the point of the second, any number of them; empty without a fraction. */
  readonly fraction: string
  /** How far the written time is ahead of UTC; null when the text does not say. */
  readonly offsetSeconds: number | null
}

export const secondsPerDay = 86_400

const dateTimePattern =
  /^(\d{4})-(\d\d)-(\d\d)(?:[ Tt](\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(Z|z|[+-]\d\d(?::?\d\d)?)?)?$/

/**
 * Reads `YYYY-MM-DD`, or with a time behind a blank or `T`: `hh:mm[:ss[.fraction]]` and then nothing, `Z`, `±hh`,
 * `±hhmm` or `±hh:mm`. Only days that exist; no hour 24, no second 60. Undefined for all else.
 */
export function parseDateTimeText(text: string): DateTimeText | undefined {
  const match = dateTimePattern.exec(text)
  if (match === null) return undefined
  const [, year = '', month = '', day = '', hour = '0', minute = '0', second = '0', fraction = '', offset] = match
  return dateTimeOf({ year, month, day, hour, minute, second, fraction, offset })
}

/** Behind the year: month and day between dashes, slashes or nothing, the clock with colons or without, and the zone. */
const commonPattern =
  /^(\d{4})(?:-(\d{1,2})-(\d{1,2})|\/(\d{1,2})\/(\d{1,2})|(\d\d)(\d\d))(?:(?:[Tt ](\d{1,2}):(\d\d)(?::(\d\d)(?:\.(\d+))?)?|(?<=^\d{8})[Tt ]?(\d\d)(\d\d)(\d\d)(?:\.(\d+))?)(?: ?([Zz]|[Uu][Tt][Cc]|[Gg][Mm][Tt]|[+-]\d\d(?::?\d\d)?))?)?$/

/**
 * Reads spellings beside ISO 8601 that common writers have: `2024/01/15`, `2024-1-5`, `9:00:00` behind a date, ` UTC`, ` Z` and
 * ` +0100` behind a time, and digits alone: `20240115`, `20240115T100000`, `20240115100000`. Undefined for others.
 */
export function parseCommonDateTimeText(text: string): DateTimeText | undefined {
  const fields = commonPattern.exec(text)
  if (fields === null) return undefined
  const first = (...places: readonly number[]): string | undefined => {
    for (const place of places) if (fields[place] !== undefined) return fields[place]
    return undefined
  }
  const zone = fields[16]
  return dateTimeOf({
    year: fields[1] ?? '',
    month: first(2, 4, 6) ?? '',
    day: first(3, 5, 7) ?? '',
    hour: first(8, 12) ?? '0',
    minute: first(9, 13) ?? '0',
    second: first(10, 14) ?? '0',
    fraction: first(11, 15) ?? '',
    offset: zone !== undefined && /^[A-Za-z]/.test(zone) ? 'Z' : zone,
  })
}

/** Digits, and the offset as it is written. */
interface DateTimeFields {
  readonly year: string
  readonly month: string
  readonly day: string
  readonly hour: string
  readonly minute: string
  readonly second: string
  readonly fraction: string
  readonly offset: string | undefined
}

function dateTimeOf({ year, month, day, fraction, offset, ...clock }: DateTimeFields): DateTimeText | undefined {
  const days = daysOf(Number(year), Number(month), Number(day))
  const hours = Number(clock.hour)
  const minutes = Number(clock.minute)
  const seconds = Number(clock.second)
  if (days === undefined || hours > 23 || minutes > 59 || seconds > 59) return undefined
  const offsetSeconds = offset === undefined ? null : parseOffset(offset)
  if (offsetSeconds === undefined) return undefined
  return { localSeconds: days * secondsPerDay + hours * 3_600 + minutes * 60 + seconds, fraction, offsetSeconds }
}

/** A text that begins with the eight digits of a date, with dashes between them. */
export function bareDateText(text: string): string {
  return text.replace(/^(\d{4})(\d\d)(\d\d)/, '$1-$2-$3')
}

/** `Z`, `±hh`, `±hhmm` or `±hh:mm` in seconds; undefined beyond 23:59. */
function parseOffset(text: string): number | undefined {
  if (text === 'Z' || text === 'z') return 0
  const hours = Number(text.slice(1, 3))
  const minutes = Number(text.length > 3 ? text.slice(-2) : 0)
  if (hours > 23 || minutes > 59) return undefined
  const seconds = hours * 3_600 + minutes * 60
  return text.startsWith('-') ? -seconds : seconds
}

const daysOfMonth = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
/** From 0000-03-01 to 1970-01-01. */
const epochDay = 719_468

/** Days since 1970-01-01 of a day of the Gregorian calendar, years 0 to 9999; undefined when there is no such day. */
function daysOf(year: number, month: number, day: number): number | undefined {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  const dayMax = month === 2 && isLeap ? 29 : (daysOfMonth[month - 1] ?? 0)
  if (day < 1 || day > dayMax) return undefined
  // A year that begins in March has its leap day at the end.
  const marchYear = month > 2 ? year : year - 1
  const marchMonth = (month + 9) % 12
  const dayOfYear = Math.floor((marchMonth * 153 + 2) / 5) + day - 1
  const leapDays = Math.floor(marchYear / 4) - Math.floor(marchYear / 100) + Math.floor(marchYear / 400)
  return marchYear * 365 + leapDays + dayOfYear - epochDay
}
