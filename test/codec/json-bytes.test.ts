import { Buffer } from 'node:buffer'
import t from 'tap'
import { ScanKernel } from '../../src/codec/scan-kernel/scan-kernel.ts'
import { quoteRandomly, randomText } from '../support/codec/reference/random-texts.ts'
import { anyValue } from '../support/codec/reference/random-values.ts'
import { jsonOf } from '../support/codec/reference/spelling.ts'
import { TestRandom } from '../support/codec/reference/test-random.ts'
import { testSeed } from '../support/seeded-random.ts'

const { exports, memory } = new ScanKernel()
const roomBytes = 2_000_000
const sourceAt = memory.allocate(roomBytes)
const targetAt = memory.allocate(roomBytes)

/** The offset behind the value that the text begins with, or -1. */
function valueEnd(text: string): number {
  memory.bytes.set(Buffer.from(`${text}\n`), sourceAt)
  const end = exports.skipValue(sourceAt)
  return end === 0 ? -1 : end - sourceAt
}

/** A value that goes on in nothing but the line's end. */
function skipsWhole(text: string): boolean {
  return valueEnd(text) === Buffer.byteLength(text)
}

function unescaped(inside: string): Buffer {
  const bytes = Buffer.from(inside)
  memory.bytes.set(bytes, sourceAt)
  const end = exports.unescapeInto(targetAt, sourceAt, sourceAt + bytes.length)
  return Buffer.from(memory.bytes.subarray(targetAt, end))
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

t.test('skips exactly what JSON.parse accepts', async (t) => {
  const seed = testSeed()
  t.comment(`SEED=${seed}`)
  const random = new TestRandom(seed)
  const characters = [...'"\\{}[]:,-+.eE0123456789truefalsn \t\r\u0000\u001f\u007fué', '\\u', '\\u00e9', '1.5', '[]']
  const counts = { sound: 0, broken: 0 }
  for (let round = 0; round < 30_000; round += 1) {
    let text = jsonOf(random, anyValue(random)).replaceAll('\n', ' ')
    for (let change = random.below(3); change > 0; change -= 1) {
      const at = random.below(text.length + 1)
      const put = random.chance(70) ? (characters[random.below(characters.length)] ?? '') : ''
      text = text.slice(0, at) + put + text.slice(at + random.below(2))
    }
    // Blanks around a value are the caller's.
    const isSound = !/^[ \t\r]|[ \t\r]$/.test(text) && isJson(text)
    counts[isSound ? 'sound' : 'broken'] += 1
    if (skipsWhole(text) === isSound) continue
    t.equal(skipsWhole(text), isSound, JSON.stringify(text))
    return
  }
  t.comment(JSON.stringify(counts))
  t.ok(counts.sound > 5_000 && counts.broken > 5_000, 'both kinds are well represented')
})

t.test('skips numbers, words and strings to their end and no further', async (t) => {
  const ends: Readonly<Record<string, number>> = {
    '0,': 1,
    '-0]': 2,
    '10}': 2,
    '1.5e+10 ': 7,
    '1E5,': 3,
    'true,': 4,
    'false]': 5,
    'null}': 4,
    '"a\\"b",': 6,
    '"\\u12aF" ': 8,
    '{"a":[{}]},': 10,
    '[ ]\t': 3,
    // What follows a number or a word is for the caller to judge.
    '00': -1,
    '01': -1,
    '-': -1,
    '1.': -1,
    '.5': -1,
    '1e': -1,
    '+1': -1,
    tru: -1,
    nul: -1,
    '"a': -1,
    '"\t"': -1,
    '"\\x"': -1,
    '"\\u12g4"': -1,
    '[1,]': -1,
    '{"a"}': -1,
    '{"a":1,}': -1,
    '{a:1}': -1,
    '': -1,
  }
  for (const [text, end] of Object.entries(ends)) t.equal(valueEnd(text), end, JSON.stringify(text))
})

t.test('leaves what nests deeper than 400 levels to the exact reader', async (t) => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
  t.ok(skipsWhole(nested(399)))
  t.ok(skipsWhole(nested(400)))
  t.notOk(skipsWhole(nested(401)))
  t.notOk(skipsWhole('['.repeat(1_000_000)), 'and no depth overflows the stack')
})

t.test('unescapes strings as JSON.parse does', async (t) => {
  const random = new TestRandom(testSeed())
  const texts = [
    '',
    '\u0000',
    '\u007f\u0080\u07ff\u0800\uffff',
    '😀',
    '\ud83d',
    '\ude00',
    '\ude00\ud83d',
    '\ud83d\ud83d\ude00',
    '\ud83dx',
  ]
  const quoted = [
    '"\\ud83d\\ude00"',
    '"\\uD83D\\u0041"',
    '"\\ud83d\\n"',
    '"\\udbff\\udfff"',
    '"\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000"',
    ...texts.map((text) => quoteRandomly(random, text)),
    ...Array.from({ length: 5_000 }, () => quoteRandomly(random, randomText(random))),
  ]
  for (const text of quoted) {
    const found = unescaped(text.slice(1, -1))
    const wanted = Buffer.from(`${JSON.parse(text)}`)
    if (!found.equals(wanted)) t.equal(found.toString(), wanted.toString(), text)
  }
  t.pass(`${quoted.length} strings`)
})
