/**
 * JSON's grammar on bytes: where a value ends, and what an escaped string says.
 *
 * All of these stop on a line feed, which no JSON text on one line can hold, so they need no end of input: a frame ends in
 * a line feed. They accept exactly what RFC 8259 does (the tests compare with `JSON.parse`). Each gives the address behind
 * what it has read, or 0.
 */

/** Objects and arrays within one another; what lies deeper is left to the exact reader, whose limit is higher. */
const depthMax: i32 = 400

const quote: u8 = 0x22
const backslash: u8 = 0x5c
const zero: u8 = 0x30

/** The first address from `at` on that is no blank; a line feed is none, for it ends the record. */
export function skipBlanks(at: usize): usize {
  let offset = at
  let byte = load<u8>(offset)
  while (byte === 0x20 || byte === 0x09 || byte === 0x0d) {
    offset += 1
    byte = load<u8>(offset)
  }
  return offset
}

/**
 * Bits of the 16 bytes at `at` that end a plain stretch of a string: quotes, backslashes and control characters.
 * Reads 16 bytes, wherever the string ends.
 */
export function stringMarks(bytes: v128): i32 {
  const marks = v128.or(
    i8x16.eq(bytes, i8x16.splat(quote)),
    v128.or(i8x16.eq(bytes, i8x16.splat(backslash)), i8x16.lt_u(bytes, i8x16.splat(0x20))),
  )
  return i8x16.bitmask(marks)
}

/** The address of the quote that closes a key, or 0 when the key is escaped or not closed. */
export function closingQuote(at: usize): usize {
  let offset = at
  while (true) {
    const marks = stringMarks(v128.load(offset))
    if (marks !== 0) {
      offset += ctz(marks)
      return load<u8>(offset) === quote ? offset : 0
    }
    offset += 16
  }
}

/** The address behind the value that begins at `at`. */
export function skipValue(at: usize): usize {
  return skipNested(at, 0)
}

function skipNested(at: usize, depth: i32): usize {
  switch (load<u8>(at)) {
    case quote:
      return skipString(at + 1)
    case 0x7b:
      return skipObject(at + 1, depth + 1)
    case 0x5b:
      return skipArray(at + 1, depth + 1)
    case 0x74:
      return isTrue(at) ? at + 4 : 0
    case 0x66:
      return isFalse(at) ? at + 5 : 0
    case 0x6e:
      return isNull(at) ? at + 4 : 0
    default:
      return skipNumber(at)
  }
}

export function isTrue(at: usize): bool {
  return load<u32>(at) === 0x65757274
}

export function isFalse(at: usize): bool {
  return load<u32>(at) === 0x736c6166 && load<u8>(at + 4) === 0x65
}

export function isNull(at: usize): bool {
  return load<u32>(at) === 0x6c6c756e
}

/** Goes on behind the opening quote. */
function skipString(at: usize): usize {
  let offset = at
  while (true) {
    const marks = stringMarks(v128.load(offset))
    if (marks === 0) {
      offset += 16
      continue
    }
    offset += ctz(marks)
    const byte = load<u8>(offset)
    if (byte === quote) return offset + 1
    if (byte !== backslash) return 0
    const length = escapeLength(offset)
    if (length === 0) return 0
    offset += length
  }
}

/** How many bytes the escape at `at` takes, or 0 when it is none of JSON's. */
function escapeLength(at: usize): i32 {
  switch (load<u8>(at + 1)) {
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
      return hexUnit(at + 2) < 0 ? 0 : 6
    default:
      return 0
  }
}

function skipObject(at: usize, depth: i32): usize {
  if (depth > depthMax) return 0
  let offset = skipBlanks(at)
  if (load<u8>(offset) === 0x7d) return offset + 1
  while (true) {
    if (load<u8>(offset) !== quote) return 0
    offset = skipString(offset + 1)
    if (offset === 0) return 0
    offset = skipBlanks(offset)
    if (load<u8>(offset) !== 0x3a) return 0
    offset = skipNested(skipBlanks(offset + 1), depth)
    if (offset === 0) return 0
    offset = skipBlanks(offset)
    if (load<u8>(offset) === 0x2c) offset = skipBlanks(offset + 1)
    else return load<u8>(offset) === 0x7d ? offset + 1 : 0
  }
}

