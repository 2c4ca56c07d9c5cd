/** Random values near what a column type accepts: mostly plain, at times odd, on a border or wrong. */
import { valueTypeOf } from '../../../../src/schema/types/column-type.ts'
import type { ColumnType } from '../../../../src/schema/types/column-type.types.ts'
import { quoteRandomly, randomBlanks, randomText } from './random-texts.ts'
import { randomTime } from './random-times.ts'
import { asJson, asText, jsonOf, type Spelling } from './spelling.ts'
import type { TestRandom } from './test-random.ts'

/** A value that the type mostly accepts. */
export function randomValue(random: TestRandom, type: ColumnType): Spelling {
  switch (type.kind) {
    case 'nullable':
      return random.chance(15) ? asJson('null') : randomValue(random, type.inner)
    case 'lowCardinality':
    case 'simpleAggregateFunction':
      return randomValue(random, type.inner)
    case 'array':
      return randomArray(random, type.element)
    case 'map':
      return randomMap(random, type.key, type.value)
    case 'tuple':
      return randomTuple(random, type)
    default:
      return randomScalar(random, type)
  }
}

/** A value of any kind, whatever the type is. */
export function anyValue(random: TestRandom): Spelling {
  return random.pick([
    () => asJson('null'),
    () => asJson('true'),
    () => asJson('false'),
    () => asJson(random.digits(random.between(1, 25))),
    () => asJson(`-${random.digits(random.between(1, 12))}.${random.digits(3)}`),
    () => asJson(random.pick(['1e400', '-1e-400', '123456789012345678901234567890', '0.1e1', '1E+2', '-0', '4e-5'])),
    () => asText(randomText(random)),
    () => asText(random.pick(['', ' ', 'null', 'NaN', 'x', '12x', '0x10', '1e5', '1,5', '\\N', 'true '])),
    () => asJson(randomDocument(random, 0)),
    () => asJson(`[${random.pick(['', '1', '"a", null', '[[]]', '{}, {"a":1}'])}]`),
    () => asJson('{}'),
  ])()
}

function randomScalar(random: TestRandom, type: ColumnType): Spelling {
  switch (type.kind) {
    case 'integer':
      return randomInteger(random, type)
    case 'float':
      return randomFloat(random)
    case 'decimal':
      return randomDecimal(random, type)
    case 'bool':
      return random.chance(85)
        ? asJson(random.pick(['true', 'false']))
        : random.pick([
            asJson('1'),
            asJson('0'),
            asText('yes'),
            asText('OFF'),
            asText(' t '),
            asJson('1.0'),
            asJson('2'),
          ])
    case 'string':
      return random.chance(92) ? asText(randomText(random)) : anyValue(random)
    case 'fixedString':
      return asText(randomText(random, type.byteCount))
    case 'uuid':
      return asText(randomUuid(random))
    case 'enum':
      return randomEnum(random, type)
    case 'ipv4':
      return asText(Array.from({ length: 4 }, () => random.below(256)).join('.'))
    case 'ipv6':
      return asText(randomIpv6(random))
    case 'json':
      return asJson(randomDocument(random, 0))
    case 'date':
    case 'date32':
    case 'dateTime':
    case 'dateTime64':
      return randomTime(random, type)
    default:
      // AggregateFunction takes nothing, and all other kinds are nested.
      return anyValue(random)
  }
}

function randomInteger(random: TestRandom, type: Extract<ColumnType, { kind: 'integer' }>): Spelling {
  const minimum = type.isSigned ? -(2n ** BigInt(type.bits - 1)) : 0n
  const maximum = type.isSigned ? 2n ** BigInt(type.bits - 1) - 1n : 2n ** BigInt(type.bits) - 1n
  const digitsMax = maximum.toString().length
  const sign = type.isSigned && random.chance(40) ? '-' : ''
  const plain = `${sign}${random.digits(random.between(1, digitsMax - 1))}`
  if (random.chance(80)) return asJson(plain)
  return random.pick([
    () => asJson(String(minimum)),
    () => asJson(String(maximum)),
    () => asJson(String(maximum + 1n)),
    () => asJson(String(minimum - 1n)),
    () => asText(plain),
    () => asText(` ${String(random.chance(50) ? minimum : maximum)}\t`),
    () => asText(`+00${random.below(100)}`),
    () => asJson('-0'),
    () => asJson(random.pick(['3.0', '1e2', '1.5', '10e-1', '120E-1', '0.0', '1e999999999', '0e5'])),
    () => asJson(random.pick(['true', 'false'])),
    () => asJson(`${sign}${random.digits(digitsMax)}`),
  ])()
}

const oddFloats = [
  '-0',
  '-0.0',
  '0.1',
  '1.7976931348623157e308',
  '1.7976931348623159e308',
  '5e-324',
  '2.4e-324',
  '3.4028234663852886e38',
  '340282346638528859811704183484516925440',
  '340282356779733661637539395458142568447',
  '340282356779733661637539395458142568448',
  '9007199254740993',
  '0.30000000000000004',
  '123456789012345.6',
  '1234567890123456.7',
  '100000000000000000000000',
  '4.35',
  '2.2250738585072011e-308',
  '0.000000000000000000000000000001',
] as const

function randomFloat(random: TestRandom): Spelling {
  const sign = random.chance(20) ? '-' : ''
  const plain = `${sign}${random.digits(random.between(1, 6))}.${String(random.below(1_000_000))}`
  if (random.chance(70)) return asJson(random.chance(70) ? plain : `${sign}${random.digits(random.between(1, 15))}`)
  return random.pick([
    () => asJson(random.pick(oddFloats)),
    () => asJson(`${sign}${random.digits(random.between(1, 18))}.${random.digits(random.between(1, 12))}`),
    () => asJson(`${sign}${random.below(10)}.${random.digits(2)}e${random.pick(['', '+', '-'])}${random.below(40)}`),
    () => asText(plain),
    () => asText(random.pick(['.5', '5.', 'inf', '-Infinity', 'nan', ' 1.5 ', '+1', '1e5', '-inf', '1e999'])),
    () => asJson('true'),
  ])()
}

