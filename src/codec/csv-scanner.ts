/**
 * The fast reader of CSV: fields straight into typed columns, by the order that the header gave.
 *
 * As with NDJSON it takes a record in whole or not at all; what it gives up is undone and read again by the exact path,
 * which alone decides between row, quarantine and invalid line.
 *
 * Byte reads are asserted `as number`: a frame ends in a line feed and padding, and every loop here stops on it.
 */
import { isUtf8 } from 'node:buffer'
import { assert } from '../shared/assert.ts'
import { valueTypeOf } from '../shared/column-type.ts'
import type { BlockBuilder } from './block-builder.ts'
import type { RawValue } from './cell.types.ts'
import type { Column } from './column.ts'
import { type CsvCell, carriageReturn, lineFeed, quote, readCsvCell, readCsvRecord } from './csv-cells.ts'
import type { CsvDialect } from './csv-dialect.ts'
import {
  readBoolText,
  readDate,
  readDateTime,
  readDateTime64,
  readFloat,
  readInteger,
  readInteger64,
  readUuid,
} from './fast-values.ts'
import { framePaddingBytes } from './frame-assembler.ts'
import { JsonValues } from './json-values.ts'
import type { ColumnPlan, ParsePlan } from './parse-plan.ts'
import type { RecordFormat } from './parse-task.types.ts'
import { FastReader, type ValuePlan } from './value-plan.ts'

const singleQuote = 0x27
const backslash = 0x5c
/** Characters of numbers, times and UUIDs. Where one of them parts fields, only the exact path knows where a value ends. */
const valueCharacters = '0123456789abcdefABCDEF+-.: TZ'

export class CsvScanner {
  private readonly plan: ParsePlan
  private readonly builder: BlockBuilder
  private readonly dialect: CsvDialect
  private readonly delimiter: number
  private readonly hasFastReaders: boolean
  /** The index of the column that each field fills, or -1. */
  private readonly fieldColumns: readonly number[]
  /** The column that each field fills; null where the field is not asked for. */
  private readonly fieldPlans: readonly (ColumnPlan | null)[]
  /** Columns that no field fills. */
  private readonly absentPlans: readonly ColumnPlan[]
  /** The frame under the scanner; public for the fast readers alone. */
  source: Uint8Array = new Uint8Array(0)
  /** The same bytes, four at a time. */
  view: DataView = new DataView(new ArrayBuffer(0))
  private limit = 0
  /** The dialect's escape character, or the quote where quotes are only doubled. */
  private readonly escapeByte: number
  /** Where `unquoteInto` ended in its target. */
  private unquotedEnd = 0
  private scratch: Uint8Array = new Uint8Array(0)
  private readonly scratchJson = new JsonValues()
  /** One native pass tells that every cell of the frame is sound; only otherwise each record is looked at. */
  private isFrameUtf8 = true

  constructor(plan: ParsePlan, builder: BlockBuilder, format: Extract<RecordFormat, { kind: 'csv' }>) {
    this.plan = plan
    this.builder = builder
    this.dialect = format.dialect
    this.delimiter = format.dialect.delimiter
    this.escapeByte = format.dialect.escape ?? quote
    this.openScratch(4096)
    const marks = [format.dialect.delimiter, format.dialect.escape ?? quote]
    this.hasFastReaders = !marks.some((mark) => valueCharacters.includes(String.fromCharCode(mark)))
    this.fieldColumns = format.fieldColumns
    this.fieldPlans = format.fieldColumns.map((position) => plan.columns[position] ?? null)
    this.absentPlans = plan.columns.filter((_, position) => !format.fieldColumns.includes(position))
    assert(this.fieldPlans.length > 0, 'a CSV record has fields')
  }

  /**
   * Reads the records of `source` from `start` to `end` into the block.
   * Precondition: `source[end - 1]` is a line feed, and at least `framePaddingBytes` bytes follow `end`.
   */
  scan(source: Uint8Array, start: number, end: number): void {
    this.source = source
    this.view = new DataView(source.buffer, source.byteOffset, source.byteLength)
    this.limit = end
    this.isFrameUtf8 = isUtf8(source.subarray(start, end))
    let offset = start
    while (offset < end) {
      const first = source[offset] as number
      if (first === lineFeed || (first === carriageReturn && source[offset + 1] === lineFeed)) {
        offset += first === lineFeed ? 1 : 2
        continue
      }
      const next = this.readRecord(offset)
      offset = next >= 0 ? next : this.readRecordExactly(offset)
    }
  }

