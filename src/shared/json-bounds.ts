const quote = 0x22
const colon = 0x3a
const backslash = 0x5c
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

export interface JsonBounds {
  /** Most keys, at all depths together. */
  readonly keysMax: number
  readonly depthMax: number
}

/**
 * What a JSON text has too much of to be worth parsing; null where it keeps to its bounds.
 *
 * Looks at strings, colons and brackets alone: to parse keys costs a hundred times as much as their bytes, and brackets by
 * the million cost seconds. What is no JSON is for its parser to refuse.
 */
export function jsonExcess(text: string, { keysMax, depthMax }: JsonBounds): 'depth' | 'keys' | null {
  // A shorter text has not enough of anything.
  if (text.length <= Math.min(keysMax, depthMax)) return null
  let keyCount = 0
  let depth = 0
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === quote) at = stringEnd(text, at)
    else if (code === colon) keyCount += 1
    else if (code === openBrace || code === openBracket) depth += 1
    else if (code === closeBrace || code === closeBracket) depth -= 1
    if (depth > depthMax) return 'depth'
    if (keyCount > keysMax) return 'keys'
  }
  return null
}

/** The offset of the quote that ends the string that begins at `start`; that of the text's end where it has none. */
function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === backslash) at += 1
    else if (code === quote) return at
  }
  return text.length
}