function randomDecimal(random: TestRandom, type: Extract<ColumnType, { kind: 'decimal' }>): Spelling {
  const sign = random.chance(30) ? '-' : ''
  const wholeCount = type.precision - type.scale
  const whole = wholeCount === 0 ? '0' : random.digits(random.between(1, wholeCount))
  const fraction = type.scale === 0 ? '' : `.${random.below(10)}${random.digits(random.between(1, type.scale))}`
  const plain = `${sign}${whole}${fraction}`
  if (random.chance(80)) return random.chance(70) ? asJson(plain) : asText(plain)
  return random.pick([
    () => asJson(`${sign}${random.digits(wholeCount + 1)}`),
    () => asJson(`${whole}e-1`),
    () => asText('.5'),
    () => asJson('-0.0000000000000000000000000000000000000000000000000000000000000000000000000001'),
    () => asJson(random.pick(['1e2', '0e99', '1e77', '-0'])),
  ])()
}

function randomEnum(random: TestRandom, type: Extract<ColumnType, { kind: 'enum' }>): Spelling {
  const member = type.members[random.below(type.members.length)]
  if (member === undefined || random.chance(3)) return asText('no member')
  return random.chance(80) ? asText(member.name) : asJson(String(member.value))
}

function randomUuid(random: TestRandom): string {
  const uuid = [8, 4, 4, 4, 12].map((count) => random.hex(count)).join('-')
  if (random.chance(85)) return uuid
  const odd = [uuid.toUpperCase(), uuid.replaceAll('-', ''), ` ${uuid}`, uuid.replace('-', '0'), uuid.slice(1)] as const
  return random.pick(odd)
}

function randomIpv6(random: TestRandom): string {
  if (random.chance(30)) return random.pick(['::', '::1', 'fe80::1:2', '1.2.3.4', '::ffff:9.8.7.6', '1::2::3', 'g::'])
  return Array.from({ length: 8 }, () => random.hex(random.between(1, 4))).join(':')
}

const documentKeys = ['a', 'b', 'x.y', 'c.d', 'é', 'a"b', '', '__proto__', 'length'] as const

function randomDocument(random: TestRandom, depth: number): string {
  const blanks = () => randomBlanks(random, 5)
  const members = Array.from({ length: random.below(4) }, () => {
    const key = quoteRandomly(random, random.pick(documentKeys))
    const value = depth < 2 && random.chance(30) ? randomDocument(random, depth + 1) : jsonOf(random, leaf(random))
    return `${blanks()}${key}${blanks()}:${blanks()}${value}${blanks()}`
  })
  return `{${members.join(',')}}`
}

function leaf(random: TestRandom): Spelling {
  return random.pick([
    asJson(String(random.below(1000))),
    asJson('null'),
    asJson('false'),
    asJson('[1, "x", [null]]'),
    asJson(random.pick(['18446744073709551615', '18446744073709551616', '1.50', '1e5', '-0.0'])),
    asText(randomText(random, 8)),
    // Texts that must stay texts, though the engine could take them for days and numbers.
    asText(random.pick(['2024-02-30', '2024-01-05', '2024-01-05 10:00:00', '12', '1.50', 'true'])),
    asJson('["2024-01-05", "2024-02-30", "2024-01-05 10:00:00"]'),
  ])
}

function randomArray(random: TestRandom, element: ColumnType): Spelling {
  const items = Array.from({ length: random.chance(3) ? random.between(20, 200) : random.below(5) }, () =>
    randomElement(random, element),
  )
  const blanks = () => randomBlanks(random, 4)
  if (random.chance(15)) return asText(`[${items.map((item) => clickHouseOf(item)).join(', ')}]`)
  const json = `[${blanks()}${items.map((item) => blanks() + jsonOf(random, item) + blanks()).join(',')}]`
  return random.chance(4) ? asText(json) : asJson(json)
}

/** An element that is null only rarely where the type knows no NULL. */
function randomElement(random: TestRandom, type: ColumnType): Spelling {
  if (random.chance(0.3)) return anyValue(random)
  return randomValue(random, type)
}

/** As ClickHouse writes values inside arrays. */
function clickHouseOf({ text, isText }: Spelling): string {
  return isText ? `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'` : text
}

function randomMap(random: TestRandom, key: ColumnType, value: ColumnType): Spelling {
  const entries = Array.from({ length: random.below(4) }, () => {
    const { text } = randomValue(random, valueTypeOf(key))
    return `${quoteRandomly(random, text)}:${jsonOf(random, randomElement(random, value))}`
  })
  return random.chance(5) ? asText(`{${entries.join(', ')}}`) : asJson(`{${entries.join(',')}}`)
}

function randomTuple(random: TestRandom, type: Extract<ColumnType, { kind: 'tuple' }>): Spelling {
  const items = type.fields.map((field) => ({
    name: field.name,
    json: jsonOf(random, randomElement(random, field.type)),
  }))
  if (random.chance(2)) items.pop()
  const isNamed = type.fields[0]?.name !== null
  if (!isNamed || random.chance(30)) return asJson(`[${items.map(({ json }) => json).join(',')}]`)
  return asJson(`{${items.map(({ name, json }) => `${quoteRandomly(random, name ?? '')}: ${json}`).join(',')}}`)
}
