import { TextError } from '../../shared/text-error.ts'
import type { JsonPath } from './json-path.types.ts'

const keysMax = 64

/**
 * Reads a JSONPath: `$`, `$.a.b`, `$.a.b[:]`, `$.a[:].b.c`.
 *
 * A key may also stand in quotes or brackets: `$.["a b"]`, `$['a']`, `` $.`a.b` ``. Without them it ends at a dot or a
 * bracket and may hold anything else but quotes and control characters: `$.@type`, `$.user-agent`.
 * @throws TextError with the offset in `text` of what is wrong.
 */
export function parseJsonPath(text: string): JsonPath {
  if (!text.startsWith('$')) {
    throw new TextError({
      reason: `JSONPath '${text}' does not begin with $`,
      offset: 0,
      hint: `write $.${text || 'key'}`,
    })
  }
  const keys: string[] = []
  let element: string[] | null = null
  let offset = 1
  while (offset < text.length) {
    const step = readStep(text, offset)
    offset = step.endOffset
    if (step.key === null) element = beginElement(keys, element, step.offset)
    else (element ?? keys).push(step.key)
    if (keys.length + (element?.length ?? 0) > keysMax) {
      throw new TextError({ reason: `JSONPath has more than ${keysMax} keys`, offset: step.offset })
    }
  }
  return { keys, element }
}

interface Step {
  /** Null is `[:]`. */
  readonly key: string | null
  readonly offset: number
  readonly endOffset: number
}

function beginElement(keys: readonly string[], element: readonly string[] | null, offset: number): string[] {
  if (element !== null) {
    const hint = 'arrays are taken apart at the first level only; keep the inner array as JSON text in a String'
    throw new TextError({ reason: 'JSONPath has a second [:]', offset, hint })
  }
  if (keys.length > 0) return []
  throw new TextError({
    reason: 'JSONPath takes the record itself as an array',
    offset,
    hint: 'name the key before [:]',
  })
}

function readStep(text: string, offset: number): Step {
  if (text.charAt(offset) === '[') return readBracket(text, offset)
  if (text.charAt(offset) !== '.') throw unexpected(text, offset)
  const start = offset + 1
  const character = text.charAt(start)
  if (character === '[') return readBracket(text, start)
  if (character === '"' || character === "'" || character === '`') return readQuotedKey(text, start)
  return readPlainKey(text, start)
}

function readBracket(text: string, offset: number): Step {
  if (text.startsWith('[:]', offset)) return { key: null, offset, endOffset: offset + 3 }
  const mark = text.charAt(offset + 1)
  if (mark !== '"' && mark !== "'" && mark !== '`') {
    throw new TextError({
      reason: 'JSONPath takes one element of an array',
      offset,
      hint: 'only [:] takes all, one by one',
    })
  }
  const step = readQuotedKey(text, offset + 1)
  if (text.charAt(step.endOffset) !== ']') throw unexpected(text, step.endOffset)
  return { ...step, endOffset: step.endOffset + 1 }
}

function readQuotedKey(text: string, offset: number): Step {
  const mark = text.charAt(offset)
  let key = ''
  let index = offset + 1
  for (;;) {
    const character = text.charAt(index)
    if (character === '') throw new TextError({ reason: `Key without its closing ${mark} in the JSONPath`, offset })
    if (character === mark) break
    const isEscaped = character === '\\' && [mark, '\\'].includes(text.charAt(index + 1))
    key += isEscaped ? text.charAt(index + 1) : character
    index += isEscaped ? 2 : 1
  }
  return { key, offset, endOffset: index + 1 }
}

function readPlainKey(text: string, offset: number): Step {
  // Control characters cannot be meant, and quotes only by halves.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: They are what is searched for.
  const key = /^[^.[\]"'`\u0000-\u001f]*/.exec(text.slice(offset))?.[0] ?? ''
  if (key === '*') throw new TextError({ reason: 'JSONPath knows no *', offset, hint: 'name the key' })
  if (key !== '' && key === key.trim()) return { key, offset, endOffset: offset + key.length }
  if (key !== '') {
    throw new TextError({
      reason: 'Blank at the start or end of a key in the JSONPath',
      offset,
      hint: `write ["${key}"]`,
    })
  }
  if (text.charAt(offset) === '' || text.charAt(offset) === '.') {
    throw new TextError({ reason: 'Empty key in the JSONPath', offset })
  }
  throw unexpected(text, offset)
}

function unexpected(text: string, offset: number): TextError {
  const character = text.codePointAt(offset)
  const found = character === undefined ? 'the end' : `'${String.fromCodePoint(character)}'`
  return new TextError({
    reason: `Unexpected ${found} in the JSONPath`,
    offset,
    hint: 'keys look like .key or ["key"]',
  })
}
