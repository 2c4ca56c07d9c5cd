/**
 * JSON's grammar on bytes: where a value ends, and what an escaped string says.
 *
 * All of these stop on a line feed, which no JSON text on one line can hold, so they need no end of input: a frame ends in
 * a line feed. They accept exactly what RFC 8259 does (the tests compare with `JSON.parse`).
 */
export const lineFeed = 0x0a

/** Objects and arrays within one another; what lies deeper is left to the exact reader, whose limit is higher. */
const depthMax = 400

const quote = 0x22
const backslash = 0x5c
const zero = 0x30

/** The first offset from `at` on that is no blank; a line feed is none, for it ends the record. */
export function skipBlanks(source: Uint8Array, at: number): number {
  let offset = at
  let byte = source[offset] as number
  while (byte === 0x20 || byte === 0x09 || byte === 0x0d) {
    offset += 1
    byte = source[offset] as number
  }
  return offset
}

/** The offset of the quote that closes a key, or -1 when the key is escaped or not closed. */
export function closingQuote(source: Uint8Array, at: number): number {
  let offset = at
  for (;;) {
    const byte = source[offset] as number
    if (byte === quote) return offset
    if (byte === backslash || byte < 0x20) return -1
    offset += 1
  }
}

/** The offset behind the value that begins at `at`, or -1 when no sound value begins there. */
export function skipValue(source: Uint8Array, at: number, depth = 0): number {
  switch (source[at]) {
    case quote:
      return skipString(source, at + 1)
    case 0x7b:
      return skipObject(source, at + 1, depth + 1)
    case 0x5b:
      return skipArray(source, at + 1, depth + 1)
    case 0x74:
      return source[at + 1] === 0x72 && source[at + 2] === 0x75 && source[at + 3] === 0x65 ? at + 4 : -1
    case 0x66:
      return source[at + 1] === 0x61 && source[at + 2] === 0x6c && source[at + 3] === 0x73 && source[at + 4] === 0x65
        ? at + 5
        : -1
    case 0x6e:
      return source[at + 1] === 0x75 && source[at + 2] === 0x6c && source[at + 3] === 0x6c ? at + 4 : -1
    default:
      return skipNumber(source, at)
  }
}

function skipString(source: Uint8Array, at: number): number {
  let offset = at
  for (;;) {
    const byte = source[offset] as number
    if (byte === quote) return offset + 1
    if (byte < 0x20) return -1
    if (byte === backslash) {
      const length = escapeLength(source, offset)
      if (length < 0) return -1
      offset += length
    } else {
      offset += 1
    }
  }
}

/** How many bytes the escape at `at` takes, or -1 when it is none of JSON's. */
function escapeLength(source: Uint8Array, at: number): number {
  switch (source[at + 1]) {
    case 0x22:
    case 0x2f:
    case 0x5c:
    case 0x62:
    case 0x66:
    case 0x6e:
    case 0x72:
    case 0x74:
      return 2
    case 0x75:
      return hexUnit(source, at + 2) < 0 ? -1 : 6
    default:
      return -1
  }
}

function skipObject(source: Uint8Array, at: number, depth: number): number {
  if (depth > depthMax) return -1
  let offset = skipBlanks(source, at)
  if (source[offset] === 0x7d) return offset + 1
  for (;;) {
    if (source[offset] !== quote) return -1
    offset = skipString(source, offset + 1)
    if (offset < 0) return -1
    offset = skipBlanks(source, offset)
    if (source[offset] !== 0x3a) return -1
    offset = skipValue(source, skipBlanks(source, offset + 1), depth)
    if (offset < 0) return -1
    offset = skipBlanks(source, offset)
    if (source[offset] === 0x2c) offset = skipBlanks(source, offset + 1)
    else return source[offset] === 0x7d ? offset + 1 : -1
  }
}

function skipArray(source: Uint8Array, at: number, depth: number): number {
  if (depth > depthMax) return -1
  let offset = skipBlanks(source, at)
  if (source[offset] === 0x5d) return offset + 1
  for (;;) {
    offset = skipValue(source, offset, depth)
    if (offset < 0) return -1
    offset = skipBlanks(source, offset)
    if (source[offset] === 0x2c) offset = skipBlanks(source, offset + 1)
    else return source[offset] === 0x5d ? offset + 1 : -1
  }
}

