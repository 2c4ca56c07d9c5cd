/**
 * Arrays, maps and tuples written inside a text: as JSON, or as ClickHouse writes them, `['a', 'b']`, `{'a': 1}`,
 * `('a', 1)`.
 */
import { TextError } from '../../shared/text-error.ts'
import { unescapeText } from '../../shared/text-escapes.ts'
import type { RawValue } from '../cell.types.ts'
import { jsonDepthMax, readRawJson } from '../json/raw-json.ts'
import { trimBlanks } from './verdict.ts'

/** A value that has elements: itself if it is an array or an object, or what its text spells; undefined for all else. */
export function nestedValue(value: RawValue): NestedValue | undefined {
  switch (value.kind) {
    case 'array':
    case 'object':
      return value
    case 'string':
    case 'cell':
      return parseNestedText(trimBlanks(value.text))
    case 'null':
    case 'boolean':
    case 'number':
      return undefined
  }
}

export type NestedValue = Extract<RawValue, { kind: 'array' | 'object' }>

/** Tuples come out as arrays whose text begins with a parenthesis. */
function parseNestedText(text: string): NestedValue | undefined {
  const first = text.charAt(0)
  if (first !== '[' && first !== '{' && first !== '(') return undefined
  const value = readRawJson(text) ?? new NestedTextReader(text).read()
  return value?.kind === 'array' || value?.kind === 'object' ? value : undefined
}

const blankPattern = /[ \t\r\n]*/y
const wordPattern = /[A-Za-z0-9_+.-]+/y
const numberPattern = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/
/** Written without quotes by ClickHouse, although JSON has no numbers for them. */
const floatWordPattern = /^[+-]?(?:nan|inf|infinity)$/i

class NestedTextReader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  read(): RawValue | undefined {
    const value = this.#readValue(0)
    this.#take(blankPattern)
    return this.#at === this.#text.length ? value : undefined
  }

  #readValue(depth: number): RawValue | undefined {
    this.#take(blankPattern)
    switch (this.#text.charAt(this.#at)) {
      case '[':
        return depth < jsonDepthMax ? this.#readItems(']', depth + 1) : undefined
      case '(':
        return depth < jsonDepthMax ? this.#readItems(')', depth + 1) : undefined
      case '{':
        return depth < jsonDepthMax ? this.#readEntries(depth + 1) : undefined
      case "'":
        return this.#readString()
      default:
        return readWord(this.#take(wordPattern))
    }
  }

  #readItems(closer: ']' | ')', depth: number): RawValue | undefined {
    const start = this.#at
    const items: RawValue[] = []
    this.#at += 1
    if (!this.#takeMark(closer)) {
      do {
        const item = this.#readValue(depth)
        if (item === undefined) return undefined
        items.push(item)
      } while (this.#takeMark(','))
      if (!this.#takeMark(closer)) return undefined
    }
    return { kind: 'array', text: this.#text.slice(start, this.#at), items }
  }

  #readEntries(depth: number): RawValue | undefined {
    const start = this.#at
    const entries = new Map<string, RawValue>()
    this.#at += 1
    if (!this.#takeMark('}')) {
      do {
        const key = this.#readValue(depth)
        if (key === undefined || key.kind === 'null' || !this.#takeMark(':')) return undefined
        const value = this.#readValue(depth)
        if (value === undefined) return undefined
        entries.set(key.text, value)
      } while (this.#takeMark(','))
      if (!this.#takeMark('}')) return undefined
    }
    return { kind: 'object', text: this.#text.slice(start, this.#at), entries }
  }

  /** Reads the string whose opening quote stands at `at`; a quote inside stands twice or behind a backslash. */
  #readString(): RawValue | undefined {
    const start = this.#at + 1
    let end = start
    for (;;) {
      const character = this.#text.charAt(end)
      if (character === '') return undefined
      if (character === "'" && this.#text.charAt(end + 1) !== "'") break
      end += character === "'" || character === '\\' ? 2 : 1
    }
    this.#at = end + 1
    const text = unescaped(this.#text.slice(start, end))
    return text === undefined ? undefined : { kind: 'string', text }
  }

  #takeMark(mark: string): boolean {
    this.#take(blankPattern)
    if (this.#text.charAt(this.#at) !== mark) return false
    this.#at += 1
    return true
  }

  #take(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const taken = pattern.exec(this.#text)?.[0] ?? ''
    this.#at += taken.length
    return taken
  }
}

function readWord(word: string): RawValue | undefined {
  if (numberPattern.test(word)) return { kind: 'number', text: word }
  const lower = word.toLowerCase()
  if (lower === 'null') return { kind: 'null' }
  if (lower === 'true' || lower === 'false') return { kind: 'boolean', text: lower }
  return floatWordPattern.test(word) ? { kind: 'string', text: word } : undefined
}

function unescaped(inner: string): string | undefined {
  try {
    return unescapeText(inner, "'", 0)
  } catch (error) {
    // An escape that is no text: the one way that `unescapeText` has to say so.
    if (error instanceof TextError) return undefined
    throw error
  }
}
