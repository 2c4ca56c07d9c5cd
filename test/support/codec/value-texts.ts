import type { SeededRandom } from '../seeded-random.ts'

/**
 * Texts that people and programs write for values of a type, right and wrong, most of them near a limit of some kind.
 * Under each name: the types for which they are made, and pieces that are put together by chance.
 */
export interface TextMaker {
  readonly types: readonly string[]
  readonly make: (random: SeededRandom) => string
}

const powers = [7n, 8n, 31n, 32n, 63n, 64n, 127n, 128n, 255n, 256n].map((bits) => 2n ** bits)

function wholeText(random: SeededRandom): string {
  const power = powers[random.below(powers.length)] ?? 1n
  const near = power + BigInt(random.below(5) - 2)
  const value = [near, -near, BigInt(random.below(1000)), near * 10n, near * 3n, -near * 2n][random.below(6)] ?? 0n
  const text = value.toString()
  return (
    [text, text, `+${text}`, text.replace(/^-?/, '$&00'), `${text}.0`, `${text}.`, `${text}.5`][random.below(7)] ?? text
  )
}

function numberText(random: SeededRandom): string {
  const sign = random.pick(['', '', '-', '+'])
  const digits = (count: number): string => Array.from({ length: count }, () => random.below(10)).join('')
  const whole = digits(random.below(random.pick([3, 12, 40])))
  const fraction = random.below(2) === 0 ? '' : `.${digits(random.below(random.pick([3, 12, 40])))}`
  const exponent =
    random.below(3) === 0 ? `${random.pick(['e', 'E'])}${random.pick(['', '-', '+'])}${random.below(90)}` : ''
  return `${sign}${whole}${fraction}${exponent}`
}

function timeText(random: SeededRandom): string {
  const year = random.pick(['1899', '1900', '1969', '1970', '2024', '2024', '2106', '2149', '2262', '2299', '2300'])
  const day = `${year}-${random.pick(['01', '02', '06', '12', '13'])}-${random.pick(['01', '15', '28', '29', '31'])}`
  const clock = `${random.pick(['00', '10', '23', '24'])}:${random.pick(['00', '59', '60'])}`
  const second = random.pick(['', ':00', ':05', ':59', ':60'])
  const fraction = second === '' ? '' : random.pick(['', '.5', '.1239', '.9999999', '.123456789', '.1234567899', '.'])
  const offset = random.pick(['', '', 'Z', 'z', '+02', '-0330', '+05:45', '+23:59', '+24:00', '+99:00', '-00:60', ' Z'])
  const zone = random.below(3) === 0 ? random.pick([' UTC', 'gmt', ' +0100', ' -05:30', '  Z', ' +1']) : offset
  const whole = `${day}${random.pick(['T', ' ', 't'])}${clock}${second}${fraction}${zone}`
  const text = random.pick([day, whole, whole, whole, whole, `${day}${fraction}`, day.replaceAll('-', '')])
  // Other spellings, common ones and others, of days and of the clock.
  return random.pick([
    text,
    text,
    text.replaceAll('-0', '-'),
    text.replaceAll('-', '/'),
    text.replace('-', '/'),
    text.replaceAll('-', ''),
    text.replaceAll('-', '').replaceAll(':', ''),
    text.replaceAll(/[-:Tt ]/g, ''),
    text.replace(/([Tt ])0/, '$1'),
  ])
}

function epochText(random: SeededRandom): string {
  const digitCount = random.pick([1 + random.below(20), random.pick([8, 9, 10, 13, 14, 16, 19])])
  const digits = Array.from({ length: digitCount }, () => random.below(10)).join('')
  const fraction = random.pick(['', '', '.', '.5', '.1239', '.999999999', '.0000000001', `.${random.below(10 ** 9)}`])
  return `${random.pick(['', '', '-', '+'])}${digits}${fraction}`
}

function ipv6Text(random: SeededRandom): string {
  const group = (): string => random.pick(['0', 'ffff', 'FFFF', '01', '0db8', '12345', 'g', '', ''])
  const groups = Array.from({ length: 1 + random.below(9) }, group)
  const octet = (): string => random.pick(['0', '1', '01', '001', '00', '255', '256', '9'])
  const ipv4 = [octet(), octet(), octet(), octet()].join('.')
  return random.pick([groups.join(':'), ipv4, `::ffff:${ipv4}`, `::${ipv4}`, `${groups.join(':')}:${ipv4}`])
}

function wordText(random: SeededRandom): string {
  const words = [
    'true',
    'FALSE',
    'yes',
    'N',
    'on',
    'nan',
    'inf',
    '-Infinity',
    '',
    ' ',
    'null',
    'a',
    'b',
    '\t1 ',
    '1\n',
    '0x1',
    '1_0',
    '１',
  ]
  return words[random.below(words.length)] ?? ''
}

function documentText(random: SeededRandom): string {
  const value = (): string =>
    random.pick([
      '1',
      '256',
      '-1',
      '1.0',
      '1.5',
      'true',
      'null',
      '"7"',
      '"x"',
      '"2024-01-15 10:00:00.5"',
      '"2024"',
      '"1705312800123"',
      '20240115',
      '[1]',
      '{"b":1}',
      '1e400',
      // With a fraction the engine reads numbers inside of texts as doubles, and loses it from 2^53 on.
      wholeText(random).replace(/\.\d+$/, ''),
    ])
  return random.pick([
    `{"a":${value()},"t":${value()}}`,
    `{"a":${value()}}`,
    `{"t":${value()}}`,
    `{"t":"${timeText(random)}"}`,
    `[${value()},${value()}]`,
    `{"b":${value()}} `,
    `{"a":${value()}`,
    value(),
  ])
}

const wholeTypes = ['Int8', 'UInt8', 'Int32', 'UInt32', 'Int64', 'UInt64', 'Int128', 'UInt128', 'Int256', 'UInt256']
const timeTypes = [
  'Date',
  'Date32',
  'DateTime',
  "DateTime('Europe/Madrid')",
  'DateTime64(0)',
  'DateTime64(2)',
  'DateTime64(3)',
]
const fineTimeTypes = ['DateTime64(6)', 'DateTime64(9)', "DateTime64(9, 'America/St_Johns')"]
const decimalTypes = ['Decimal(9, 2)', 'Decimal(18, 0)', 'Decimal(38, 10)', 'Decimal(76, 20)', 'Float64']

export const textMakers: readonly TextMaker[] = [
  { types: [...wholeTypes, ...decimalTypes, 'String', 'FixedString(5)'], make: wholeText },
  { types: [...wholeTypes, ...decimalTypes], make: numberText },
  { types: [...timeTypes, ...fineTimeTypes], make: timeText },
  { types: [...timeTypes, ...fineTimeTypes], make: epochText },
  { types: ['IPv4', 'IPv6'], make: ipv6Text },
  {
    types: [...wholeTypes, ...decimalTypes, ...timeTypes, 'Bool', 'IPv4', 'UUID', "Enum8('a' = 1, 'b' = 2)"],
    make: wordText,
  },
  {
    types: [
      'JSON',
      'JSON(a UInt8)',
      'JSON(t DateTime64(3))',
      'JSON(a Nullable(Int32), t Date)',
      'Array(UInt128)',
      'Map(String, Int256)',
      'Array(Int8)',
    ],
    make: documentText,
  },
]
