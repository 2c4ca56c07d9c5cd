/**
 * Which texts are dates and times: calendar texts, and digits that count from 1970-01-01. The value of each is the same for
 * all four types; `times.ts` has their ranges.
 */
import type { ValueRules } from '../../shared/value-rules.ts'
import { bareDateText, type DateTimeText, parseCommonDateTimeText, parseDateTimeText } from './date-time-text.ts'
import { type ExactNumber, parseExactNumber } from './exact-number.ts'

export type TimeText =
  | { readonly kind: 'calendar'; readonly written: DateTimeText }
  /** `unitScale`: the unit is 10^-unitScale seconds; null leaves it to the magnitude, as in numbers of JSON. */
  | { readonly kind: 'epoch'; readonly number: ExactNumber; readonly unitScale: number | null }

/** Undefined for what is no time. Blanks around the text are trimmed already. */
export type TimeTextReader = (text: string) => TimeText | undefined

export function timeTextReader(rules: ValueRules, kind: 'day' | 'instant'): TimeTextReader {
  if (rules === 2) return readTimeText
  return kind === 'day' ? readDayOfRules1 : readInstantOfRules1
}

function readTimeText(text: string): TimeText | undefined {
  const written = parseDateTimeText(text)
  if (written !== undefined) return { kind: 'calendar', written }
  // Digits before the spellings that are rarer, from which they differ.
  const epoch = epochText(text)
  if (epoch !== undefined) return epoch
  const common = parseCommonDateTimeText(text)
  return common === undefined ? undefined : { kind: 'calendar', written: common }
}

const epochPattern = /^[+-]?(\d+)(?:\.\d+)?$/

/** How many digits stand before the point tells the unit; of 8 or 14 digits it is the calendar. No exponents: nobody writes them. */
function epochText(text: string): TimeText | undefined {
  const digits = epochPattern.exec(text)?.[1]
  const unitScale = digits === undefined ? undefined : unitScaleOf(digits)
  const number = unitScale === undefined ? undefined : parseExactNumber(text)
  return unitScale === undefined || number === undefined ? undefined : { kind: 'epoch', number, unitScale }
}

function unitScaleOf(digits: string): number | undefined {
  switch (digits.length) {
    case 1:
      return digits === '0' ? 0 : undefined
    case 9:
    case 10:
      return 0
    case 13:
      return 3
    case 16:
      return 6
    case 19:
      return 9
    default:
      return undefined
  }
}

const eightDigits = /^\d{8}$/

function readDayOfRules1(text: string): TimeText | undefined {
  // Eight digits are a date even when there is no such day.
  const written = parseDateTimeText(eightDigits.test(text) ? bareDateText(text) : text)
  if (written !== undefined) return { kind: 'calendar', written }
  return eightDigits.test(text) ? undefined : anyEpochText(text)
}

function readInstantOfRules1(text: string): TimeText | undefined {
  const written = parseDateTimeText(text)
  return written === undefined ? anyEpochText(text) : { kind: 'calendar', written }
}

function anyEpochText(text: string): TimeText | undefined {
  const number = epochPattern.test(text) ? parseExactNumber(text) : undefined
  return number === undefined ? undefined : { kind: 'epoch', number, unitScale: null }
}
