// How ClickHouse writes text between quotes, in both directions.

import { TextError } from './text-error.ts'

const charactersByEscape: ReadonlyMap<string, string> = new Map([
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['0', '\0'],
  ['a', '\x07'],
  ['v', '\v'],
  ['e', '\x1b'],
  ['N', ''],
])
// Only before these does a backslash vanish; before any other character ClickHouse keeps it.
const selfEscaped = '\\\'"`/='
const escapesByCharacter: ReadonlyMap<string, string> = new Map([
  ['\\', '\\\\'],
  ['\b', '\\b'],
  ['\f', '\\f'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  ['\0', '\\0'],
])

/**
 * Gives the value of a text that stood between two `quote` characters.
 *
 * @param offset where `inner` begins in the whole text, for the error.
 * @throws TextError for `\x` without two hex digits, or with a byte outside ASCII: the text would be no UTF-8.
 */
export function unescapeText(inner: string, quote: string, offset: number): string {
  if (!inner.includes('\\') && !inner.includes(quote)) return inner
  let value = ''
  for (let index = 0; index < inner.length; index += 1) {
    const character = inner.charAt(index)
    // A quote inside stands twice, or the text would have ended.
    if (character === quote) index += 1
    if (character !== '\\') {
      value += character
      continue
    }
    index += 1
    const code = inner.charAt(index)
    if (code === 'x') {
      value += readHexEscape(inner, index, offset)
      index += 2
    } else {
      value += charactersByEscape.get(code) ?? (selfEscaped.includes(code) ? code : `\\${code}`)
    }
  }
  return value
}

function readHexEscape(inner: string, index: number, offset: number): string {
  const digits = /^[0-7][0-9a-fA-F]$/.exec(inner.slice(index + 1, index + 3))?.[0]
  if (digits !== undefined) return String.fromCharCode(Number.parseInt(digits, 16))
  throw new TextError({
    reason: 'Escape \\x must be followed by two hex digits from 00 to 7f',
    offset: offset + index - 1,
  })
}

/** A ClickHouse string literal: `it's` gives `'it\'s'`. */
export function quoteString(value: string): string {
  return quote(value, "'")
}

/** A ClickHouse identifier in backticks, whatever the name: `a b` gives `` `a b` ``. */
export function quoteName(value: string): string {
  return quote(value, '`')
}

function quote(value: string, mark: string): string {
  let inner = ''
  for (const character of value) {
    inner += character === mark ? `\\${mark}` : (escapesByCharacter.get(character) ?? character)
  }
  return mark + inner + mark
}
