/** Random texts, and their spellings as JSON strings. */
import type { TestRandom } from './test-random.ts'

const plainLetters = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-./:'
const oddCharacters = [
  '"',
  '\\',
  '/',
  "'",
  '`',
  ',',
  ';',
  '\t',
  '\n',
  '\r',
  '\b',
  '\f',
  '\u0000',
  '\u0001',
  '\u001f',
  '\u007f',
  '\u0080',
  'é',
  'ß',
  'ł',
  '\u07ff',
  '\u0800',
  '漢',
  '\u2028',
  '\ufeff',
  '\ufffd',
  '\uffff',
  '😀',
  '𝄞',
  '\u{10ffff}',
  '\ud800',
  '\udbff',
  '\udc00',
  '\udfff',
  '\\N',
  '""',
] as const

export function randomText(random: TestRandom, lengthMax = 24): string {
  const length = random.chance(1) ? random.between(0, 3_000) : random.below(lengthMax + 1)
  const oddPercent = random.chance(25) ? 30 : 0
  let text = ''
  while (text.length < length) {
    text += random.chance(oddPercent)
      ? random.pick(oddCharacters)
      : plainLetters.charAt(random.below(plainLetters.length))
  }
  return text
}

const shortEscapes = new Map([
  ['"', '\\"'],
  ['\\', '\\\\'],
  ['/', '\\/'],
  ['\b', '\\b'],
  ['\f', '\\f'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
])

/** The text as a JSON string; what need not be escaped is escaped at times. */
export function quoteRandomly(random: TestRandom, text: string): string {
  const escapePercent = random.chance(8) ? 30 : 0
  let inside = ''
  for (const character of text) {
    const code = character.charCodeAt(0)
    const isLoneSurrogate = character.length === 1 && code >= 0xd800 && code <= 0xdfff
    const mustEscape = code < 0x20 || character === '"' || character === '\\' || isLoneSurrogate
    inside += mustEscape || random.chance(escapePercent) ? escaped(random, character) : character
  }
  return `"${inside}"`
}

function escaped(random: TestRandom, character: string): string {
  const short = shortEscapes.get(character)
  if (short !== undefined && random.chance(60)) return short
  return Array.from({ length: character.length }, (_, at) => unicodeEscape(random, character.charCodeAt(at))).join('')
}

function unicodeEscape(random: TestRandom, code: number): string {
  const digits = code.toString(16).padStart(4, '0')
  return `\\u${random.chance(50) ? digits.toUpperCase() : digits}`
}

/** White space that JSON allows inside a line; mostly none. */
export function randomBlanks(random: TestRandom, percent: number): string {
  if (!random.chance(percent)) return ''
  return random.pick([' ', ' ', ' ', '  ', '\t', '\r', ' \t ', '   \r '])
}
