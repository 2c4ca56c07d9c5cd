/**
 * Where CSV records end, by the grammar of `csv-cells.ts`: a line feed ends a record unless it stands in a quoted field,
 * and a field is quoted only when its first byte is a quote, blanks before it passed over.
 *
 * This runs on the thread that reads the sockets: 16 bytes at a time, stopping at quotes alone.
 */
import { byteCountOf, maskOf } from './csv'

const lineFeed: u8 = 0x0a
const quote: u8 = 0x22
const blank: u8 = 0x20

/** What is known behind the bytes seen so far, as bits; among them how many bytes of a delimiter stand at the end. */
const isQuotedBit: i32 = 1
const isEscapePendingBit: i32 = 2
const isBehindClosingQuoteBit: i32 = 4
const isBehindLineFeedBit: i32 = 8
const delimiterShift: i32 = 4
const delimiterCountMask: i32 = 7
/** Behind the beginning of a field and blanks, or none. */
const isFieldStartBit: i32 = 128

let state: i32 = 0
let isQuoted: bool = false
/** The address behind the last closing quote: another quote there opens the field again, as one doubled quote. */
let behindClosed: usize = 0
/** Nothing before this address counts: it is escaped. */
let escapedEnd: usize = 0
let lastRecordEnd: i32 = -1
/** Where the bytes begin, and the bits of those before them. */
let begin: usize = 0
let stateBefore: i32 = 0
/** The delimiter's bytes as a little-endian word. */
let delimiter: u32 = 0
let delimiterBytes: usize = 0
let escapeByte: u8 = 0

/** The state behind the bytes that `advanceCsv` went over last. */
export function csvState(): i32 {
  return state
}

/** The state at the beginning of a body: as if behind a record. */
export function initialCsvState(): i32 {
  return isBehindLineFeedBit | isFieldStartBit
}

/**
 * Turns to a body's dialect. `delimiterWord` holds the bytes of the delimiter, little-endian; `mark` is the escape, or the
 * quote where quotes are only doubled.
 */
export function openCsvBoundary(delimiterWord: u32, mark: u8): void {
  delimiter = delimiterWord
  delimiterBytes = byteCountOf(delimiterWord)
  escapeByte = mark
}

/**
 * Goes over the bytes from `start` to `end`, which follow on those that left `before` as their state.
 * Gives the number of bytes up to and with the last record's end, or -1 when none ends there.
 */
export function advanceCsv(start: usize, end: usize, before: i32): i32 {
  if (start === end) return -1
  isQuoted = (before & isQuotedBit) !== 0
  escapedEnd = (before & isEscapePendingBit) !== 0 ? start + 1 : start
  behindClosed = (before & isBehindClosingQuoteBit) !== 0 ? start : 0
  lastRecordEnd = -1
  begin = start
  stateBefore = before
  for (let block = start; block < end; block += 16) {
    const bytes = v128.load(block)
    const known: i32 = end - block >= 16 ? 0xffff : (1 << ((end - block) as i32)) - 1
    const isMark = v128.or(i8x16.eq(bytes, i8x16.splat(quote)), i8x16.eq(bytes, i8x16.splat(escapeByte)))
    let markBits = i8x16.bitmask(isMark) & known
    const lineFeeds = i8x16.bitmask(i8x16.eq(bytes, i8x16.splat(lineFeed))) & known
    let bareBits: i32 = isQuoted ? 0 : 0xffff
    while (markBits !== 0) {
      const bit = ctz(markBits)
      markBits &= markBits - 1
      const at = block + (bit as usize)
      if (at < escapedEnd) continue
      if (isQuoted) {
        if (load<u8>(at) !== quote) {
          escapedEnd = at + 2
          continue
        }
        isQuoted = false
        behindClosed = at + 1
        bareBits |= -1 << bit
      } else if (load<u8>(at) === quote) {
        if (at !== behindClosed && !isFieldStart(at)) continue
        isQuoted = true
        bareBits &= (1 << bit) - 1
      }
    }
    const ends = lineFeeds & bareBits
    if (ends !== 0) lastRecordEnd = ((block - start) as i32) + 32 - clz(ends)
  }
  state =
    (isQuoted ? isQuotedBit : 0) |
    (escapedEnd > end ? isEscapePendingBit : 0) |
    (behindClosed === end ? isBehindClosingQuoteBit : 0) |
    (isBehindLineFeed(end) ? isBehindLineFeedBit : 0) |
    ((delimiterBytesBefore(end) as i32) << delimiterShift) |
    (!isQuoted && isFieldStart(end) ? isFieldStartBit : 0)
  return lastRecordEnd
}

function isFieldStart(at: usize): bool {
  let before = at
  if (delimiter !== (blank as u32)) while (before > begin && load<u8>(before - 1) === blank) before -= 1
  if (before === begin) return (stateBefore & isFieldStartBit) !== 0
  return isBehindLineFeed(before) || delimiterBytesBefore(before) === delimiterBytes
}

function isBehindLineFeed(at: usize): bool {
  return at > begin ? load<u8>(at - 1) === lineFeed : (stateBefore & isBehindLineFeedBit) !== 0
}

/**
 * How many of the delimiter's first bytes stand before `at`: all of them behind a delimiter, fewer where the bytes so far end
 * in one. A character never begins inside another, so there are not two answers.
 */
function delimiterBytesBefore(at: usize): usize {
  for (let count = delimiterBytes; count > 0; count -= 1) {
    const own = min(count, at - begin)
    const carried = count - own
    if (carried !== 0 && carried !== (((stateBefore >> delimiterShift) & delimiterCountMask) as usize)) continue
    const wanted = delimiter >> ((carried as u32) << 3)
    if (own === 0 || ((load<u32>(at - own) ^ wanted) & maskOf(own)) === 0) return count
  }
  return 0
}
