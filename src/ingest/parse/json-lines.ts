/** A JSON document as the lines of NDJSON: a pretty-printed object as one, an array as one for each of its elements. */

const lineFeed = 0x0a
const carriageReturn = 0x0d
const space = 0x20
const quote = 0x22
const comma = 0x2c
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

/**
 * The records of a document, each on a line of its own; a body of blanks alone has none.
 *
 * Looks at brackets, strings and commas, no further: whether a line is a record is for the scanner to say. Null for what
 * cannot be taken apart so, as text, an unfinished string, or two documents: it is no JSON, and counts as one bad record.
 */
export function linesOfDocument(body: Uint8Array): Uint8Array | null {
  const start = firstByteOf(body)
  if (start === body.length) return new Uint8Array(0)
  if (body[start] === openBracket) return linesOfArray(body, start)
  if (body[start] !== openBrace) return null
  const line = new LineCopy(body)
  const end = line.copyValue(start, { isAlone: true })
  return end >= 0 && isBlank(body, end) ? line.finish() : null
}

function linesOfArray(body: Uint8Array, start: number): Uint8Array | null {
  const lines = new LineCopy(body)
  let at = skipBlanks(body, start + 1)
  if (body[at] === closeBracket) return isBlank(body, at + 1) ? lines.finish() : null
  for (;;) {
    at = lines.copyValue(at, { isAlone: false })
    if (at < 0) return null
    lines.endLine()
    if (body[at] === closeBracket) return isBlank(body, at + 1) ? lines.finish() : null
    at += 1
  }
}

/** Copies values, their line breaks made spaces: outside of strings these mean the same, inside there are none. */
class LineCopy {
  readonly #source: Uint8Array
  // Each element ends at a comma or a bracket, whose place its line feed takes; a lone object may need one byte more.
  readonly #target: Uint8Array
  #length = 0

  constructor(source: Uint8Array) {
    this.#source = source
    this.#target = new Uint8Array(source.length + 1)
  }

  /**
   * Copies the value at `start`; gives the offset of the comma or bracket that ends it, or of the byte behind an object
   * that nothing surrounds. -1 when it is empty or does not end.
   */
  copyValue(start: number, { isAlone }: { readonly isAlone: boolean }): number {
    const source = this.#source
    let depth = 0
    let at = start
    let isEmpty = true
    while (at < source.length) {
      const byte = source[at] ?? 0
      if (byte === quote) {
        at = this.#copyString(at)
        if (at < 0) return -1
        isEmpty = false
        continue
      }
      if (depth === 0 && (byte === comma || byte === closeBracket)) return isEmpty ? -1 : at
      if (byte === openBrace || byte === openBracket) depth += 1
      if (byte === closeBrace || byte === closeBracket) depth -= 1
      if (depth < 0) return -1
      if (byte > space) isEmpty = false
      this.#put(byte === lineFeed || byte === carriageReturn ? space : byte)
      at += 1
      if (isAlone && depth === 0) return at
    }
    return -1
  }

  endLine(): void {
    this.#put(lineFeed)
  }

  finish(): Uint8Array {
    return this.#target.subarray(0, this.#length)
  }

  /** Gives the offset behind the closing quote; -1 for a string with a line break, which is none, or without an end. */
  #copyString(start: number): number {
    const source = this.#source
    this.#put(quote)
    for (let at = start + 1; at < source.length; at += 1) {
      const byte = source[at] ?? 0
      if (byte === lineFeed) return -1
      this.#put(byte)
      if (byte === quote) return at + 1
      if (byte === backslash) {
        at += 1
        if (at >= source.length || source[at] === lineFeed) return -1
        this.#put(source[at] ?? 0)
      }
    }
    return -1
  }

  #put(byte: number): void {
    this.#target[this.#length] = byte
    this.#length += 1
  }
}

/** Behind a byte order mark and blanks. */
function firstByteOf(body: Uint8Array): number {
  const hasMark = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf
  return skipBlanks(body, hasMark ? 3 : 0)
}

function isBlank(body: Uint8Array, from: number): boolean {
  return skipBlanks(body, from) === body.length
}

function skipBlanks(body: Uint8Array, from: number): number {
  let at = from
  while (at < body.length && isBlankByte(body[at] ?? 0)) at += 1
  return at
}

function isBlankByte(byte: number): boolean {
  return byte === space || byte === lineFeed || byte === carriageReturn || byte === 0x09
}
