/**
 * The fast reader of NDJSON: bytes of records straight into typed columns, guided by the schema.
 *
 * It predicts the next key from the order of the schema, compares bytes, and hands each value to a fast reader. It
 * allocates nothing per row. A record that it does not take in whole is undone and read again by the exact path
 * (`BlockBuilder.readExactly`), which alone decides between row, quarantine and invalid line: so this file may give up
 * on whatever is unusual, but what it accepts must be what the exact path accepts.
 *
 * Byte reads are asserted `as number`: a frame ends in a line feed and padding, and every loop here stops on it.
 */
import { isUtf8 } from 'node:buffer'
import type { BlockBuilder } from './block-builder.ts'
import type { Column } from './column.ts'
import {
  readDate,
  readDateTime,
  readDateTime64,
  readFloat,
  readInteger,
  readInteger64,
  readUuid,
} from './fast-values.ts'
import { closingQuote, lineFeed, skipBlanks, skipValue, unescapeInto } from './json-bytes.ts'
import type { ColumnPlan, Member, MemberTable, ParsePlan } from './parse-plan.ts'
import { FastReader, type ValuePlan } from './value-plan.ts'

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const lowerN = 0x6e
const openBrace = 0x7b
const closeBrace = 0x7d
const textDecoder = new TextDecoder()

export class NdjsonScanner {
  private readonly plan: ParsePlan
  private readonly builder: BlockBuilder
  private source: Uint8Array = new Uint8Array(0)
  /** The same bytes, four at a time. */
  private view: DataView = new DataView(new ArrayBuffer(0))
  /** The record's number among all that the plan has seen. */
  private record = 0
  /** Where this record's values are written. */
  private row = 0
  /** How many columns this record has given a value to. */
  private columnsSet = 0
  /** The place of the member that most likely follows the one that `readOtherMember` has read. */
  private expectedNext = 0

  constructor(plan: ParsePlan, builder: BlockBuilder) {
    this.plan = plan
    this.builder = builder
  }

  /**
   * Reads the records of `source` from `start` to `end` into the block.
   * Precondition: `source[end - 1]` is a line feed, and at least `framePaddingBytes` bytes follow `end`.
   */
  scan(source: Uint8Array, start: number, end: number): void {
    this.source = source
    this.view = new DataView(source.buffer, source.byteOffset, source.byteLength)
    // One native pass tells that every string in the frame is sound; only otherwise each line is looked at.
    const isFrameUtf8 = isUtf8(source.subarray(start, end))
    let offset = start
    while (offset < end) {
      const first = source[offset] as number
      if (first <= 0x20 && (first === lineFeed || first === 0x20 || first === 0x0d || first === 0x09)) {
        offset += 1
        continue
      }
      const isLineUtf8 = isFrameUtf8 || isUtf8(this.lineAt(offset))
      const next = first === openBrace && isLineUtf8 ? this.readRecord(offset) : -1
      offset = next >= 0 ? next : this.readLineExactly(offset, isLineUtf8)
    }
  }

  /** Gives the offset behind the record's line feed, or -1 when the record is not to be taken in this way. */
  private readRecord(start: number): number {
    this.plan.recordsSeen += 1
    this.record = this.plan.recordsSeen
    this.row = this.builder.rowCount
    this.columnsSet = 0
    const objectEnd = this.readMembers(this.plan.members, start + 1)
    if (objectEnd < 0) return -1
    const lineEnd = skipBlanks(this.source, objectEnd)
    if (this.source[lineEnd] !== lineFeed) return -1
    for (const column of this.plan.wholeRecordColumns) {
      if (this.readWholeRecord(column, start, objectEnd) < 0) return -1
    }
    if (this.columnsSet !== this.plan.columns.length && !this.fillMissing()) return -1
    this.builder.finishRow()
    return lineEnd + 1
  }

  private readLineExactly(start: number, isLineUtf8: boolean): number {
    const line = this.lineAt(start)
    this.builder.undoRow()
    // A byte order mark in front of a line, as files put behind one another have it, is left out by the decoder.
    const text = textDecoder.decode(line)
    if (isLineUtf8) this.builder.addJsonRecord(text)
    else this.builder.addInvalidRecord(text)
    return start + line.length + 1
  }

  private lineAt(start: number): Uint8Array {
    return this.source.subarray(start, this.source.indexOf(lineFeed, start))
  }

  /**
   * Reads the members of an object from behind its brace to behind its closing brace, or gives -1.
   *
   * The loop is kept small for the compiler's sake: what a record without blanks and with keys in the schema's order never
   * needs is in functions of its own.
   */
  private readMembers(table: MemberTable, start: number): number {
    const { source, view, record } = this
    const { members } = table
    let offset = skipBlanks(source, start)
    if (source[offset] === closeBrace) return offset + 1
    let expected = 0
    for (;;) {
      const member = members[expected]
      if (member !== undefined && isPrefix(view, offset, member) && member.seenInRecord !== record) {
        expected += 1
        member.seenInRecord = record
        offset = this.readMember(member, offset + member.prefix.length)
      } else {
        offset = this.readOtherMember(table, offset, expected)
        expected = this.expectedNext
      }
      if (offset < 0) return -1
      let byte = source[offset] as number
      if (byte <= 0x20) {
        offset = skipBlanks(source, offset)
        byte = source[offset] as number
      }
      if (byte !== comma) return byte === closeBrace ? offset + 1 : -1
      offset += 1
      if (source[offset] !== quote) offset = skipBlanks(source, offset)
    }
  }

