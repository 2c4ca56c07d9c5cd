/** Writes that every format shares: nulls, defaults, and the texts of strings. */
import { growBytes } from './host'
import { Column } from './layout'

/** Bytes that a text may write past its end: stretches are copied 16 bytes at a time. */
export const textSlackBytes: usize = 16

/** An explicit null; false when the column can take neither NULL nor DEFAULT, or only the host can write it. */
export function writeExplicitNull(column: Column, row: i32): bool {
  if (column.isNeverRead !== 0) return true
  if (column.isNullable !== 0) return writeNull(column, row)
  return column.hasDefault !== 0 && writeDefault(column, row)
}

/** A value that the record does not have; false when the column can take neither DEFAULT nor NULL. */
export function writeMissing(column: Column, row: i32): bool {
  if (column.isNeverRead !== 0) return true
  if (column.hasDefault !== 0) return writeDefault(column, row)
  return column.isNullable !== 0 && writeNull(column, row)
}

function writeDefault(column: Column, row: i32): bool {
  if (column.isStruct !== 0) return false
  const mark = column.isMissing + (row as usize)
  if (load<u8>(mark) === 0) {
    store<u8>(mark, 1)
    column.missingCount += 1
  }
  return writeNull(column, row)
}

export function writeNull(column: Column, row: i32): bool {
  if (column.isStruct !== 0) return false
  const mark = column.isNull + (row as usize)
  if (load<u8>(mark) === 0) {
    store<u8>(mark, 1)
    column.nullCount += 1
    if (row >= column.markedEnd) column.markedEnd = row + 1
  }
  if (column.offsets !== 0) endElements(column, row, firstElement(column, row))
  return true
}

/** Takes back the marks of row `row` and of all that lies beyond; those of a tuple's fields are the host's. */
export function clearMarksFrom(column: Column, row: i32): void {
  for (let marked = row; marked < column.markedEnd; marked += 1) {
    const isNull = column.isNull + (marked as usize)
    const isMissing = column.isMissing + (marked as usize)
    column.nullCount -= load<u8>(isNull) as i32
    column.missingCount -= load<u8>(isMissing) as i32
    store<u8>(isNull, 0)
    store<u8>(isMissing, 0)
  }
  if (row < column.markedEnd) column.markedEnd = row
  if (column.element !== 0) clearMarksFrom(changetype<Column>(column.element), firstElement(column, row))
}

/** Where the bytes or elements of a row begin. */
export function firstElement(column: Column, row: i32): i32 {
  return load<i32>(column.offsets + ((row as usize) << 2))
}

/** Says where the bytes or elements of a row end. */
export function endElements(column: Column, row: i32, end: i32): void {
  store<i32>(column.offsets + ((row as usize) << 2), end, 4)
}

/** Sees to room for `byteCount` bytes of text behind `first`; gives the address where the text is to be written. */
export function roomForText(column: Column, first: i32, byteCount: i32): usize {
  const needed = first + byteCount + (textSlackBytes as i32)
  if (needed > column.byteCapacity) growBytes(column.id, needed)
  return column.bytes + (first as usize)
}

/** Copies a text of known bounds. */
export function writeText(column: Column, row: i32, start: usize, end: usize): void {
  const first = firstElement(column, row)
  const byteCount = (end - start) as i32
  copyText(roomForText(column, first, byteCount), start, end - start)
  endElements(column, row, first + byteCount)
}

/** Copies bytes 16 at a time, writing up to `textSlackBytes` past the end; a call of `memory.copy` costs more for short texts. */
export function copyText(to: usize, from: usize, byteCount: usize): void {
  if (byteCount > longTextBytes) {
    memory.copy(to, from, byteCount)
    return
  }
  for (let offset: usize = 0; offset < byteCount; offset += 16) v128.store(to + offset, v128.load(from + offset))
}

const longTextBytes: usize = 256
