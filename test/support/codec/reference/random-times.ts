/** Random dates and times in the spellings that columns accept, often near the borders of their ranges. */
import type { ColumnType } from '../../../../src/schema/types/column-type.types.ts'
import { asJson, asText, type Spelling } from './spelling.ts'
import type { TestRandom } from './test-random.ts'

type TimeType = Extract<ColumnType, { kind: 'date' | 'date32' | 'dateTime' | 'dateTime64' }>

/** Seconds since the epoch at which ranges, eras and clocks change. */
const borderSeconds = [
  0,
  -1,
  Date.UTC(1900, 0, 1) / 1000,
  Date.UTC(1969, 11, 31) / 1000,
  Date.UTC(1972, 1, 29) / 1000,
  Date.UTC(2000, 1, 29) / 1000,
  Date.UTC(2026, 2, 29, 1) / 1000,
  Date.UTC(2026, 9, 25, 1) / 1000,
  Date.UTC(2038, 0, 19, 3, 14, 7) / 1000,
  Date.UTC(2099, 11, 31, 23, 59, 59) / 1000,
  Date.UTC(2100, 1, 28) / 1000,
  4_294_967_295,
  Date.UTC(2149, 5, 6) / 1000,
  Date.UTC(2262, 3, 11, 23, 47, 16) / 1000,
  Date.UTC(2299, 11, 31, 23, 59, 59) / 1000,
] as const
const day = 86_400

export function randomTime(random: TestRandom, type: TimeType): Spelling {
  const seconds = randomSeconds(random)
  if (random.chance(6)) return randomNumber(random, seconds)
  if (random.chance(3)) return asText(random.pick(wrongTimes))
  const written = new Date(seconds * 1000).toISOString()
  // Years beyond 9999 and before 0 do not come up, so the text has one length.
  const date = written.slice(0, 10)
  const isDate = type.kind === 'date' || type.kind === 'date32'
  if (isDate ? random.chance(85) : random.chance(4)) {
    return asText(random.chance(95) ? date : date.replaceAll('-', ''))
  }
  return asText(date + timeOf(random, written.slice(11, 19)))
}

function randomSeconds(random: TestRandom): number {
  if (random.chance(75)) return random.between(Date.UTC(1971, 0, 1) / 1000, Date.UTC(2090, 0, 1) / 1000)
  const border = random.pick(borderSeconds)
  const distance = random.pick([0, 1, -1, day, -day, random.below(3 * day), -random.below(3 * day)])
  return border + distance
}

function timeOf(random: TestRandom, time: string): string {
  const separator = random.pick([' ', 'T'])
  if (random.chance(4)) return `${separator}${time.slice(0, 5)}`
  const fraction = random.chance(60) ? `.${fractionDigits(random)}` : ''
  const offsets = [
    '',
    '',
    '',
    '',
    '',
    '',
    'Z',
    'Z',
    'Z',
    '+02:00',
    '-0330',
    '+05',
    '+23:59',
    'z',
    '+24:00',
    ' ',
  ] as const
  return `${separator}${time}${fraction}${random.pick(offsets)}`
}

function fractionDigits(random: TestRandom): string {
  const count = random.chance(80) ? random.pick([3, 6, 9]) : random.between(1, 12)
  let digits = ''
  while (digits.length < count) digits += random.chance(5) ? '9' : random.below(10)
  return digits
}

function randomNumber(random: TestRandom, seconds: number): Spelling {
  const number = random.pick([
    () => String(seconds),
    () => String(seconds * 1_000 + random.below(1_000)),
    () => `${seconds}.${fractionDigits(random)}`,
    () => `${BigInt(seconds) * 1_000_000n}`,
    () => `${BigInt(seconds) * 1_000_000_000n + 7n}`,
    () => String(random.below(70_000)),
  ])()
  return random.chance(70) ? asJson(number) : asText(number)
}

const wrongTimes = [
  '2026-02-29',
  '2026-13-01',
  '2026-00-10',
  '2026-01-32 00:00:00',
  '2026-01-01 24:00:00',
  '2026-01-01 23:59:60',
  '2026-01-01 23:60:00',
  '2026-1-1',
  '2026-01-01T',
  '2026-01-01 00:00:00.',
  '20260230',
  '01/02/2026',
  'today',
  '0000-00-00',
  '2026-01-01 00:00:00 UTC',
  ' 2026-01-01 ',
] as const
