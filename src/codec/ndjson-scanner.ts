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
import { closingQuote, lineFeed, skipBlanks, skipValue } from './json-bytes.ts'
import { JsonValues } from './json-values.ts'
import type { ColumnPlan, Member, MemberTable, ParsePlan } from './parse-plan.ts'
import { FastReader } from './value-plan.ts'

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const lowerN = 0x6e
const openBrace = 0x7b
const closeBrace = 0x7d
const textDecoder = new TextDecoder()

export class NdjsonScanner extends JsonValues {
  private readonly plan: ParsePlan
  private readonly builder: BlockBuilder
  private readonly columnCount: number
  /** The record's number among all that the plan has seen. */
  private record: number
  /** Where this record's values are written. */
  private row = 0
  /** How many columns this record has given a value to. */
  private columnsSet = 0
  /** The place of the member that most likely follows the one that `readOtherMember` has read. */
  private expectedNext = 0

  constructor(plan: ParsePlan, builder: BlockBuilder) {
    super()
    this.plan = plan
    this.builder = builder
    this.columnCount = plan.columns.length
    this.record = plan.recordsSeen
  }

  /**
   * Reads the records of `source` from `start` to `end` into the block.
   * Precondition: `source[end - 1]` is a line feed, and at least `framePaddingBytes` bytes follow `end`.
   */
  scan(source: Uint8Array, start: number, end: number): void {
    this.open(source)
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
    // The next frame's scanner goes on counting: else its records would look like this one's.
    this.plan.recordsSeen = this.record
  }

  /** Gives the offset behind the record's line feed, or -1 when the record is not to be taken in this way. */
  private readRecord(start: number): number {
    this.record += 1
    this.row = this.builder.rowCount
    this.columnsSet = 0
    const objectEnd = this.readMembers(this.plan.members, start + 1)
    if (objectEnd < 0) return -1
    const lineEnd = skipBlanks(this.source, objectEnd)
    if (this.source[lineEnd] !== lineFeed) return -1
    if (this.columnsSet !== this.columnCount && !this.readTheRest(start, objectEnd)) return -1
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

  /** The columns that no member has filled: those that take the whole record, DEFAULT and NULL. */
  private readTheRest(start: number, end: number): boolean {
    for (const column of this.plan.wholeRecordColumns) {
      if (this.readWholeRecord(column, start, end) < 0) return false
    }
    return this.columnsSet === this.columnCount || this.fillMissing()
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

/** Whether `"key":` of this member stands at `at`: its first and last four bytes, then what is between. */
function isPrefix(view: DataView, at: number, { prefix, head, tail }: Member): boolean {
  const tailOffset = prefix.length - 4
  if (view.getInt32(at, true) !== head || view.getInt32(at + tailOffset, true) !== tail) return false
  for (let position = 4; position < tailOffset; position += 1) {
    if (view.getUint8(at + position) !== prefix[position]) return false
  }
  return true
}