  /** A member that was not expected here, or is written with blanks or escapes; sets `expectedNext`. */
  private readOtherMember(table: MemberTable, start: number, expected: number): number {
    const { source } = this
    this.expectedNext = expected
    if (source[start] !== quote) return -1
    const keyEnd = closingQuote(source, start + 1)
    if (keyEnd < 0) return -1
    const colonAt = skipBlanks(source, keyEnd + 1)
    if (source[colonAt] !== colon) return -1
    const member = table.find(source, start + 1, keyEnd)
    if (member === undefined) return skipValue(source, skipBlanks(source, colonAt + 1))
    this.expectedNext = member.position + 1
    // A repeated key: the last one wins, which the exact path knows how to do.
    if (member.seenInRecord === this.record) return -1
    member.seenInRecord = this.record
    return this.readMember(member, colonAt + 1)
  }

  private readMember(member: Member, start: number): number {
    const { onlyValue } = member
    if (onlyValue !== null) {
      const end = this.readValue(onlyValue, start, this.row)
      if (end >= 0) {
        this.columnsSet += 1
        return end
      }
    }
    return this.readMemberCarefully(member, skipBlanks(this.source, start))
  }

  /** Nulls, unusual spellings, blanks, several columns on one key, and objects that columns look into. */
  private readMemberCarefully(member: Member, start: number): number {
    const { columns } = member
    let end = -1
    for (let position = 0; position < columns.length; position += 1) {
      end = this.readColumn(columns[position] as ColumnPlan, start)
      if (end < 0) return -1
    }
    this.columnsSet += columns.length
    if (member.below === null) return end
    if (this.source[start] !== openBrace) return columns.length === 0 ? skipValue(this.source, start) : end
    const { expectedNext } = this
    end = this.readMembers(member.below, start + 1)
    this.expectedNext = expectedNext
    return end
  }

  private readColumn(plan: ColumnPlan, start: number): number {
    const { source } = this
    if (source[start] === lowerN) {
      const end = skipValue(source, start)
      return end >= 0 && this.builder.writeExplicitNull(plan) ? end : -1
    }
    const end = this.readValue(plan.value, start, this.row)
    return end >= 0 ? end : this.readColumnExactly(plan, start)
  }

  /** For types without a fast reader, and for unusual spellings: the exact path on this one value. */
  private readColumnExactly(plan: ColumnPlan, start: number): number {
    const end = skipValue(this.source, start)
    if (end < 0) return -1
    return this.builder.writeJsonValue(plan, textDecoder.decode(this.source.subarray(start, end))) ? end : -1
  }

  private readValue(value: ValuePlan, start: number, index: number): number {
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
        return source[start] === quote ? behindQuote(source, readDateTime64(source, start + 1, value, index)) : -1
      case FastReader.dateTime:
        return source[start] === quote ? behindQuote(source, readDateTime(source, start + 1, value, index)) : -1
      case FastReader.date:
        return source[start] === quote ? behindQuote(source, readDate(source, start + 1, value, index)) : -1
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
    const first = column.offsets[index] as number
    let to = first
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
    // Stores past the end of a typed array do nothing: a string that did not fit is copied again after growing.
    if (to + 1024 > bytes.length) {
      column.growBytes(to + 1024)
      column.bytes.set(source.subarray(start, offset), first)
    }
    column.offsets[index + 1] = to
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

  private readWholeRecord(plan: ColumnPlan, start: number, end: number): number {
    const { reader, column } = plan.value
    this.columnsSet += 1
    if (reader !== FastReader.text) return this.readColumnExactly(plan, start)
    column.writeBytes(this.row, this.source, { start, end })
    return end
  }

  /** Gives DEFAULT or NULL to the columns that this record says nothing of; false when one can have neither. */
  private fillMissing(): boolean {
    const { columns, memberOf } = this.plan
    for (let position = 0; position < columns.length; position += 1) {
      const member = memberOf[position] ?? null
      if (member === null || member.seenInRecord === this.record) continue
      if (!this.builder.writeMissing(columns[position] as ColumnPlan)) return false
    }
    return true
  }
}

function behindQuote(source: Uint8Array, offset: number): number {
  return offset >= 0 && source[offset] === quote ? offset + 1 : -1
}

/** Whether `"key":` of this member stands at `at`: its first and last four bytes, then what is between. */
function isPrefix(view: DataView, at: number, { prefix, head, tail }: Member): boolean {
  const tailOffset = prefix.length - 4
  if (view.getInt32(at, true) !== head || view.getInt32(at + tailOffset, true) !== tail) return false
  for (let position = 4; position < tailOffset; position += 1) {
    if (view.getUint8(at + position) !== prefix[position]) return false
  }
  return true
}
