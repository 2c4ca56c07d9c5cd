import t from 'tap'
import type { RawValue } from '../../../src/codec/cell.types.ts'
import { jsonDepthMax, readRawJson } from '../../../src/codec/json/raw-json.ts'
import { SeededRandom, testSeed } from '../../support/seeded-random.ts'

t.test('every value keeps its exact source text', async (t) => {
  const record = readRawJson(' {"a": 1.50e+3 , "b":[ 1,2 ], "c":{"d" :true}, "e":"\\u0041", "f":null} ')
  t.equal(record?.kind, 'object')
  if (record?.kind !== 'object') return
  t.equal(record.text, '{"a": 1.50e+3 , "b":[ 1,2 ], "c":{"d" :true}, "e":"\\u0041", "f":null}')
  t.same(record.entries.get('a'), { kind: 'number', text: '1.50e+3' })
  t.same(record.entries.get('b'), {
    kind: 'array',
    text: '[ 1,2 ]',
    items: [
      { kind: 'number', text: '1' },
      { kind: 'number', text: '2' },
    ],
  })
  t.same(record.entries.get('c'), {
    kind: 'object',
    text: '{"d" :true}',
    entries: new Map([['d', { kind: 'boolean', text: 'true' }]]),
  })
  t.same(record.entries.get('e'), { kind: 'string', text: 'A' })
  t.same(record.entries.get('f'), { kind: 'null' })
})

t.test('of a repeated key the last value stays, also for keys that objects inherit', async (t) => {
  const record = readRawJson('{"a":1,"__proto__":2,"b":3,"a":4,"__proto__":5,"constructor":6}')
  t.same(record?.kind === 'object' && [...record.entries].map(([key, value]) => [key, rawText(value)]), [
    ['a', '4'],
    ['__proto__', '5'],
    ['b', '3'],
    ['constructor', '6'],
  ])
})

t.test('numbers keep every digit', async (t) => {
  for (const text of ['0', '-0', '123456789012345678901234567890', '1e999999999', '0.10', '-1E-2', '1.0e+10']) {
    t.same(readRawJson(text), { kind: 'number', text })
  }
})

t.test('lone surrogates and escapes come out as JSON.parse gives them', async (t) => {
  for (const text of [
    '"\\ud800"',
    '"\\ud83d\\ude00"',
    '"😀"',
    '"\\b\\f\\n\\r\\t\\"\\\\\\/"',
    '"a\\u00e9b"',
    '"\\u0000"',
    '"é\u2028"',
  ]) {
    t.same(readRawJson(text), { kind: 'string', text: JSON.parse(text) }, encodeURI(text))
  }
})

t.test('what is no JSON is refused', async (t) => {
  const texts = [
    ...[
      '',
      ' ',
      '{',
      '}',
      '[',
      '[1',
      '[1,',
      '[1,]',
      '{"a"}',
      '{"a":}',
      '{"a":1,}',
      '{a:1}',
      "{'a':1}",
      '{"a":1 "b":2}',
    ],
    ...[
      '01',
      '-',
      '+1',
      '1.',
      '.5',
      '1e',
      '1e+',
      '0x1',
      '--1',
      '1 2',
      'NaN',
      'Infinity',
      'tru',
      'True',
      'nul',
      'nulll',
    ],
    ...['"', '"a', '"\\', '"\\x"', '"\\u12"', '"\\u12g4"', '"\\u 123"', '"\n"', '"\u0000"', '"a\tb"', '"a\\nb\u001f"'],
    ...['\ufeff{}', '\u00a01', '1\u2028', '\f1', '{}{}', '[]]', '// c\n1', '"a" b'],
  ]
  for (const text of texts) t.equal(readRawJson(text), undefined, encodeURI(text))
})

t.test('nesting ends at its limit', async (t) => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
  const nestedObjects = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
  t.ok(readRawJson(nested(jsonDepthMax - 1)))
  t.ok(readRawJson(nested(jsonDepthMax)))
  t.notOk(readRawJson(nested(jsonDepthMax + 1)))
  t.ok(readRawJson(nestedObjects(jsonDepthMax)))
  t.notOk(readRawJson(nestedObjects(jsonDepthMax + 1)))
  t.notOk(readRawJson('['.repeat(1_000_000)), 'no stack is exhausted')
})

