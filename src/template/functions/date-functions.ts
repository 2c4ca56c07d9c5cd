// Differences between two dates, with Python's date formats.

import { documentedFault } from '../template-error.ts'
import { textOf, type Value } from '../values.ts'
import { type CallArguments, type CallContext, isMissing, type TemplateFunction } from './function-call.ts'

const isoReason = 'it must be ISO format date YYYY-MM-DD, e.g. 2018-09-26'
const timeReason =
  'defaults to YYYY-MM-DD hh:mm:ss. Or %Y-%m-%d %H:%M:%S [.ssssss]Z, e.g. ms: 2022-12-19T18:42:22.591Z s:2022-12-19T18:42:22Z'

function dayDiff(call: CallArguments, context: CallContext): Value {
  const first = call.get(0, 'd0')
  const second = call.get(1, 'd1')
  if (context.isCheck && (isMissing(first) || isMissing(second))) return call.get(2, 'default') ?? 0n
  const start = readDate(first, '%Y-%m-%d')
  const end = readDate(second, '%Y-%m-%d')
  if (start === null || end === null) {
    throw documentedFault(
      `invalid date format in function \`day_diff\`, ${isoReason}. For other fotmats, try \`date_diff_in_days\``,
      '#date_diff_in_days',
    )
  }
  return BigInt(Math.trunc(Math.abs(end - start) / 86_400_000))
}

interface DifferenceUnit {
  readonly milliseconds: number
  readonly format: string
  readonly reason: string
  readonly anchor: string
}

function differenceFunction(unit: DifferenceUnit): TemplateFunction {
  return (call: CallArguments, context: CallContext) => {
    const first = call.get(0, 'd0')
    const second = call.get(1, 'd1')
    if (context.isCheck && (isMissing(first) || isMissing(second))) return call.get(3, 'default') ?? 0n
    const format = formatText(call.get(2, 'date_format')) ?? unit.format
    const backup = formatText(call.get(4, 'backup_date_format'))
    const start = readEither(first, format, backup)
    const end = readEither(second, format, backup)
    if (start !== null && end !== null) return BigInt(Math.trunc(Math.abs(end - start) / unit.milliseconds))
    if (call.get(5, 'none_if_error') === true) return null
    throw documentedFault(unit.reason, unit.anchor)
  }
}

function formatText(value: Value): string | null {
  return value === null ? null : textOf(value)
}

function readEither(value: Value, format: string, backup: string | null): number | null {
  return readDate(value, format) ?? (backup === null ? null : readDate(value, backup))
}

const timeFormat = '%Y-%m-%d %H:%M:%S'

function timeReasonOf(name: string): string {
  return `invalid date_format in function \`${name}\`, ${timeReason}`
}

export const dateFunctions: ReadonlyMap<string, TemplateFunction> = new Map([
  ['day_diff', dayDiff],
  [
    'date_diff_in_days',
    differenceFunction({
      milliseconds: 86_400_000,
      format: '%Y-%m-%d',
      reason: `invalid date format in function \`date_diff_in_days\`, ${isoReason}`,
      anchor: '#date_diff_in_days',
    }),
  ],
  [
    'date_diff_in_hours',
    differenceFunction({
      milliseconds: 3_600_000,
      format: timeFormat,
      reason: timeReasonOf('date_diff_in_hours'),
      anchor: '#date_diff_in_hours',
    }),
  ],
  // The hosted service's message for minutes names the function for seconds.
  [
    'date_diff_in_minutes',
    differenceFunction({
      milliseconds: 60_000,
      format: timeFormat,
      reason: timeReasonOf('date_diff_in_seconds'),
      anchor: '#date_diff_in_minutes',
    }),
  ],
  [
    'date_diff_in_seconds',
    differenceFunction({
      milliseconds: 1_000,
      format: timeFormat,
      reason: timeReasonOf('date_diff_in_seconds'),
      anchor: '#date_diff_in_seconds',
    }),
  ],
])

const monthNames = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ')
const partPatterns: ReadonlyMap<string, RegExp> = new Map([
  ['Y', /\d{4}/y],
  ['y', /\d{2}/y],
  ['m', /1[0-2]|0?[1-9]/y],
  ['d', /3[01]|[12]\d|0?[1-9]/y],
  ['H', /2[0-3]|[01]\d|\d/y],
  ['I', /1[0-2]|0?[1-9]/y],
  ['M', /[0-5]\d|\d/y],
  ['S', /[0-5]\d|6[01]|\d/y],
  ['f', /\d{1,6}/y],
  ['b', /jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec/iy],
  ['p', /[ap]m/iy],
  ['z', /Z|[+-]\d{2}:?\d{2}/y],
  ['%', /%/y],
])

/** Milliseconds since 1970 in UTC; null when the text does not fit. */
function readDate(value: Value, format: string): number | null {
  if (typeof value !== 'string') return null
  const parts = readParts(value, format)
  return parts === null ? null : timeOf(parts)
}

function readParts(text: string, format: string): ReadonlyMap<string, string> | null {
  const parts = new Map<string, string>()
  let offset = 0
  for (let index = 0; index < format.length; index += 1) {
    const character = format.charAt(index)
    if (character !== '%') {
      // As in Python, letters are the same in both cases.
      if (text.charAt(offset).toLowerCase() !== character.toLowerCase()) return null
      offset += 1
      continue
    }
    index += 1
    const code = format.charAt(index)
    const pattern = partPatterns.get(code)
    if (pattern === undefined) return null
    pattern.lastIndex = offset
    const match = pattern.exec(text)
    if (match === null) return null
    offset = pattern.lastIndex
    parts.set(code, match[0])
  }
  return offset === text.length ? parts : null
}

function timeOf(parts: ReadonlyMap<string, string>): number | null {
  const number = (code: string, fallback: number) => Number(parts.get(code) ?? fallback)
  const shortYear = number('y', 70)
  const year = parts.has('Y') ? number('Y', 1900) : shortYear + (shortYear < 69 ? 2000 : 1900)
  const monthName = parts.get('b')
  const month = monthName === undefined ? number('m', 1) : monthNames.indexOf(monthName.toLowerCase()) + 1
  const day = number('d', 1)
  const hour = parts.has('I')
    ? (number('I', 12) % 12) + (parts.get('p')?.toLowerCase() === 'pm' ? 12 : 0)
    : number('H', 0)
  const milliseconds = Number(`0.${parts.get('f') ?? '0'}`) * 1_000
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  // The 30th of February is no day.
  if (date.getUTCMonth() !== month - 1 || year < 1) return null
  return (
    date.getTime() +
    ((hour * 60 + number('M', 0)) * 60 + number('S', 0)) * 1_000 +
    milliseconds -
    zoneOffset(parts.get('z'))
  )
}

function zoneOffset(text: string | undefined): number {
  if (text === undefined || text === 'Z') return 0
  const minutes = Number(text.slice(1, 3)) * 60 + Number(text.slice(-2))
  return (text.startsWith('-') ? -minutes : minutes) * 60_000
}
