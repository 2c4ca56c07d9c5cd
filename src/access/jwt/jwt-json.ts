// Two readers of one JSON text may see two things in it: which of two equal keys counts, what an unpaired surrogate is, which
// number 9007199254740993 is. A token is signed by one program and judged by another, so what can be read in two ways is
// refused here, or kept as it was written.

import { isUtf8 } from 'node:buffer'
import { jsonExcess } from '../../shared/json-bounds.ts'
import { JwtFault } from './jwt-fault.ts'

/** A value as it was written: integers that a double cannot hold are bigint, and an object has no prototype. */
export type JwtJson = string | number | bigint | boolean | null | readonly JwtJson[] | JwtObject
export type JwtObject = ReadonlyMap<string, JwtJson>

/** What a JSON text may hold. */
interface JsonBounds {
  readonly depthMax: number
  readonly keysMax: number
}

const payloadBounds: JsonBounds = { depthMax: 16, keysMax: 1_000 }
// Longer than an Int256 is written.
const integerCharactersMax = 80

/**
 * Reads UTF-8 bytes as a JSON object.
 *
 * @param place what the bytes are, as the subject of a reason.
 * @throws JwtFault for what is no JSON object in UTF-8, for a key that stands twice in one object at any depth, for unpaired
 *   surrogates, for numbers that are infinite or too long, and for too many keys or levels.
 */
export function readJwtObject(bytes: Buffer, place: string, bounds = payloadBounds): JwtObject {
  if (!isUtf8(bytes)) throw new JwtFault(`${place} is not UTF-8`)
  const text = bytes.toString('utf8')
  if (jsonExcess(text, bounds) !== null) throw new JwtFault(`${place} has too many keys or levels`)
  if (!isJson(text)) throw new JwtFault(`${place} is not JSON`)
  const value = new JsonReader(text, place).value()
  if (!isJwtObject(value)) throw new JwtFault(`${place} is not a JSON object`)
  return value
}

/** Whether a value is an object: neither a list nor null. */
export function isJwtObject(value: JwtJson | undefined): value is JwtObject {
  return value instanceof Map
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch (cause) {
    if (cause instanceof SyntaxError) return false
    throw cause
  }
}

const numberText = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const stringText = /"[^"\\]*(?:\\.[^"\\]*)*"/y
const blanks = /[ \t\n\r]*/y

/** Reads a text that `JSON.parse` has taken, and therefore does not look for faults of the grammar again. */
class JsonReader {
  readonly #text: string
  readonly #place: string
  #offset = 0

  constructor(text: string, place: string) {
    this.#text = text
    this.#place = place
  }

  value(): JwtJson {
    if (this.#takes('{')) return this.#object()
    if (this.#takes('[')) return this.#list()
    switch (this.#text[this.#offset]) {
      case '"':
        return this.#string()
      case 't':
        this.#offset += 'true'.length
        return true
      case 'f':
        this.#offset += 'false'.length
        return false
      case 'n':
        this.#offset += 'null'.length
        return null
      default:
        return this.#number()
    }
  }

  #object(): JwtObject {
    const members = new Map<string, JwtJson>()
    while (!this.#takes('}')) {
      const key = this.#string()
      // Compared as unescaped: "e\u0078p" is the same key as "exp".
      if (members.has(key)) throw new JwtFault(`${this.#place} has a key twice`)
      this.#takes(':')
      members.set(key, this.value())
      this.#takes(',')
    }
    return members
  }

  #list(): readonly JwtJson[] {
    const items: JwtJson[] = []
    while (!this.#takes(']')) {
      items.push(this.value())
      this.#takes(',')
    }
    return items
  }

  #string(): string {
    const quoted = this.#match(stringText)
    if (!quoted.includes('\\')) return quoted.slice(1, -1)
    const text = String(JSON.parse(quoted))
    // Written as UTF-8, every one of them would become the same character.
    if (/\p{Surrogate}/u.test(text)) throw new JwtFault(`${this.#place} has an unpaired surrogate`)
    return text
  }

  #number(): number | bigint {
    const digits = this.#match(numberText)
    const number = Number(digits)
    if (!Number.isFinite(number)) throw new JwtFault(`${this.#place} has a number that is too large`)
    if (Number.isSafeInteger(number) || /[.eE]/.test(digits)) return number
    if (digits.length > integerCharactersMax) throw new JwtFault(`${this.#place} has a number that is too long`)
    return BigInt(digits)
  }

  /** Takes the character after blanks, if it is this one. Blanks are taken in any case. */
  #takes(character: string): boolean {
    this.#match(blanks)
    if (this.#text[this.#offset] !== character) return false
    this.#offset += 1
    this.#match(blanks)
    return true
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#offset
    const [text = ''] = pattern.exec(this.#text) ?? []
    this.#offset += text.length
    return text
  }
}
