/** An array of JSON objects as NDJSON: each element becomes a line while the body streams in. */
import { errors } from '../shared/errors.ts'

const bracket = { open: 0x5b, close: 0x5d }
const brace = { open: 0x7b, close: 0x7d }
const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const lineFeed = 0x0a
const space = 0x20

/** A body that begins with an array of objects, as the lines of its elements; every other body as it is. */
export async function* elementLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const elements = new JsonElements()
  let head: Uint8Array = new Uint8Array(0)
  let isArray: boolean | null = null
  for await (const next of chunks) {
    let chunk = next
    if (isArray === null) {
      chunk = head.length === 0 ? next : Buffer.concat([head, next])
      isArray = beginsAsArray(chunk)
      head = chunk
    }
    if (isArray === null) continue
    yield isArray ? elements.push(chunk) : chunk
  }
  if (isArray === true) elements.end()
  // An array of nothing has no elements.
  if (isArray === null && head.length > 0 && !head.includes(bracket.close)) yield head
}

/** Null while there is nothing but blanks, or brackets without anything in them. */
function beginsAsArray(bytes: Uint8Array): boolean | null {
  let hasBracket = false
  let isClosed = false
  const mark = Buffer.from([0xef, 0xbb, 0xbf])
  const hasMark = mark.equals(bytes.subarray(0, mark.length))
  if (bytes.length < mark.length && mark.subarray(0, bytes.length).equals(bytes)) return null
  for (let at = hasMark ? mark.length : 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0
    if (isBlank(byte)) continue
    if (byte === bracket.open && !hasBracket) hasBracket = true
    else if (byte === bracket.close && hasBracket && !isClosed) isClosed = true
    else return !isClosed && hasBracket && byte === brace.open
  }
  // Blanks without an end are no array that anybody sends.
  return bytes.length > blanksMax ? false : null
}

const blanksMax = 64 * 1024
/** No byte. */
const nothing = -1

function isBlank(byte: number): boolean {
  return byte === space || byte === lineFeed || byte === 0x0d || byte === 0x09
}

/** Cuts an array into its elements, wherever the chunks are cut. It judges none of them: the scanner of records does. */
export class JsonElements {
  private depth = 0
  private isInString = false
  private isEscaped = false
  private isClosed = false
  private hasElement = false

  /** The elements in `chunk` with a line feed behind each; the array's own brackets and commas are left out. */
  push(chunk: Uint8Array): Uint8Array {
    // No byte becomes more than one: a comma, or the bracket at the end, is the line feed behind an element.
    const lines = Buffer.allocUnsafe(chunk.length)
    let end = 0
    for (const byte of chunk) {
      const kept = this.keep(byte)
      if (kept !== nothing) {
        lines[end] = kept
        end += 1
      }
    }
    return lines.subarray(0, end)
  }

  /** @throws BODY_CORRUPT (400) when the array has no end: what came of it is taken by then. */
  end(): void {
    if (!this.isClosed) throw errors.BODY_CORRUPT({ format: 'JSON', reason: 'its array does not end' })
  }

  /** What becomes of a byte: itself, a blank, a line feed, or nothing. */
  private keep(byte: number): number {
    if (this.isInString) return this.keepOfString(byte)
    if (this.depth === 0) return this.open(byte)
    if (byte === quote) this.isInString = true
    // Element by element: what stands in the array itself is what is between them.
    if (this.depth === 1 && byte === comma) return this.endElement()
    if (byte === bracket.open || byte === brace.open) this.depth += 1
    if (byte === bracket.close || byte === brace.close) this.depth -= 1
    if (this.depth === 0) {
      this.isClosed = true
      return this.endElement()
    }
    if (isBlank(byte)) return this.hasElement ? space : nothing
    this.hasElement = true
    return byte
  }

  private keepOfString(byte: number): number {
    this.hasElement = true
    if (this.isEscaped) this.isEscaped = false
    else if (byte === backslash) this.isEscaped = true
    else if (byte === quote) this.isInString = false
    // Not JSON, and a fault of this element alone.
    return byte === lineFeed ? 0x0d : byte
  }

  /** Outside of the array: its beginning, and blanks. */
  private open(byte: number): number {
    if (byte === bracket.open && !this.isClosed) {
      this.depth = 1
      return nothing
    }
    if (this.isClosed && !isBlank(byte)) {
      throw errors.BODY_CORRUPT({ format: 'JSON', reason: 'something stands behind its array' })
    }
    return nothing
  }

  private endElement(): number {
    const { hasElement } = this
    this.hasElement = false
    return hasElement ? lineFeed : nothing
  }
}
