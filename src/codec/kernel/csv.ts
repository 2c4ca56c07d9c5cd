/**
 * The fast reader of CSV: fields straight into typed columns, by the order that the header gave.
 *
 * As with NDJSON it takes a record in whole or leaves it to the exact path, which alone decides between row, quarantine
 * and invalid line.
 */
import { copyText, endElements, firstElement, roomForText, writeMissing, writeText } from './columns'
import { finishRow, frame, isRecordUtf8, noteAsked, plan } from './frame'
import { growScratch, readCellExactly } from './host'
import { isFalse, isTrue } from './json'
import { readJsonValue } from './json-values'
import { Column, Reader } from './layout'
import { readFloat, readInteger, readInteger64 } from './numbers'
import { isCsvNull, refusalAt, refusesText } from './refusals'
import { readDate, readDateTime, readDateTime64 } from './times'
import { readUuid } from './uuid'

const lineFeed: u8 = 0x0a
const carriageReturn: u8 = 0x0d
const quote: u8 = 0x22
const blank: u8 = 0x20
const singleQuote: u8 = 0x27
const zero: u8 = 0x30
const backslash: u8 = 0x5c

/** Where the frame ends; a quoted field may hold line feeds, so nothing else stops it. */
let limit: usize = 0
/** The bytes of the delimiter as a little-endian word, which bits of one are the delimiter, and how many bytes it has. */
let delimiter: u32 = 0
let delimiterMask: u32 = 0
let delimiterBytes: usize = 0
let escapeByte: u8 = 0
/** Whether the field that `closingQuoteOf` went over has doubled quotes in it. */
let hasDoubledQuotes: bool = false
/** A copy of a list's text: where it lies, and how many bytes it has room for. */
let scratch: usize = 0
let scratchBytes: i32 = 0

/** Reads records from `start` on; gives where it stopped: at `end`, or at a record that is for the exact path. */
export function scanCsvRecords(start: usize, end: usize): usize {
  openCsv(end)
  let offset = start
  while (offset < end) {
    const first = load<u8>(offset)
    if (first === lineFeed || (first === carriageReturn && load<u8>(offset + 1) === lineFeed)) {
      offset += first === lineFeed ? 1 : 2
      continue
    }
    const next = readRecord(offset)
    if (next === 0) return offset
    offset = next
  }
  return end
}

/** Turns to a frame that ends at `end`, with the dialect of the plan. */
export function openCsv(end: usize): void {
  limit = end
  delimiter = plan.delimiter
  delimiterBytes = byteCountOf(delimiter)
  delimiterMask = maskOf(delimiterBytes)
  escapeByte = plan.escape as u8
}

/** How many bytes a character has that is given as a little-endian word. */
export function byteCountOf(character: u32): usize {
  return 4 - ((clz(character) >> 3) as usize)
}

export function maskOf(byteCount: usize): u32 {
  return 0xffffffff >> (32 - ((byteCount as u32) << 3))
}

export function csvLimit(): usize {
  return limit
}

export function wasDoubled(): bool {
  return hasDoubledQuotes
}

/** Gives the address behind the record, or 0 when the record is not to be taken in this way. */
function readRecord(start: usize): usize {
  const fields = plan.fields
  const lastField = plan.fieldCount - 1
  let offset = start
  for (let field: i32 = 0; field <= lastField; field += 1) {
    const column = load<usize>(fields + ((field as usize) << 2))
    offset = column === 0 ? skipField(offset) : readField(changetype<Column>(column), offset)
    if (offset === 0) return 0
    if (field < lastField) {
      if (!isDelimiter(offset)) return 0
      offset += delimiterBytes
    }
  }
  if (load<u8>(offset) === carriageReturn) offset += 1
  if (load<u8>(offset) !== lineFeed || offset >= limit || !isRecordUtf8(start, offset)) return 0
  for (let absent: i32 = 0; absent < plan.absentCount; absent += 1) {
    const column = load<usize>(plan.absents + ((absent as usize) << 2))
    if (!writeMissing(changetype<Column>(column), plan.rowCount)) return 0
  }
  finishRow()
  return offset + 1
}

