/** What JSON a body begins with, where nobody said its format. */

/**
 * `lines`: the first record is a JSON object. `array`: an array of objects. `document`: one object over several lines.
 */
export type JsonBeginning = 'array' | 'document' | 'lines'

/** Null for what may be CSV: a number, a text and `true` are JSON too, and so may the first cell of a row be. */
export function jsonBeginning(head: Uint8Array, isWhole: boolean): JsonBeginning | null {
  // With its mark, of which nothing is left.
  const text = new TextDecoder().decode(head).trimStart()
  if (/^\[\s*\{\s*["}]/.test(text)) return 'array'
  if (!/^\{\s*["}]/.test(text)) return null
  const end = text.indexOf('\n')
  // A record that is longer than what is looked at.
  if (end < 0 && !isWhole) return 'lines'
  if (isObject(end < 0 ? text : text.slice(0, end))) return 'lines'
  const isSpread = /^\{[ \t\r]*\n\s*(?:"(?:[^"\\]|\\.)*"\s*:|\})/.test(text)
  return isSpread || (isWhole && isObject(text)) ? 'document' : null
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