  /** Gives the offset behind the record, or -1 when the record is not to be taken in this way. */
  private readRecord(start: number): number {
    const { source, fieldPlans, delimiter } = this
    const lastField = fieldPlans.length - 1
    let offset = start
    for (let field = 0; field <= lastField; field += 1) {
      const plan = fieldPlans[field] as ColumnPlan | null
      offset = plan === null ? this.skipField(offset) : this.readField(plan, offset)
      if (offset < 0) return -1
      if (field < lastField) {
        if (source[offset] !== delimiter) return -1
        offset += 1
      }
    }
    if (source[offset] === carriageReturn) offset += 1
    if (source[offset] !== lineFeed || offset >= this.limit) return -1
    if (!this.isFrameUtf8 && !isUtf8(source.subarray(start, offset))) return -1
    for (const plan of this.absentPlans) if (!this.builder.writeMissing(plan)) return -1
    this.builder.finishRow()
    return offset + 1
  }

  private readField(plan: ColumnPlan, start: number): number {
    const { source } = this
    const first = source[start] as number
    const { value } = plan
    const row = this.builder.rowCount
    let end = -1
    if (first !== quote && this.isFieldEnd(start)) return this.writeEmpty(plan) ? start : -1
    if (value.reader === FastReader.list) {
      end = this.readList(value, start, row)
    } else if (first === quote) {
      end =
        value.reader === FastReader.text
          ? this.readQuotedText(value.column, start + 1, row)
          : this.readQuoted(value, start, row)
    } else if (value.reader === FastReader.text) {
      end = first === backslash ? -1 : this.readBareText(value.column, start, row)
    } else {
      end = this.readBare(value, start, row)
    }
    return end >= 0 && this.isFieldEnd(end) ? end : this.readCellExactly(plan, start)
  }

  private readQuoted(value: ValuePlan, start: number, row: number): number {
    const end = this.readBare(value, start + 1, row)
    return end >= 0 && this.source[end] === quote ? end + 1 : -1
  }

  private readBare(value: ValuePlan, start: number, row: number): number {
    const { source } = this
    if (!this.hasFastReaders) return -1
    switch (value.reader) {
      case FastReader.integer:
        return readInteger(source, start, value, row)
      case FastReader.integer64:
        return readInteger64(source, start, value, row)
      case FastReader.float:
        return readFloat(source, start, value, row)
      case FastReader.dateTime64:
        return readDateTime64(this, start, value, row)
      case FastReader.dateTime:
        return readDateTime(this, start, value, row)
      case FastReader.date:
        return readDate(this, start, value, row)
      case FastReader.uuid:
        return readUuid(source, start, value, row)
      case FastReader.bool:
        return readBoolText(source, start, value, row)
      case FastReader.text:
      case FastReader.list:
      case FastReader.none:
        return -1
    }
  }

  private readBareText(column: Column, start: number, row: number): number {
    const { source, delimiter } = this
    const { bytes } = column
    let to = column.offsets[row] as number
    let offset = start
    for (;;) {
      const byte = source[offset] as number
      if (byte === delimiter || byte === lineFeed) break
      if (byte === carriageReturn && source[offset + 1] === lineFeed) break
      bytes[to] = byte
      to += 1
      offset += 1
    }
    return column.endText(row, to) ? offset : this.readBareText(column, start, row)
  }

  private readQuotedText(column: Column, start: number, row: number): number {
    const first = column.offsets[row] as number
    const end = this.unquoteInto(column.bytes, first, start)
    if (end < 0) return -1
    return column.endText(row, this.unquotedEnd) ? end : this.readQuotedText(column, start, row)
  }

  /**
   * Copies a quoted field from behind its opening quote, with one quote for each doubled one, and sets `unquotedEnd`.
   * Gives the offset behind the closing quote, or -1 for escapes of another kind and a field that is never closed.
   */
  private unquoteInto(target: Uint8Array, at: number, start: number): number {
    const { source, limit, escapeByte } = this
    let to = at
    let offset = start
    while (offset < limit) {
      const byte = source[offset] as number
      if (byte === quote) {
        if (source[offset + 1] !== quote) {
          this.unquotedEnd = to
          return offset + 1
        }
        offset += 1
      } else if (byte === escapeByte) {
        return -1
      }
      target[to] = byte
      to += 1
      offset += 1
    }
    return -1
  }

  /** A list stands in its field as text, of JSON or of ClickHouse; it is read out of a copy without the field's quotes. */
  private readList(value: ValuePlan, start: number, row: number): number {
    const end =
      this.source[start] === quote
        ? this.unquoteInto(this.scratch, 0, start + 1)
        : this.copyBareInto(this.scratch, start)
    if (end < 0) return -1
    const byteCount = this.unquotedEnd
    if (byteCount + framePaddingBytes > this.scratch.length) {
      this.openScratch(byteCount * 2)
      return this.readList(value, start, row)
    }
    this.scratch[byteCount] = lineFeed
    toJsonQuotes(this.scratch, byteCount)
    return this.scratchJson.readValue(value, 0, row) === byteCount ? end : -1
  }

  private copyBareInto(target: Uint8Array, start: number): number {
    let offset = start
    while (!this.isFieldEnd(offset)) {
      target[offset - start] = this.source[offset] as number
      offset += 1
    }
    this.unquotedEnd = offset - start
    return offset
  }

