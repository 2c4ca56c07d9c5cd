/** JSON values straight from bytes into a column, for the usual spellings of each type. */
import { endElements, firstElement, roomForText, textSlackBytes, writeNull } from './columns'
import { growColumn } from './host'
import { isFalse, isTrue, skipBlanks, skipValue, stringMarks, unescapeInto } from './json'
import { Column, Reader } from './layout'
import { readFloat, readInteger, readInteger64 } from './numbers'
import { readDate, readDateTime, readDateTime64 } from './times'
import { readUuid } from './uuid'

const quote: u8 = 0x22
const comma: u8 = 0x2c
const openBracket: u8 = 0x5b
const backslash: u8 = 0x5c
const closeBracket: u8 = 0x5d
const lowerN: u8 = 0x6e

/** Reads the value that begins at `at` into a row of the column; gives the address behind it, or 0 for what it does not know. */
export function readJsonValue(column: Column, at: usize, index: i32): usize {
  switch (column.reader) {
    case Reader.text:
      return load<u8>(at) === quote ? readText(column, at + 1, index) : 0
    case Reader.integer:
      return readInteger(at, column, index)
    case Reader.integer64:
      return readInteger64(at, column, index)
    case Reader.float:
      return readFloat(at, column, index)
    case Reader.dateTime64:
      return load<u8>(at) === quote ? behindQuote(readDateTime64(at + 1, column, index)) : 0
    case Reader.dateTime:
      return load<u8>(at) === quote ? behindQuote(readDateTime(at + 1, column, index)) : 0
    case Reader.date:
      return load<u8>(at) === quote ? behindQuote(readDate(at + 1, column, index)) : 0
    case Reader.uuid:
      return load<u8>(at) === quote ? behindQuote(readUuid(at + 1, column, index)) : 0
    case Reader.bool:
      return readBool(column, at, index)
    case Reader.list:
      return load<u8>(at) === openBracket ? readList(column, at + 1, index) : 0
    default:
      return 0
  }
}

function behindQuote(at: usize): usize {
  return at !== 0 && load<u8>(at) === quote ? at + 1 : 0
}

/** Copies a string from behind its opening quote while it looks for the end, 16 bytes at a time. */
function readText(column: Column, start: usize, index: i32): usize {
  const first = firstElement(column, index)
  let limit = column.bytes + (column.byteCapacity as usize) - textSlackBytes
  let to = column.bytes + (first as usize)
  let from = start
  while (true) {
    if (to > limit) {
      const written = (to - column.bytes) as i32
      to = roomForText(column, written, textSlackBytes as i32)
      limit = column.bytes + (column.byteCapacity as usize) - textSlackBytes
    }
    const bytes = v128.load(from)
    v128.store(to, bytes)
    const marks = stringMarks(bytes)
    if (marks !== 0) {
      const plain = ctz(marks) as usize
      const byte = load<u8>(from + plain)
      if (byte === backslash) return readEscapedText(column, start, index)
      if (byte !== quote) return 0
      endElements(column, index, (to + plain - column.bytes) as i32)
      return from + plain + 1
    }
    from += 16
    to += 16
  }
}

function readEscapedText(column: Column, start: usize, index: i32): usize {
  const end = skipValue(start - 1)
  if (end === 0) return 0
  const first = firstElement(column, index)
  // No escape is shorter than what it stands for.
  const target = roomForText(column, first, (end - start) as i32)
  const textEnd = unescapeInto(target, start, end - 1)
  endElements(column, index, (textEnd - column.bytes) as i32)
  return end
}

function readBool(column: Column, at: usize, index: i32): usize {
  const value = isTrue(at)
  if (!value && !isFalse(at)) return 0
  store<u32>(column.values + ((index as usize) << 2), value ? 1 : 0)
  return at + (value ? 4 : 5)
}

function readList(column: Column, start: usize, index: i32): usize {
  const element = changetype<Column>(column.element)
  let at = firstElement(column, index)
  let offset = skipBlanks(start)
  if (load<u8>(offset) === closeBracket) {
    endElements(column, index, at)
    return offset + 1
  }
  while (true) {
    if (at + 1 >= element.capacity) growColumn(element.id, at + 2)
    offset = readElement(element, offset, at)
    if (offset === 0) return 0
    at += 1
    offset = skipBlanks(offset)
    if (load<u8>(offset) === comma) offset = skipBlanks(offset + 1)
    else break
  }
  if (load<u8>(offset) !== closeBracket) return 0
  endElements(column, index, at)
  return offset + 1
}

function readElement(element: Column, offset: usize, at: i32): usize {
  if (load<u8>(offset) !== lowerN) return readJsonValue(element, offset, at)
  const end = skipValue(offset)
  return end !== 0 && element.isNullable !== 0 && writeNull(element, at) ? end : 0
}
