/**
 * JSON values straight from bytes into a column, for the usual spellings of each type.
 *
 * Byte reads are asserted `as number`: the bytes end in a line feed and padding, and every loop here stops on it.
 */
import type { Column } from './column.ts'
import {
  type FrameBytes,
  readDate,
  readDateTime,
  readDateTime64,
  readFloat,
  readInteger,
  readInteger64,
  readUuid,
} from './fast-values.ts'
import { skipBlanks, skipValue, unescapeInto } from './json-bytes.ts'
import { FastReader, type ValuePlan } from './value-plan.ts'

const quote = 0x22
const comma = 0x2c
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const lowerN = 0x6e

export class JsonValues implements FrameBytes {
  /** The bytes that are read; public for the fast readers alone. */
  source: Uint8Array = new Uint8Array(0)
  view: DataView = new DataView(new ArrayBuffer(0))

  /** Turns to other bytes. Precondition: they end in a line feed and `framePaddingBytes` bytes of padding. */
  open(source: Uint8Array): void {
    this.source = source
    this.view = new DataView(source.buffer, source.byteOffset, source.byteLength)
  }

  /**
   * Reads the value that begins at `start` into row `index` of the plan's column; gives the offset behind it, or -1 for
   * whatever the plan's fast reader does not know.
   */
  readValue(value: ValuePlan, start: number, index: number): number {
    const { source } = this
    switch (value.reader) {
      case FastReader.text:
        return source[start] === quote ? this.readText(value.column, start + 1, index) : -1
      case FastReader.integer:
        return readInteger(source, start, value, index)
      case FastReader.integer64:
        return readInteger64(source, start, value, index)
      case FastReader.float:
        return readFloat(source, start, value, index)
      case FastReader.dateTime64:
        return source[start] === quote ? behindQuote(source, readDateTime64(this, start + 1, value, index)) : -1
      case FastReader.dateTime:
        return source[start] === quote ? behindQuote(source, readDateTime(this, start + 1, value, index)) : -1
      case FastReader.date:
        return source[start] === quote ? behindQuote(source, readDate(this, start + 1, value, index)) : -1
      case FastReader.uuid:
        return source[start] === quote ? behindQuote(source, readUuid(source, start + 1, value, index)) : -1
      case FastReader.bool:
        return this.readBool(value.column, start, index)
      case FastReader.list:
        return source[start] === openBracket ? this.readList(value, start + 1, index) : -1
      case FastReader.none:
        return -1
    }
  }

  /** Copies a string from behind its opening quote while it looks for the end; four bytes at a time was no faster. */
  private readText(column: Column, start: number, index: number): number {
    const { source } = this
    const { bytes } = column
    let to = column.offsets[index] as number
    let offset = start
    for (;;) {
      const byte = source[offset] as number
      if (byte < 0x23 || byte === backslash) {
        if (byte === quote) break
        if (byte === backslash) return this.readEscapedText(column, start, index)
        if (byte < 0x20) return -1
      }
      bytes[to] = byte
      to += 1
      offset += 1
    }
    if (!column.endText(index, to)) return this.readText(column, start, index)
    return offset + 1
  }

  private readEscapedText(column: Column, start: number, index: number): number {
    const end = skipValue(this.source, start - 1)
    if (end < 0) return -1
    const first = column.offsets[index] as number
    // No escape is shorter than what it stands for.
    column.growBytes(first + end - start)
    column.offsets[index + 1] = unescapeInto(column.bytes, first, this.source, { start, end: end - 1 })
    return end
  }

  private readBool(column: Column, start: number, index: number): number {
    const isTrue = this.source[start] === 0x74
    if (!isTrue && this.source[start] !== 0x66) return -1
    column.uint32[index] = isTrue ? 1 : 0
    return skipValue(this.source, start)
  }

  private readList(value: ValuePlan, start: number, index: number): number {
    const { source } = this
    const { column, element } = value
    if (element === null) return -1
    let at = column.offsets[index] as number
    let offset = skipBlanks(source, start)
    if (source[offset] === closeBracket) {
      column.offsets[index + 1] = at
      return offset + 1
    }
    for (;;) {
      if (at + 1 >= element.column.capacity) element.column.grow(at + 2)
      if (source[offset] === lowerN) {
        if (!element.isNullable) return -1
        element.column.writeNull(at)
        offset = skipValue(source, offset)
      } else {
        offset = this.readValue(element, offset, at)
      }
      if (offset < 0) return -1
      at += 1
      offset = skipBlanks(source, offset)
      if (source[offset] === comma) offset = skipBlanks(source, offset + 1)
      else break
    }
    if (source[offset] !== closeBracket) return -1
    column.offsets[index + 1] = at
    return offset + 1
  }
}

function behindQuote(source: Uint8Array, offset: number): number {
  return offset >= 0 && source[offset] === quote ? offset + 1 : -1
}
