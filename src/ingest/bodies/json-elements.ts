/** An array of JSON objects as NDJSON: each element becomes a line while the body streams in. */
import { errors } from '../../shared/errors/errors.ts'

const bracket = { open: 0x5b, close: 0x5d }
const brace = { open: 0x7b, close: 0x7d }
const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const lineFeed = 0x0a
const space = 0x20

/**
 * A body that begins with an array of objects, as the lines of its elements; every other body as it is.
 *
 * What stands behind the array is refused within the first `strictBytes`, which are held until then: nothing of such a body is
 * taken, however it is packed. Further behind, it is lines like any others.
 */
export async function* elementLines(
  chunks: AsyncIterable<Uint8Array>,
  strictBytes: number,
): AsyncGenerator<Uint8Array> {
  const lines = new ArrayLines(strictBytes)
  let head: Uint8Array = new Uint8Array(0)
  let isArray: boolean | null = null
  try {
    for await (const next of chunks) {
      let chunk = next
      if (isArray === null) {
        chunk = head.length === 0 ? next : Buffer.concat([head, next])
        isArray = beginsAsArray(chunk)
        head = chunk
      }
      if (isArray === null) continue
      if (!isArray) yield chunk
      else yield* lines.push(chunk)
    }
  } catch (error) {
    // What came before the body broke off is taken.
    yield* lines.held()
    throw error
  }
  yield* lines.held()
  if (isArray === true) lines.end()
  // An array of nothing has no elements.
  if (isArray === null && head.length > 0 && !head.includes(bracket.close)) yield head
}

/** The lines of an array, the first of them together. */
class ArrayLines {
  readonly #elements = new JsonElements()
  readonly #first: Uint8Array[] = []
  #strictLeft: number

  constructor(strictBytes: number) {
    this.#strictLeft = strictBytes
  }

  *push(chunk: Uint8Array): Generator<Uint8Array> {
    const elements = this.#elements
    const first = this.#first
    const strictLeft = this.#strictLeft
    if (strictLeft === 0) {
      yield elements.push(chunk)
      return
    }
    const lines = elements.push(chunk.subarray(0, strictLeft))
    if (elements.hasMoreBehind) {
      first.length = 0
      throw errors.BODY_CORRUPT({ format: 'JSON', reason: 'something follows its array' })
    }
    first.push(lines)
    this.#strictLeft = Math.max(0, strictLeft - chunk.length)
    if (this.#strictLeft > 0) return
    yield* this.held()
    yield elements.push(chunk.subarray(strictLeft))
  }

  /** What was held back, once. */
  *held(): Generator<Uint8Array> {
    const pieces = this.#first.splice(0)
    if (pieces.length > 0) yield Buffer.concat(pieces)
  }

  end(): void {
    this.#elements.end()
  }
}

/** Null while there is nothing but blanks, or brackets without anything in them. */
export function beginsAsArray(bytes: Uint8Array): boolean | null {
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
class JsonElements {
  #depth = 0
  #isInString = false
  #isEscaped = false
  #isClosed = false
  #hasElement = false
  /** Whether anything stands behind the array; it is given as it is. */
  hasMoreBehind = false

  /** The elements in `chunk` with a line feed behind each; the array's own brackets and commas are left out. */
  push(chunk: Uint8Array): Uint8Array {
    // No byte becomes more than one: a comma, or the bracket at the end, is the line feed behind an element.
    const lines = Buffer.allocUnsafe(chunk.length)
    let end = 0
    for (const byte of chunk) {
      const kept = this.#keep(byte)
      if (kept !== nothing) {
        lines[end] = kept
        end += 1
      }
    }
    return lines.subarray(0, end)
  }

  /** @throws BODY_CORRUPT (400) when the array has no end: what came of it is taken by then. */
  end(): void {
    if (!this.#isClosed) throw errors.BODY_CORRUPT({ format: 'JSON', reason: 'its array does not end' })
  }

  /** What becomes of a byte: itself, a blank, a line feed, or nothing. */
  #keep(byte: number): number {
    if (this.#isInString) return this.#keepOfString(byte)
    if (this.#depth === 0) return this.#open(byte)
    if (byte === quote) this.#isInString = true
    // Element by element: what stands in the array itself is what is between them.
    if (this.#depth === 1 && byte === comma) return this.#endElement()
    if (byte === bracket.open || byte === brace.open) this.#depth += 1
    if (byte === bracket.close || byte === brace.close) this.#depth -= 1
    if (this.#depth === 0) {
      this.#isClosed = true
      return this.#endElement()
    }
    if (isBlank(byte)) return this.#hasElement ? space : nothing
    this.#hasElement = true
    return byte
  }

  #keepOfString(byte: number): number {
    this.#hasElement = true
    if (this.#isEscaped) this.#isEscaped = false
    else if (byte === backslash) this.#isEscaped = true
    else if (byte === quote) this.#isInString = false
    // Not JSON, and a fault of this element alone.
    return byte === lineFeed ? 0x0d : byte
  }

  /** Outside of the array: its beginning, blanks, and what stands behind it. */
  #open(byte: number): number {
    if (this.hasMoreBehind) return byte
    if (byte === bracket.open && !this.#isClosed) {
      this.#depth = 1
      return nothing
    }
    if (!this.#isClosed || isBlank(byte)) return nothing
    this.hasMoreBehind = true
    return byte
  }

  #endElement(): number {
    const hasElement = this.#hasElement
    this.#hasElement = false
    return hasElement ? lineFeed : nothing
  }
}