t.test('50,000 damaged documents are judged as JSON.parse judges them', async (t) => {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const seeded = new SeededRandom(seed)
  const random = (): number => seeded.fraction()
  let validCount = 0
  let difference: string | undefined
  for (let round = 0; round < 50_000 && difference === undefined; round += 1) {
    const text = damage(randomDocument(random, 3), random)
    const expected = parse(text)
    const actual = readRawJson(text)
    if (expected !== undefined) validCount += 1
    const isSame =
      expected === undefined ? actual === undefined : actual !== undefined && isEqual(actual, expected.value)
    if (!isSame) difference = text
  }
  t.equal(difference, undefined, 'no document is judged differently')
  t.ok(validCount > 5_000 && validCount < 45_000, `${validCount} of 50,000 are JSON`)
})

function parse(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) }
  } catch {
    // No JSON: the verdict that is compared.
    return undefined
  }
}

/** Whether the value is what JSON.parse made of the same text, and its source text stands for the same value. */
function isEqual(raw: RawValue, parsed: unknown): boolean {
  switch (raw.kind) {
    case 'null':
      return parsed === null
    case 'boolean':
      return parsed === (raw.text === 'true')
    case 'number':
      return Object.is(JSON.parse(raw.text), parsed)
    case 'string':
      return parsed === raw.text
    case 'array':
      return (
        Array.isArray(parsed) &&
        parsed.length === raw.items.length &&
        raw.items.every((item, index) => isEqual(item, parsed[index])) &&
        JSON.stringify(JSON.parse(raw.text)) === JSON.stringify(parsed)
      )
    case 'object':
      return (
        typeof parsed === 'object' &&
        parsed !== null &&
        Object.keys(parsed).length === raw.entries.size &&
        Object.entries(parsed).every(([key, entry]) => {
          const value = raw.entries.get(key)
          return value !== undefined && isEqual(value, entry)
        }) &&
        JSON.stringify(JSON.parse(raw.text)) === JSON.stringify(parsed)
      )
    case 'cell':
      return false
  }
}

const fragments = [
  ...['{', '}', '[', ']', ',', ':', '"', '\\', ' ', '\t', '\n', '\r', '\ufeff', '\u0000', '\u001f', '\u007f', '\u00a0'],
  ...[
    '0',
    '1',
    '-',
    '+',
    '.',
    'e',
    'E',
    '00',
    '1e5',
    'true',
    'null',
    '\\u',
    '\\ud800',
    '\\u00e9',
    '\\n',
    '\\x',
    'é',
    '😀',
  ],
  ...['"__proto__":1', '"a":1', '"a"', '[]', '{}'],
]
const scalars = [
  ...[
    '0',
    '-0',
    '1',
    '-12.5',
    '1e10',
    '1E-7',
    '123456789012345678',
    '0.1',
    '1.7976931348623157e309',
    'true',
    'false',
    'null',
  ],
  ...['"a"', '""', '"\\u0041"', '"\\ud83d\\ude00"', '"\\ud800"', '"é"', '"😀"', '"a\\"b"', '"\\\\"', '"\\/"'],
]
const keys = ['"a"', '"b"', '"a"', '"__proto__"', '"\\u0061"', '""', '"a b"', '"1"']
const blanks = ['', '', '', ' ', '\n', '\t ', '\r\n']

function randomDocument(random: () => number, depth: number): string {
  const pick = (choices: readonly string[]) => choices[Math.floor(random() * choices.length)] ?? ''
  const blank = () => pick(blanks)
  const kind = depth === 0 ? 0 : random()
  const count = Math.floor(random() * 4)
  const list = (item: () => string) =>
    Array.from({ length: count }, () => blank() + item() + blank()).join(',') || blank()
  if (kind < 0.4) return pick(scalars)
  if (kind < 0.65) return `[${list(() => randomDocument(random, depth - 1))}]`
  return `{${list(() => `${pick(keys)}${blank()}:${blank()}${randomDocument(random, depth - 1)}`)}}`
}

/** Cuts, inserts, repeats or leaves alone. */
function damage(text: string, random: () => number): string {
  const at = Math.floor(random() * (text.length + 1))
  const choice = random()
  if (choice < 0.3) return text
  if (choice < 0.5) return text.slice(0, at) + text.slice(at + 1)
  if (choice < 0.8)
    return text.slice(0, at) + (fragments[Math.floor(random() * fragments.length)] ?? '') + text.slice(at)
  if (choice < 0.9) return text.slice(0, at) + text.slice(Math.max(0, at - 3))
  return text.slice(0, at)
}

function rawText(value: RawValue): string | null {
  return value.kind === 'null' ? null : value.text
}