function readField(column: Column, start: usize): usize {
  const first = load<u8>(start)
  if (first !== quote && isFieldEnd(start)) return writeEmpty(column) ? start : 0
  const end = readFieldFast(column, start, plan.rowCount)
  return end !== 0 && isFieldEnd(end) ? end : readExactly(column, start)
}

/** The field that begins at `start`, unless it is empty; gives the address behind it, or 0 for what it does not know. */
export function readFieldFast(column: Column, start: usize, row: i32): usize {
  const isQuoted = load<u8>(start) === quote
  if (column.reader === Reader.text) {
    if (isQuoted) return readQuotedText(column, start + 1, row)
    const first = load<u8>(start)
    return first === backslash || (first === blank && isQuotedBehindBlanks(start))
      ? 0
      : readBareText(column, start, row)
  }
  if (column.reader === Reader.list) return readList(column, start, row)
  if (!isQuoted) return readBare(column, start, row)
  const end = readBare(column, start + 1, row)
  return end !== 0 && load<u8>(end) === quote ? end + 1 : 0
}

/** A quoted field with blanks before it, which is for the exact path. */
export function isQuotedBehindBlanks(start: usize): bool {
  if (delimiter === (blank as u32)) return false
  let offset = start
  while (load<u8>(offset) === blank) offset += 1
  return offset !== start && load<u8>(offset) === quote
}

function readBare(column: Column, start: usize, row: i32): usize {
  if (plan.hasFastReaders === 0) return 0
  switch (column.reader) {
    case Reader.integer:
      return readInteger(start, column, row)
    case Reader.integer64:
      return readInteger64(start, column, row)
    case Reader.float:
      return readFloat(start, column, row)
    case Reader.dateTime64:
      return readDateTime64(start, column, row)
    case Reader.dateTime:
      return readDateTime(start, column, row)
    case Reader.date:
      return readDate(start, column, row)
    case Reader.uuid:
      return readUuid(start, column, row)
    case Reader.bool:
      return readBool(start, column, row)
    default:
      return 0
  }
}

/** `true`, `false`, `1` and `0`. */
function readBool(at: usize, column: Column, row: i32): usize {
  const first = load<u8>(at)
  const isOne = first === zero + 1
  const value = column.values + ((row as usize) << 2)
  if (isOne || first === zero) {
    store<u32>(value, isOne ? 1 : 0)
    return at + 1
  }
  const isWord = isTrue(at)
  if (!isWord && !isFalse(at)) return 0
  store<u32>(value, isWord ? 1 : 0)
  return at + (isWord ? 4 : 5)
}

function readBareText(column: Column, start: usize, row: i32): usize {
  const end = fieldEnd(start)
  writeText(column, row, start, end)
  return end
}

/** The end of a bare field: a delimiter, a line feed, or a carriage return before one. */
export function fieldEnd(start: usize): usize {
  let offset = start
  while (true) {
    const bytes = v128.load(offset)
    const isEnd = v128.or(i8x16.eq(bytes, i8x16.splat(delimiter as u8)), i8x16.eq(bytes, i8x16.splat(lineFeed)))
    const marks = i8x16.bitmask(v128.or(isEnd, i8x16.eq(bytes, i8x16.splat(carriageReturn))))
    if (marks === 0) {
      offset += 16
      continue
    }
    offset += ctz(marks)
    if (isFieldEnd(offset)) return offset
    offset += 1
  }
}

export function isFieldEnd(at: usize): bool {
  const byte = load<u8>(at)
  return isDelimiter(at) || byte === lineFeed || (byte === carriageReturn && load<u8>(at + 1) === lineFeed)
}

// Behind the frame's last byte is room for a word.
function isDelimiter(at: usize): bool {
  return (load<u32>(at) & delimiterMask) === delimiter
}

/** Where the next field begins, behind one that ends at `at` before a delimiter. */
export function behindDelimiter(at: usize): usize {
  return at + delimiterBytes
}

/** Behind the opening quote; gives the address behind the closing one. */
function readQuotedText(column: Column, start: usize, row: i32): usize {
  const end = closingQuoteOf(start)
  if (end === 0) return 0
  const first = firstElement(column, row)
  const target = roomForText(column, first, (end - start) as i32)
  endElements(column, row, first + (unquoteInto(target, start, end) as i32))
  return end + 1
}

