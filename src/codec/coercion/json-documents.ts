/**
 * The JSON type. Its cells are JSON text that the engine's cast takes, and the engine takes less than JSON allows:
 *
 * - only objects, no arrays or scalars;
 * - no integers beyond Int64 and UInt64, and no numbers beyond a double: both are refused;
 * - no escape of half a surrogate pair: it becomes U+FFFD, as in any other text;
 * - no key twice in one object: the last one stays, as everywhere in JSON;
 * - no path twice, as in `{"a":{"b":1},"a.b":2}`: refused, because neither value can be told to be the right one;
 * - under a path with a type of its own only what that type takes: judged and rewritten (`json-typed-paths.ts`).
 *
 * What needs no change is stored as its source text.
 */
import type { RawValue } from '../cell.types.ts'
import { readRawJson } from '../json/raw-json.ts'
import { accepted, type Coercion, refused } from './verdict.ts'

type JsonObject = Extract<RawValue, { kind: 'object' }>

/** Writes the value under a path that has a type: JSON text, or undefined when it does not fit; null is for other paths. */
export type PathWriter = (path: string) => ((value: RawValue) => string | undefined) | null

export function jsonCoercion(writerOf: PathWriter | null): Coercion {
  return (value) => {
    const document = jsonObject(value)
    if (document === undefined) return refused
    const survey: Survey = { writerOf, memberCount: 0, hasDottedKey: false }
    if (!surveyObject(document, survey, writerOf === null ? null : '')) return refused
    if (survey.hasDottedKey && hasRepeatedPath(document)) return refused
    if (writerOf === null && !mustRewrite(document.text, survey.memberCount)) return accepted(document.text)
    const text = rewrite(document, writerOf)
    return text === undefined ? refused : accepted(text)
  }
}

/** The object itself, or the one that a text spells. */
function jsonObject(value: RawValue): JsonObject | undefined {
  if (value.kind === 'object') return value
  if (value.kind !== 'string' && value.kind !== 'cell') return undefined
  const document = readRawJson(value.text)
  return document?.kind === 'object' ? document : undefined
}

interface Survey {
  readonly writerOf: PathWriter | null
  memberCount: number
  hasDottedKey: boolean
}

/**
 * Counts members and looks at numbers; false when the engine cannot take one of them.
 * `prefix` is the path of the object with a dot behind it; null where no path has a type, as inside arrays.
 */
function surveyObject(object: JsonObject, survey: Survey, prefix: string | null): boolean {
  survey.memberCount += object.entries.size
  for (const [key, entry] of object.entries) {
    if (key.includes('.')) survey.hasDottedKey = true
    const path = prefix === null ? null : prefix + key
    // What stands under a path with a type is for that type to judge.
    const isTyped = path !== null && survey.writerOf !== null && survey.writerOf(path) !== null
    if (!isTyped && !surveyValue(entry, survey, path)) return false
  }
  return true
}

function surveyValue(value: RawValue, survey: Survey, path: string | null): boolean {
  switch (value.kind) {
    case 'number':
      return isEngineNumber(value.text)
    case 'array':
      return value.items.every((item) => surveyValue(item, survey, null))
    case 'object':
      return surveyObject(value, survey, path === null ? null : `${path}.`)
    case 'null':
    case 'boolean':
    case 'string':
    case 'cell':
      return true
  }
}

const shortIntegerLength = 18
const integerPattern = /^-?\d+$/
const int64Min = -(2n ** 63n)
const uint64Max = 2n ** 64n - 1n

function isEngineNumber(text: string): boolean {
  if (!integerPattern.test(text)) return Number.isFinite(Number(text))
  if (text.length <= shortIntegerLength) return true
  // JSON writes no leading zeros, so more than 20 characters are out of range; that also bounds the conversion.
  if (text.length > 20) return false
  const value = BigInt(text)
  return value >= int64Min && value <= uint64Max
}

/** Whether two members come to lie on the same path once keys are joined by dots; null lies nowhere. */
function hasRepeatedPath(document: JsonObject): boolean {
  const paths = new Set<string>()
  const visit = (value: RawValue, path: string): boolean => {
    if (value.kind === 'null') return false
    if (value.kind === 'object') {
      for (const [key, entry] of value.entries) if (visit(entry, `${path}.${key}`)) return true
      return false
    }
    if (paths.has(path)) return true
    paths.add(path)
    return value.kind === 'array' && value.items.some(holdsRepeatedPath)
  }
  for (const [key, entry] of document.entries) if (visit(entry, key)) return true
  return false
}

/** Objects inside arrays have paths of their own. */
function holdsRepeatedPath(value: RawValue): boolean {
  if (value.kind === 'object') return hasRepeatedPath(value)
  return value.kind === 'array' && value.items.some(holdsRepeatedPath)
}

const surrogateEscape = /\\u[dD][89a-fA-F]/

/** Keys that repeat are gone from the members, but their colons still stand in the text. */
function mustRewrite(text: string, memberCount: number): boolean {
  return surrogateEscape.test(text) || countColons(text) !== memberCount
}

/** Colons outside strings. Precondition: the text is JSON. */
function countColons(text: string): number {
  let count = 0
  let at = 0
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (code === 0x22) at = closingQuote(text, at + 1)
    else if (code === 0x3a) count += 1
    at += 1
  }
  return count
}

function closingQuote(text: string, start: number): number {
  let at = start
  for (;;) {
    const code = text.charCodeAt(at)
    if (code === 0x22) return at
    at += code === 0x5c ? 2 : 1
  }
}

function rewrite(document: JsonObject, writerOf: PathWriter | null): string | undefined {
  const writeEntry = (path: string, entry: RawValue): string | undefined => {
    const write = writerOf === null ? null : writerOf(path)
    if (write !== null) return write(entry)
    return entry.kind === 'object' ? writeEntries(`${path}.`, entry) : jsonText(entry)
  }
  const writeEntries = (prefix: string, object: JsonObject): string | undefined => {
    const members = new Map<string, string>()
    for (const [key, entry] of object.entries) {
      const text = writeEntry(prefix + key, entry)
      if (text === undefined) return undefined
      members.set(quoteJson(key), text)
    }
    return joinMembers(members)
  }
  return writeEntries('', document)
}

/** The value as JSON text without repeated keys, blanks and lone surrogates. */
function jsonText(value: RawValue): string {
  switch (value.kind) {
    case 'null':
      return 'null'
    case 'boolean':
    case 'number':
      return value.text
    case 'string':
    case 'cell':
      return quoteJson(value.text)
    case 'array':
      return `[${value.items.map(jsonText).join(',')}]`
    case 'object':
      return joinMembers(new Map([...value.entries].map(([key, entry]) => [quoteJson(key), jsonText(entry)])))
  }
}

function joinMembers(members: ReadonlyMap<string, string>): string {
  return `{${Array.from(members, ([key, text]) => `${key}:${text}`).join(',')}}`
}

/** A JSON string; halves of surrogate pairs become U+FFFD. */
export function quoteJson(text: string): string {
  return JSON.stringify(text.replace(/\p{Surrogate}/gu, '\ufffd'))
}
