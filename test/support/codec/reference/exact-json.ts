/**
 * The slow reference for JSON: `JSON.parse` says whether a text is JSON and what it means; tokens say how it was written.
 *
 * Shares nothing with the reader that it checks: a text that `JSON.parse` takes is cut into tokens by a pattern, strings
 * first, and the tokens are put together; the result must be what `JSON.parse` gave.
 */
import { deepStrictEqual } from 'node:assert/strict'
import type { RawValue } from '../../../../src/codec/cell.types.ts'

/** Arrays and objects within one another; a record that nests deeper is invalid. */
const depthMax = 500
const tokenPattern = /"(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*|true|false|null|[[\]{},:]/gs

interface Token {
  readonly text: string
  readonly start: number
  readonly end: number
}

/** The value that a JSON text spells; undefined when it is no JSON or nests too deep. */
export function referenceJson(text: string): RawValue | undefined {
  let meaning: unknown
  try {
    meaning = JSON.parse(text)
  } catch {
    return undefined
  }
  const tokens = [...text.matchAll(tokenPattern)].map((match) => ({
    text: match[0],
    start: match.index,
    end: match.index + match[0].length,
  }))
  if (depthOf(tokens) > depthMax) return undefined
  const value = new TokenReader(text, tokens).read()
  deepStrictEqual(meaningOf(value), meaning, 'the tokens say what JSON.parse says')
  return value
}

function depthOf(tokens: readonly Token[]): number {
  let depth = 0
  let deepest = 0
  for (const { text } of tokens) {
    if (text === '{' || text === '[') depth += 1
    else if (text === '}' || text === ']') depth -= 1
    deepest = Math.max(deepest, depth)
  }
  return deepest
}

/** Precondition: the tokens are those of a sound JSON text. */
class TokenReader {
  readonly #text: string
  readonly #tokens: readonly Token[]
  #next = 0

  constructor(text: string, tokens: readonly Token[]) {
    this.#text = text
    this.#tokens = tokens
  }

  read(): RawValue {
    const first = this.#take()
    switch (first.text.charAt(0)) {
      case '"':
        return { kind: 'string', text: stringOf(first) }
      case '{':
        return this.#readObject(first.start)
      case '[':
        return this.#readArray(first.start)
      case 'n':
        return { kind: 'null' }
      case 't':
        return { kind: 'boolean', text: 'true' }
      case 'f':
        return { kind: 'boolean', text: 'false' }
      default:
        return { kind: 'number', text: first.text }
    }
  }

  #readObject(start: number): RawValue {
    const entries = new Map<string, RawValue>()
    while (this.#peek() !== '}') {
      if (this.#peek() === ',') this.#take()
      const key = stringOf(this.#take())
      this.#take()
      entries.set(key, this.read())
    }
    return { kind: 'object', text: this.#text.slice(start, this.#take().end), entries }
  }

  #readArray(start: number): RawValue {
    const items: RawValue[] = []
    while (this.#peek() !== ']') {
      if (this.#peek() === ',') this.#take()
      items.push(this.read())
    }
    return { kind: 'array', text: this.#text.slice(start, this.#take().end), items }
  }

  #peek(): string | undefined {
    return this.#tokens[this.#next]?.text
  }

  #take(): Token {
    const token = this.#tokens[this.#next]
    if (token === undefined) throw new Error('the text ended too early')
    this.#next += 1
    return token
  }
}

function stringOf(token: Token): string {
  // A token that begins with a quote is a whole JSON string.
  return JSON.parse(token.text) as string
}

function meaningOf(value: RawValue): unknown {
  switch (value.kind) {
    case 'null':
      return null
    case 'boolean':
      return value.text === 'true'
    case 'number':
      return Number(value.text)
    case 'string':
    case 'cell':
      return value.text
    case 'array':
      return value.items.map(meaningOf)
    case 'object': {
      // Defined one by one, so that `__proto__` is a key like any other, as for JSON.parse.
      const object = {}
      for (const [key, entry] of value.entries) {
        Object.defineProperty(object, key, {
          value: meaningOf(entry),
          enumerable: true,
          configurable: true,
          writable: true,
        })
      }
      return object
    }
  }
}