/** The address of the quote that closes a field, or 0 for escapes of another kind and a field that is never closed. */
export function closingQuoteOf(start: usize): usize {
  hasDoubledQuotes = false
  let offset = start
  while (offset < limit) {
    const bytes = v128.load(offset)
    const isMark = v128.or(i8x16.eq(bytes, i8x16.splat(quote)), i8x16.eq(bytes, i8x16.splat(escapeByte)))
    const marks = i8x16.bitmask(isMark)
    if (marks === 0) {
      offset += 16
      continue
    }
    offset += ctz(marks)
    if (offset >= limit || load<u8>(offset) !== quote) return 0
    if (load<u8>(offset + 1) !== quote) return offset
    hasDoubledQuotes = true
    offset += 2
  }
  return 0
}

/** Copies the inside of a quoted field, with one quote for each doubled one; gives the number of bytes. */
function unquoteInto(target: usize, start: usize, end: usize): usize {
  if (!hasDoubledQuotes) {
    copyText(target, start, end - start)
    return end - start
  }
  let to = target
  for (let offset = start; offset < end; offset += 1) {
    const byte = load<u8>(offset)
    store<u8>(to, byte)
    to += 1
    if (byte === quote) offset += 1
  }
  return to - target
}

/** A list stands in its field as text, of JSON or of ClickHouse; it is read out of a copy without the field's quotes. */
function readList(column: Column, start: usize, row: i32): usize {
  const isQuoted = load<u8>(start) === quote
  const inside = isQuoted ? start + 1 : start
  const end = isQuoted ? closingQuoteOf(inside) : fieldEnd(inside)
  if (end === 0) return 0
  if (!isQuoted) hasDoubledQuotes = false
  const needed = ((end - inside) as i32) + 64
  if (needed > scratchBytes) {
    scratch = growScratch(needed)
    scratchBytes = needed
  }
  const byteCount = unquoteInto(scratch, inside, end)
  store<u8>(scratch + byteCount, lineFeed)
  toJsonQuotes(scratch, scratch + byteCount)
  if (readJsonValue(column, scratch, row) !== scratch + byteCount) return 0
  return isQuoted ? end + 1 : end
}

/**
 * Makes `['a', 'b']` to `["a", "b"]`. Where a double quote or a backslash stands too it is not that easy, and nothing is done;
 * what is no JSON afterwards is left to the exact path.
 */
function toJsonQuotes(start: usize, end: usize): void {
  let hasSingle = false
  for (let offset = start; offset < end; offset += 1) {
    const byte = load<u8>(offset)
    if (byte === quote || byte === backslash) return
    if (byte === singleQuote) hasSingle = true
  }
  if (!hasSingle) return
  for (let offset = start; offset < end; offset += 1) if (load<u8>(offset) === singleQuote) store<u8>(offset, quote)
}

function skipField(start: usize): usize {
  if (load<u8>(start) !== quote) return isQuotedBehindBlanks(start) ? 0 : fieldEnd(start)
  const end = closingQuoteOf(start + 1)
  return end !== 0 && isFieldEnd(end + 1) ? end + 1 : 0
}

/** An empty bare field is a missing value; a String takes it as the empty text. */
function writeEmpty(column: Column): bool {
  if (writeMissing(column, plan.rowCount)) return true
  if (column.reader !== Reader.text) return false
  endElements(column, plan.rowCount, firstElement(column, plan.rowCount))
  return true
}

/** For types without a fast reader, and for unusual spellings: the exact path on this one cell. */
function readExactly(column: Column, start: usize): usize {
  if (isRefusedField(column, start)) return 0
  noteAsked()
  const end = readCellExactly(column.position, (start - frame) as i32)
  return end < 0 ? 0 : frame + (end as usize)
}

/** A field that nobody has to be asked about. */
export function isRefusedField(column: Column, start: usize): bool {
  if (isQuotedBehindBlanks(start)) return false
  const isQuoted = load<u8>(start) === quote
  const inside = isQuoted ? start + 1 : start
  const end = isQuoted ? closingQuoteOf(inside) : fieldEnd(inside)
  if (end === 0 || (!isQuoted && isCsvNull(inside, end))) return false
  return refusesText(refusalAt(column.position), inside, end)
}