function skipNumber(source: Uint8Array, at: number): number {
  let offset = source[at] === 0x2d ? at + 1 : at
  const digitsEnd = skipDigits(source, offset)
  if (digitsEnd === offset || (source[offset] === zero && digitsEnd > offset + 1)) return -1
  offset = digitsEnd
  if (source[offset] === 0x2e) {
    const fractionEnd = skipDigits(source, offset + 1)
    if (fractionEnd === offset + 1) return -1
    offset = fractionEnd
  }
  if (source[offset] === 0x65 || source[offset] === 0x45) {
    const sign = source[offset + 1]
    const first = sign === 0x2b || sign === 0x2d ? offset + 2 : offset + 1
    const exponentEnd = skipDigits(source, first)
    if (exponentEnd === first) return -1
    offset = exponentEnd
  }
  return offset
}

function skipDigits(source: Uint8Array, at: number): number {
  let offset = at
  let digit = (source[offset] as number) - zero
  while (digit >= 0 && digit <= 9) {
    offset += 1
    digit = (source[offset] as number) - zero
  }
  return offset
}

/** Four hexadecimal digits as a UTF-16 unit, or -1. */
function hexUnit(source: Uint8Array, at: number): number {
  let unit = 0
  for (let offset = at; offset < at + 4; offset += 1) {
    const byte = source[offset] as number
    const letter = byte | 0x20
    if (byte >= zero && byte <= 0x39) unit = unit * 16 + byte - zero
    else if (letter >= 0x61 && letter <= 0x66) unit = unit * 16 + letter - 0x57
    else return -1
  }
  return unit
}

/** What the letter of a two-byte escape stands for, by the letter. */
const escapedBytes = new Map([
  [0x62, 0x08],
  [0x66, 0x0c],
  [0x6e, 0x0a],
  [0x72, 0x0d],
  [0x74, 0x09],
])

/**
 * Writes the meaning of a string's inside as UTF-8 to `target` from `at` on and gives the end. A lone surrogate becomes U+FFFD.
 * Precondition: the string is sound, and `target` has room for the string's own length.
 */
export function unescapeInto(
  target: Uint8Array,
  at: number,
  source: Uint8Array,
  range: { readonly start: number; readonly end: number },
): number {
  let to = at
  let offset = range.start
  while (offset < range.end) {
    const byte = source[offset] as number
    if (byte !== backslash) {
      target[to] = byte
      to += 1
      offset += 1
      continue
    }
    const letter = source[offset + 1] as number
    if (letter !== 0x75) {
      target[to] = escapedBytes.get(letter) ?? letter
      to += 1
      offset += 2
      continue
    }
    const unit = hexUnit(source, offset + 2)
    offset += 6
    const isHigh = unit >= 0xd800 && unit <= 0xdbff
    if (isHigh && source[offset] === backslash && source[offset + 1] === 0x75) {
      const low = hexUnit(source, offset + 2)
      if (low >= 0xdc00 && low <= 0xdfff) {
        to = writeCodePoint(target, to, 0x10000 + (unit - 0xd800) * 0x400 + low - 0xdc00)
        offset += 6
        continue
      }
    }
    to = writeCodePoint(target, to, unit >= 0xd800 && unit <= 0xdfff ? 0xfffd : unit)
  }
  return to
}

function writeCodePoint(target: Uint8Array, at: number, point: number): number {
  if (point < 0x80) {
    target[at] = point
    return at + 1
  }
  if (point < 0x800) {
    target[at] = 0xc0 | (point >> 6)
    target[at + 1] = 0x80 | (point & 0x3f)
    return at + 2
  }
  if (point < 0x10000) {
    target[at] = 0xe0 | (point >> 12)
    target[at + 1] = 0x80 | ((point >> 6) & 0x3f)
    target[at + 2] = 0x80 | (point & 0x3f)
    return at + 3
  }
  target[at] = 0xf0 | (point >> 18)
  target[at + 1] = 0x80 | ((point >> 12) & 0x3f)
  target[at + 2] = 0x80 | ((point >> 6) & 0x3f)
  target[at + 3] = 0x80 | (point & 0x3f)
  return at + 4
}