  private openScratch(byteCount: number): void {
    this.scratch = new Uint8Array(byteCount + framePaddingBytes)
    this.scratchJson.open(this.scratch)
  }

  private isFieldEnd(offset: number): boolean {
    const byte = this.source[offset]
    return (
      byte === this.delimiter || byte === lineFeed || (byte === carriageReturn && this.source[offset + 1] === lineFeed)
    )
  }

  private skipField(start: number): number {
    const cell = this.source[start] === quote ? readCsvCell(this.source, start, this.limit, this.dialect) : null
    if (cell !== null) return cell.isSound ? cell.end : -1
    let offset = start
    while (!this.isFieldEnd(offset)) offset += 1
    return offset
  }

  /** An empty bare field is a missing value; a String takes it as the empty text. */
  private writeEmpty(plan: ColumnPlan): boolean {
    if (this.builder.writeMissing(plan)) return true
    if (plan.value.reader !== FastReader.text) return false
    plan.column.writeText(this.builder.rowCount, '')
    return true
  }

  /** For types without a fast reader, and for unusual spellings: the exact path on this one cell. */
  private readCellExactly(plan: ColumnPlan, start: number): number {
    const cell = readCsvCell(this.source, start, this.limit, this.dialect)
    if (!cell.isSound) return -1
    const value = cellValue(cell, plan)
    if (value === undefined) return this.builder.writeMissing(plan) ? cell.end : -1
    if (value.kind === 'null') return this.builder.writeExplicitNull(plan) ? cell.end : -1
    return this.builder.writeValue(plan, value) ? cell.end : -1
  }

  private readRecordExactly(start: number): number {
    this.builder.undoRow()
    const { cells, next } = readCsvRecord(this.source, start, this.limit, this.dialect)
    const fieldCount = this.fieldPlans.length
    if (cells.some((cell) => !cell.isSound)) {
      this.builder.addInvalidRecord(cells.map((cell) => cell.text).join(String.fromCharCode(this.delimiter)))
    } else if (cells.length < fieldCount) {
      this.builder.addShortRecord(this.textsOf(cells), `record has ${cells.length} of ${fieldCount} fields`)
    } else if (cells.slice(fieldCount).some((cell) => cell.text !== '')) {
      this.builder.addMisfitRecord(this.textsOf(cells), `record has ${cells.length} fields instead of ${fieldCount}`)
    } else {
      this.addCells(cells)
    }
    return next
  }

  private addCells(cells: readonly CsvCell[]): void {
    const values = new Array<RawValue | undefined>(this.plan.columns.length).fill(undefined)
    const unreadable = new Set<number>()
    for (const [field, position] of this.fieldColumns.entries()) {
      const plan = this.plan.columns[position]
      const cell = cells[field]
      if (plan === undefined || cell === undefined) continue
      values[position] = cellValue(cell, plan)
      if (!cell.isUtf8) unreadable.add(position)
    }
    this.builder.addRecord(values, unreadable)
  }

  private textsOf(cells: readonly CsvCell[]): readonly (string | null)[] {
    const texts = new Array<string | null>(this.plan.columns.length).fill(null)
    for (const [field, position] of this.fieldColumns.entries()) {
      if (position >= 0) texts[position] = cells[field]?.text ?? null
    }
    return texts
  }
}

/**
 * Makes `['a', 'b']` to `["a", "b"]`. Where a double quote or a backslash stands too it is not that easy, and nothing is done;
 * what is no JSON afterwards is left to the exact path.
 */
function toJsonQuotes(bytes: Uint8Array, byteCount: number): void {
  let hasSingle = false
  for (let offset = 0; offset < byteCount; offset += 1) {
    const byte = bytes[offset]
    if (byte === quote || byte === backslash) return
    if (byte === singleQuote) hasSingle = true
  }
  if (!hasSingle) return
  for (let offset = 0; offset < byteCount; offset += 1) if (bytes[offset] === singleQuote) bytes[offset] = quote
}

/**
 * What a cell says: undefined where it says nothing (so DEFAULT or NULL), null for a bare `\N`.
 * A quoted empty cell is the empty text for types that know one, and nothing for all others.
 */
export function cellValue(cell: Pick<CsvCell, 'text' | 'isQuoted'>, plan: ColumnPlan): RawValue | undefined {
  const raw: RawValue = { kind: 'cell', text: cell.text, isQuoted: cell.isQuoted }
  if (cell.text === '\\N' && !cell.isQuoted) return { kind: 'null' }
  if (cell.text !== '') return raw
  const { kind } = valueTypeOf(plan.definition.type)
  const hasEmptyText = kind === 'string' || kind === 'fixedString' || kind === 'enum'
  if (hasEmptyText && cell.isQuoted) return raw
  // Without DEFAULT and NULL the empty text is judged like any other, which gives String '' and others a reason.
  return plan.hasDefault || plan.isNullable || plan.isNeverRead ? undefined : raw
}
