/** What JSON a body begins with, where nobody said its format. */
import { encodingByMark } from './text-encoding.ts'

/**
 * `lines`: the first record is a JSON object. `array`: an array of objects, or of nothing. `document`: one object over several
 * lines.
 */
export type JsonBeginning = 'array' | 'document' | 'lines'

/** Null for what may be CSV: a number, a text and `true` are JSON too, and so may the first cell of a row be. */
export function jsonBeginning(head: Uint8Array, isWhole: boolean): JsonBeginning | null {
  // With its mark, of which nothing is left.
  const text = new TextDecoder(encodingByMark(head)).decode(head).trimStart()
  if (/^\[\s*\{\s*["}]/.test(text) || (isWhole && /^\[\s*\]\s*$/.test(text))) return 'array'
  if (!/^\{\s*["'}]/.test(text)) return null
  const end = text.indexOf('\n')
  // A record that is longer than what is looked at.
  if (end < 0 && !isWhole) return text[1] === "'" ? null : 'lines'
  if (isObject(end < 0 ? text : text.slice(0, end))) return 'lines'
  const isSpread = /^\{[ \t\r]*\n\s*(?:"(?:[^"\\]|\\.)*"\s*:|\})/.test(text)
  if (isSpread || (isWhole && isObject(text))) return 'document'
  return hasObjectsBelow(text, isWhole) ? 'lines' : null
}

/** Lines below the first one that are looked at. */
const linesBelowMax = 20

/**
 * Whether the first line is a broken one of NDJSON. A row of CSV may begin like an object too, and then those below it are no
 * objects: most of them must be.
 */
function hasObjectsBelow(text: string, isWhole: boolean): boolean {
  const [, ...lines] = text.split('\n', linesBelowMax + 2)
  // What the beginning cuts says nothing.
  const whole = isWhole || lines.length > linesBelowMax ? lines : lines.slice(0, -1)
  const below = whole.slice(0, linesBelowMax).filter((line) => line.trim() !== '')
  return below.filter(isObject).length * 2 > below.length
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    // No JSON, and that is the answer.
    return false
  }
}
