import { Column } from './layout'

const minus: u8 = 0x2d

/** A UUID of 36 characters in either case, as 16 bytes; gives the address behind it, or 0. */
export function readUuid(at: usize, column: Column, index: i32): usize {
  if (load<u8>(at + 8) !== minus || load<u8>(at + 13) !== minus) return 0
  if (load<u8>(at + 18) !== minus || load<u8>(at + 23) !== minus) return 0
  const head = v128.load(at)
  const tail = v128.load(at + 16)
  // The 16 digits of the first three groups, then those of the last two: 8 + 4 + 4 of bytes 0 to 17, 4 + 12 of 19 to 35.
  const first = i8x16.shuffle(head, tail, 0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 14, 15, 16, 17)
  const rest = v128.load(at + 20)
  const last = i8x16.shuffle(tail, rest, 3, 4, 5, 6, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31)
  if (!areHexDigits(first) || !areHexDigits(last)) return 0
  const bytes = i8x16.narrow_i16x8_u(pairsOf(nibblesOf(first)), pairsOf(nibblesOf(last)))
  v128.store(column.values + ((index as usize) << 4), bytes)
  return at + 36
}

function areHexDigits(digits: v128): bool {
  const isDigit = i8x16.lt_u(i8x16.sub(digits, i8x16.splat(0x30)), i8x16.splat(10))
  const letters = v128.or(digits, i8x16.splat(0x20))
  const isLetter = i8x16.lt_u(i8x16.sub(letters, i8x16.splat(0x61)), i8x16.splat(6))
  return i8x16.all_true(v128.or(isDigit, isLetter))
}

/** The values of hexadecimal digits: a letter's low four bits count from 1, a digit's are its value. */
function nibblesOf(digits: v128): v128 {
  const isLetter = i8x16.gt_u(digits, i8x16.splat(0x39))
  const low = v128.and(digits, i8x16.splat(0x0f))
  return i8x16.add(low, v128.and(isLetter, i8x16.splat(9)))
}

/** Sixteen nibbles as eight bytes, each in 16 bits: the even nibble is the high one. */
function pairsOf(nibbles: v128): v128 {
  const high = i16x8.shl(v128.and(nibbles, i16x8.splat(0x00ff)), 4)
  const low = i16x8.shr_u(nibbles, 8)
  return v128.or(high, low)
}
