/**
 * Where CSV records end, by the grammar of `csv-cells.ts`: a line feed ends a record unless it stands in a quoted field,
 * and a field is quoted only when its first byte is a quote.
 *
 * This runs on the thread that reads the sockets: 16 bytes at a time, stopping at quotes alone.
 */

const lineFeed: u8 = 0x0a
const quote: u8 = 0x22

/** What is known behind the bytes seen so far, as bits; the byte before stands in the second byte. */
const isQuotedBit: i32 = 1
const isEscapePendingBit: i32 = 2
const isBehindClosingQuoteBit: i32 = 4

let state: i32 = 0
let isQuoted: bool = false
/** The address behind the last closing quote: another quote there opens the field again, as one doubled quote. */
let behindClosed: usize = 0
/** Nothing before this address counts: it is escaped. */
let escapedEnd: usize = 0
let lastRecordEnd: i32 = -1

/** The state behind the bytes that `advanceCsv` went over last. */
export function csvState(): i32 {
  return state
}

/** The state at the beginning of a body: as if behind a record. */
export function initialCsvState(): i32 {
  return (lineFeed as i32) << 8
}

/**
 * Goes over the bytes from `start` to `end`, which follow on those that left `before` as their state.
 * `marks` is the delimiter, and in its second byte the escape, which is the quote where quotes are only doubled.
 * Gives the number of bytes up to and with the last record's end, or -1 when none ends there.
 */
export function advanceCsv(start: usize, end: usize, marks: i32, before: i32): i32 {
  if (start === end) return -1
  isQuoted = (before & isQuotedBit) !== 0
  escapedEnd = (before & isEscapePendingBit) !== 0 ? start + 1 : start
  behindClosed = (before & isBehindClosingQuoteBit) !== 0 ? start : 0
  lastRecordEnd = -1
  const byteBefore = (before >> 8) as u8
  const delimiter = marks as u8
  const escapeByte = (marks >> 8) as u8
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
        const previous = at > start ? load<u8>(at - 1) : byteBefore
        if (at !== behindClosed && previous !== delimiter && previous !== lineFeed) continue
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
    ((load<u8>(end - 1) as i32) << 8)
  return lastRecordEnd
}