function skipArray(at: usize, depth: i32): usize {
  if (depth > depthMax) return 0
  let offset = skipBlanks(at)
  if (load<u8>(offset) === 0x5d) return offset + 1
  while (true) {
    offset = skipNested(offset, depth)
    if (offset === 0) return 0
    offset = skipBlanks(offset)
    if (load<u8>(offset) === 0x2c) offset = skipBlanks(offset + 1)
    else return load<u8>(offset) === 0x5d ? offset + 1 : 0
  }
}

function skipNumber(at: usize): usize {
  let offset = load<u8>(at) === 0x2d ? at + 1 : at
  const digitsEnd = skipDigits(offset)
  if (digitsEnd === offset || (load<u8>(offset) === zero && digitsEnd > offset + 1)) return 0
  offset = digitsEnd
  if (load<u8>(offset) === 0x2e) {
    const fractionEnd = skipDigits(offset + 1)
    if (fractionEnd === offset + 1) return 0
    offset = fractionEnd
  }
  if ((load<u8>(offset) | 0x20) === 0x65) {
    const sign = load<u8>(offset + 1)
    const first = sign === 0x2b || sign === 0x2d ? offset + 2 : offset + 1
    const exponentEnd = skipDigits(first)
    if (exponentEnd === first) return 0
    offset = exponentEnd
  }
  return offset
}

function skipDigits(at: usize): usize {
  let offset = at
  while (((load<u8>(offset) - zero) as u8) <= 9) offset += 1
  return offset
}

/** Four hexadecimal digits as a UTF-16 unit, or -1. */
function hexUnit(at: usize): i32 {
  let unit: i32 = 0
  for (let offset = at; offset < at + 4; offset += 1) {
    const byte = load<u8>(offset) as i32
    const letter = byte | 0x20
    if (byte >= 0x30 && byte <= 0x39) unit = unit * 16 + byte - 0x30
    else if (letter >= 0x61 && letter <= 0x66) unit = unit * 16 + letter - 0x57
    else return -1
  }
  return unit
}

/** What the letter of a two-byte escape stands for. */
function escapedByte(letter: u8): u8 {
  switch (letter) {
    case 0x62:
      return 0x08
    case 0x66:
      return 0x0c
    case 0x6e:
      return 0x0a
    case 0x72:
      return 0x0d
    case 0x74:
      return 0x09
    default:
      return letter
  }
}

/**
 * Writes the meaning of a string's inside (`start` to `end`) as UTF-8 to `target` and gives the end. A lone surrogate becomes
 * U+FFFD. Precondition: the string is sound, and `target` has room for the string's own length.
 */
export function unescapeInto(target: usize, start: usize, end: usize): usize {
  let to = target
  let offset = start
  while (offset < end) {
    const byte = load<u8>(offset)
    if (byte !== backslash) {
      store<u8>(to, byte)
      to += 1
      offset += 1
      continue
    }
    const letter = load<u8>(offset + 1)
    if (letter !== 0x75) {
      store<u8>(to, escapedByte(letter))
      to += 1
      offset += 2
      continue
    }
    const unit = hexUnit(offset + 2)
    offset += 6
    const isHigh = unit >= 0xd800 && unit <= 0xdbff
    if (isHigh && load<u8>(offset) === backslash && load<u8>(offset + 1) === 0x75) {
      const low = hexUnit(offset + 2)
      if (low >= 0xdc00 && low <= 0xdfff) {
        to = writeCodePoint(to, 0x10000 + (unit - 0xd800) * 0x400 + low - 0xdc00)
        offset += 6
        continue
      }
    }
    to = writeCodePoint(to, unit >= 0xd800 && unit <= 0xdfff ? 0xfffd : unit)
  }
  return to
}

function writeCodePoint(at: usize, point: i32): usize {
  if (point < 0x80) {
    store<u8>(at, point as u8)
    return at + 1
  }
  if (point < 0x800) {
    store<u8>(at, (0xc0 | (point >> 6)) as u8)
    store<u8>(at + 1, (0x80 | (point & 0x3f)) as u8)
    return at + 2
  }
  if (point < 0x10000) {
    store<u8>(at, (0xe0 | (point >> 12)) as u8)
    store<u8>(at + 1, (0x80 | ((point >> 6) & 0x3f)) as u8)
    store<u8>(at + 2, (0x80 | (point & 0x3f)) as u8)
    return at + 3
  }
  store<u8>(at, (0xf0 | (point >> 18)) as u8)
  store<u8>(at + 1, (0x80 | ((point >> 12) & 0x3f)) as u8)
  store<u8>(at + 2, (0x80 | ((point >> 6) & 0x3f)) as u8)
  store<u8>(at + 3, (0x80 | (point & 0x3f)) as u8)
  return at + 4
}
