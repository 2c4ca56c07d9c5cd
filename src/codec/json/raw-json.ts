/**
 * An exact JSON reader that keeps the source text of every value, which `JSON.parse` throws away.
 *
 * It takes what `JSON.parse` takes and nothing else: the same white space, no byte order mark, lone surrogates allowed.
 * It is the reference behind the fast scanners, and runs once for every record that they give up.
 */
import type { RawValue } from '../cell.types.ts'

/** How deep arrays and objects may nest. The engine itself takes about 1,000 levels. */
export const jsonDepthMax = 500

const quote = 0x22
const plus = 0x2b
const comma = 0x2c
const minus = 0x2d
const point = 0x2e
const zero = 0x30
const nine = 0x39
const colon = 0x3a
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

const nullValue: RawValue = { kind: 'null' }
const trueValue: RawValue = { kind: 'boolean', text: 'true' }
const falseValue: RawValue = { kind: 'boolean', text: 'false' }

/**
 * Reads one JSON text: exactly what `JSON.parse` accepts, nested no deeper than `jsonDepthMax`; undefined for all else.
 *
 * Of a repeated key the last value stays, at the place of the first, as in `JSON.parse`; `__proto__` is a key like any other.
 */
export function readRawJson(text: string): RawValue | undefined {
  const reader = new RawJsonReader(text)
  const value = reader.readValue(0)
  return value !== undefined && reader.isAtEnd() ? value : undefined
}

class RawJsonReader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
    this.#skipBlanks()
  }

  isAtEnd(): boolean {
    this.#skipBlanks()
    return this.#at === this.#text.length
  }

  /** Reads the value that begins at `at`; `depth` counts the arrays and objects around it. */
  readValue(depth: number): RawValue | undefined {
    switch (this.#text.charCodeAt(this.#at)) {
      case quote: {
        const text = this.#readString()
        return text === undefined ? undefined : { kind: 'string', text }
      }
      case openBrace:
        return depth < jsonDepthMax ? this.#readObject(depth + 1) : undefined
      case openBracket:
        return depth < jsonDepthMax ? this.#readArray(depth + 1) : undefined
      case 0x74:
        return this.#readWord('true', trueValue)
      case 0x66:
        return this.#readWord('false', falseValue)
      case 0x6e:
        return this.#readWord('null', nullValue)
      default:
        return this.#readNumber()
    }
  }

  #skipBlanks(): void {
    const text = this.#text
    let at = this.#at
    let code = text.charCodeAt(at)
    while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) {
      at += 1
      code = text.charCodeAt(at)
    }
    this.#at = at
  }

  #readWord(word: string, value: RawValue): RawValue | undefined {
    if (!this.#text.startsWith(word, this.#at)) return undefined
    this.#at += word.length
    return value
  }

  #readObject(depth: number): RawValue | undefined {
    const text = this.#text
    const start = this.#at
    const entries = new Map<string, RawValue>()
    this.#at += 1
    this.#skipBlanks()
    if (text.charCodeAt(this.#at) === closeBrace) {
      this.#at += 1
      return { kind: 'object', text: text.slice(start, this.#at), entries }
    }
    for (;;) {
      if (text.charCodeAt(this.#at) !== quote) return undefined
      const key = this.#readString()
      this.#skipBlanks()
      if (key === undefined || text.charCodeAt(this.#at) !== colon) return undefined
      this.#at += 1
      this.#skipBlanks()
      const value = this.readValue(depth)
      if (value === undefined) return undefined
      entries.set(key, value)
      this.#skipBlanks()
      const next = text.charCodeAt(this.#at)
      this.#at += 1
      if (next === closeBrace) return { kind: 'object', text: text.slice(start, this.#at), entries }
      if (next !== comma) return undefined
      this.#skipBlanks()
    }
  }

  #readArray(depth: number): RawValue | undefined {
    const text = this.#text
    const start = this.#at
    const items: RawValue[] = []
    this.#at += 1
    this.#skipBlanks()
    if (text.charCodeAt(this.#at) === closeBracket) {
      this.#at += 1
      return { kind: 'array', text: text.slice(start, this.#at), items }
    }
    for (;;) {
      const item = this.readValue(depth)
      if (item === undefined) return undefined
      items.push(item)
      this.#skipBlanks()
      const next = text.charCodeAt(this.#at)
      this.#at += 1
      if (next === closeBracket) return { kind: 'array', text: text.slice(start, this.#at), items }
      if (next !== comma) return undefined
      this.#skipBlanks()
    }
  }

  #readNumber(): RawValue | undefined {
    const text = this.#text
    const start = this.#at
    if (text.charCodeAt(this.#at) === minus) this.#at += 1
    const hasLeadingZero = text.charCodeAt(this.#at) === zero
    const digitCount = this.#skipDigits()
    if (digitCount === 0 || (hasLeadingZero && digitCount > 1)) return undefined
    if (text.charCodeAt(this.#at) === point) {
      this.#at += 1
      if (this.#skipDigits() === 0) return undefined
    }
    const code = text.charCodeAt(this.#at)
    if (code === 0x65 || code === 0x45) {
      this.#at += 1
      const sign = text.charCodeAt(this.#at)
      if (sign === plus || sign === minus) this.#at += 1
      if (this.#skipDigits() === 0) return undefined
    }
    return { kind: 'number', text: text.slice(start, this.#at) }
  }

  #skipDigits(): number {
    const text = this.#text
    const start = this.#at
    let at = start
    let code = text.charCodeAt(at)
    while (code >= zero && code <= nine) {
      at += 1
      code = text.charCodeAt(at)
    }
    this.#at = at
    return at - start
  }

  /** Reads the string whose opening quote stands at `at`. */
  #readString(): string | undefined {
    const text = this.#text
    const start = this.#at + 1
    let at = start
    for (;;) {
      const code = text.charCodeAt(at)
      if (code === quote) {
        this.#at = at + 1
        return text.slice(start, at)
      }
      if (code === backslash) return this.#readEscapedString(start, at)
      // Control characters must be escaped. Beyond the end `code` is NaN, and the string is not closed.
      if (!(code >= 0x20)) return undefined
      at += 1
    }
  }

  /** Goes on with a string whose first backslash stands at `firstEscape`. */
  #readEscapedString(start: number, firstEscape: number): string | undefined {
    const text = this.#text
    let decoded = text.slice(start, firstEscape)
    this.#at = firstEscape
    for (;;) {
      const character = this.#readEscape()
      if (character === undefined) return undefined
      decoded += character
      const plain = this.#at
      let code = text.charCodeAt(this.#at)
      while (code >= 0x20 && code !== quote && code !== backslash) {
        this.#at += 1
        code = text.charCodeAt(this.#at)
      }
      decoded += text.slice(plain, this.#at)
      if (code === quote) {
        this.#at += 1
        return decoded
      }
      if (code !== backslash) return undefined
    }
  }

  /** Reads the escape whose backslash stands at `at`. */
  #readEscape(): string | undefined {
    const text = this.#text
    const letter = text.charAt(this.#at + 1)
    if (letter === 'u') {
      const digits = text.slice(this.#at + 2, this.#at + 6)
      this.#at += 6
      return fourHexDigits.test(digits) ? String.fromCharCode(Number.parseInt(digits, 16)) : undefined
    }
    this.#at += 2
    return escapes.get(letter)
  }
}

const fourHexDigits = /^[0-9a-fA-F]{4}$/
const escapes: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ['\\', '\\'],
  ['/', '/'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
])
