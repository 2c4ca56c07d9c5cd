// Reads JSON with the messages of Python's reader, which clients of `JSON()` know, and without losing large integers.

import { DictValue, SequenceValue, type Value, valueDepthMax } from './values.ts'

/** The message has the form `Expecting value: line 1 column 1 (char 0)`. */
export class JsonTextError extends Error {
  override readonly name = 'JsonTextError'
}

/** @throws JsonTextError */
export function readJson(text: string): Value {
  const reader = new JsonReader(text)
  return reader.readAll()
}

const numberText = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y
const stringText = /"(?:[^"\\\p{Cc}]|[\x7f-\x9f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/uy
const constants: readonly (readonly [string, Value])[] = [
  ['null', null],
  ['true', true],
  ['false', false],
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
  ['-Infinity', Number.NEGATIVE_INFINITY],
]

class JsonReader {
  readonly #text: string
  #offset = 0
  #depth = 0

  constructor(text: string) {
    this.#text = text
  }

  readAll(): Value {
    this.#skipBlanks()
    const value = this.#readValue()
    this.#skipBlanks()
    if (this.#offset < this.#text.length) throw this.#fault('Extra data')
    return value
  }

  #fault(reason: string, offset = this.#offset): JsonTextError {
    const before = this.#text.slice(0, offset)
    const line = before.split('\n').length
    return new JsonTextError(`${reason}: line ${line} column ${offset - before.lastIndexOf('\n')} (char ${offset})`)
  }

  #skipBlanks(): void {
    while (' \t\n\r'.includes(this.#text.charAt(this.#offset) || 'x')) this.#offset += 1
  }

  #takeIf(character: string): boolean {
    if (this.#text.charAt(this.#offset) !== character) return false
    this.#offset += 1
    return true
  }

  #readValue(): Value {
    const character = this.#text.charAt(this.#offset)
    if (character === '"') return this.#readString()
    if (character === '{') return this.#readNested(() => this.#readObject())
    if (character === '[') return this.#readNested(() => this.#readArray())
    const constant = constants.find(([name]) => this.#text.startsWith(name, this.#offset))
    if (constant !== undefined) {
      this.#offset += constant[0].length
      return constant[1]
    }
    numberText.lastIndex = this.#offset
    const match = numberText.exec(this.#text)
    if (match === null) throw this.#fault('Expecting value')
    this.#offset = numberText.lastIndex
    const isInteger = match[1] === undefined && match[2] === undefined && match[0].length < 100
    return isInteger ? BigInt(match[0]) : Number(match[0])
  }

  #readNested(read: () => Value): Value {
    this.#depth += 1
    if (this.#depth > valueDepthMax) throw this.#fault('Nested too deep')
    const value = read()
    this.#depth -= 1
    return value
  }

  #readString(): string {
    stringText.lastIndex = this.#offset
    const text = stringText.exec(this.#text)?.[0]
    if (text === undefined) throw this.#fault('Unterminated string starting at')
    this.#offset += text.length
    // The pattern is that of JSON strings, so that this gives a string and cannot fail.
    return JSON.parse(text) as string
  }

  #readArray(): Value {
    this.#offset += 1
    this.#skipBlanks()
    const items: Value[] = []
    if (this.#takeIf(']')) return new SequenceValue('list', items)
    for (;;) {
      this.#skipBlanks()
      items.push(this.#readValue())
      this.#skipBlanks()
      if (this.#takeIf(']')) return new SequenceValue('list', items)
      if (!this.#takeIf(',')) throw this.#fault("Expecting ',' delimiter")
    }
  }

  #readObject(): Value {
    this.#offset += 1
    this.#skipBlanks()
    const entries: (readonly [Value, Value])[] = []
    if (this.#takeIf('}')) return new DictValue(entries)
    for (;;) {
      this.#skipBlanks()
      if (this.#text.charAt(this.#offset) !== '"') {
        throw this.#fault('Expecting property name enclosed in double quotes')
      }
      const key = this.#readString()
      this.#skipBlanks()
      if (!this.#takeIf(':')) throw this.#fault("Expecting ':' delimiter")
      this.#skipBlanks()
      entries.push([key, this.#readValue()])
      this.#skipBlanks()
      if (this.#takeIf('}')) return new DictValue(entries)
      if (!this.#takeIf(',')) throw this.#fault("Expecting ',' delimiter")
    }
  }
}
