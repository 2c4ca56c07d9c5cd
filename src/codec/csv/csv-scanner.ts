/**
 * CSV: the kernel takes records in the usual spellings, by the order of fields that the header gave; what it leaves is read
 * again by the exact path, which alone decides between row, quarantine and invalid line.
 */
import { Buffer, isUtf8 } from 'node:buffer'
import { valueTypeOf } from '../../schema/types/column-type.ts'
import { assert } from '../../shared/assert.ts'
import { recordReasons } from '../../shared/record-reasons.ts'
import type { RawValue } from '../cell.types.ts'
import type { Cell } from '../columns/kernel-plan.ts'
import type { ColumnPlan, ParsePlan } from '../columns/parse-plan.ts'
import { type PartBuilder, unreadableError } from '../columns/part-builder.ts'
import type { RowError } from '../columns/quarantine-builder.ts'
import { readableText, reasonBeforeText } from '../columns/utf8-text.ts'
import type { RecordFormat } from '../parse-task.types.ts'
import type { ScanHost, ScanKernel } from '../scan-kernel/scan-kernel.ts'
import {
  bareEnd,
  type CsvCell,
  carriageReturn,
  lineFeed,
  mayOpenField,
  quote,
  readCsvCell,
  readCsvRecord,
} from './csv-cells.ts'
import { type CsvDialect, delimiterWord } from './csv-dialect.ts'

/** Characters of numbers, times, UUIDs and booleans. Where one of them parts fields, only the exact path knows where a value ends. */
const valueCharacterCodes = new Set(Buffer.from('0123456789abcdefABCDEF+-.: TZlrstu'))

export class CsvScanner implements ScanHost {
  readonly #kernel: ScanKernel
  readonly #plan: ParsePlan
  readonly #builder: PartBuilder
  readonly #dialect: CsvDialect
  /** The index of the column that each field fills, or -1. */
  readonly #fieldColumns: readonly number[]
  #source: Uint8Array = new Uint8Array(0)
  /** The same bytes: a Buffer decodes short texts in half the time that a TextDecoder takes. */
  #buffer: Buffer = Buffer.alloc(0)
  #limit = 0

  constructor(
    kernel: ScanKernel,
    plan: ParsePlan,
    builder: PartBuilder,
    format: Extract<RecordFormat, { kind: 'csv' }>,
  ) {
    assert(format.fieldColumns.length > 0, 'a CSV record has fields')
    this.#kernel = kernel
    this.#plan = plan
    this.#builder = builder
    this.#dialect = format.dialect
    this.#fieldColumns = format.fieldColumns
    const marks = { delimiter: delimiterWord(format.dialect), escape: format.dialect.escape ?? quote }
    const hasFastReaders = !Object.values(marks).some((mark) => valueCharacterCodes.has(mark))
    plan.kernelPlan.setCsv(format.fieldColumns, { ...marks, hasFastReaders })
  }

  /**
   * Reads the records of `source`, which is the frame that the kernel has loaded, from `start` to `end` into the part.
   * Precondition: `source[end - 1]` is a line feed.
   */
  scan(source: Uint8Array, start: number, end: number): void {
    this.#source = source
    this.#buffer = Buffer.from(source.buffer, source.byteOffset, source.length)
    this.#limit = end
    // One native pass tells that every cell of the frame is sound; only otherwise each record is looked at.
    this.#plan.kernelPlan.checksUtf8 = !isUtf8(source.subarray(start, end))
    let offset = start
    while (offset < end) {
      offset = this.#kernel.scan('csv', this.#plan.kernelPlan.pointer, { start: offset, end }, this)
      if (offset < end) offset = this.#readOther(offset)
    }
  }

  /** The cell that begins at `start`; a bare one, as most are, by a shorter way than the exact reader's. */
  #readCell(start: number): Pick<CsvCell, 'end' | 'isQuoted' | 'isSound' | 'text'> {
    if (mayOpenField(this.#source[start])) return readCsvCell(this.#source, start, this.#limit, this.#dialect)
    const end = bareEnd(this.#source, start, this.#limit, this.#dialect)
    return { text: this.#buffer.toString('utf8', start, end), isQuoted: false, isSound: true, end }
  }

  /** A record that the kernel left: one with a value that may be wrong, else one that is unusual as a whole. */
  #readOther(start: number): number {
    const { surveyedEnd } = this.#plan.kernelPlan
    const isSetAside = surveyedEnd !== 0 && this.#builder.addSurveyedRecord((plan, cell) => this.#valueOf(plan, cell))
    this.#builder.undoRow()
    return isSetAside ? this.#kernel.offsetOf(surveyedEnd) : this.#readRecordExactly(start)
  }

  #valueOf(plan: ColumnPlan, { start, end, isQuoted }: Cell): RawValue | undefined {
    return cellValue({ text: this.#buffer.toString('utf8', start, end), isQuoted }, plan)
  }

  growRows(rowCount: number): void {
    this.#builder.growRows(rowCount)
  }

  readValueExactly(): boolean {
    return false
  }

  /** For types without a fast reader, and for unusual spellings: the exact path on this one cell. */
  readCellExactly(position: number, start: number): number {
    const plan = this.#plan.columns[position]
    const cell = this.#readCell(start)
    if (plan === undefined || !cell.isSound) return -1
    const value = cellValue(cell, plan)
    if (value === undefined) return this.#builder.writeMissing(plan) ? cell.end : -1
    if (value.kind === 'null') return this.#builder.writeExplicitNull(plan) ? cell.end : -1
    return this.#builder.writeValue(plan, value) ? cell.end : -1
  }

  #readRecordExactly(start: number): number {
    const { cells, next } = readCsvRecord(this.#source, start, this.#limit, this.#dialect)
    const fieldCount = this.#fieldColumns.length
    const last = cells.at(-1)
    const record = this.#recordBytes(start, next)
    if (last?.isSound === false && last.end >= this.#limit) {
      this.#builder.addOpenRecord(record)
    } else if (cells.some((cell) => !cell.isSound)) {
      this.#builder.addInvalidRecord(recordReasons.textBehindQuote, record)
    } else if (cells.length < fieldCount) {
      const reason = `record has ${cells.length} of ${fieldCount} fields`
      this.#builder.addShortRecord(this.#textsOf(cells), this.#misfitErrors(reason, cells, record))
    } else if (cells.slice(fieldCount).some((cell) => cell.text !== '')) {
      const reason = `record has ${cells.length} fields instead of ${fieldCount}`
      this.#builder.addMisfitRecord(this.#textsOf(cells), this.#misfitErrors(reason, cells, record))
    } else {
      this.#addCells(cells)
    }
    return next
  }

  #addCells(cells: readonly CsvCell[]): void {
    const values = new Array<RawValue | undefined>(this.#plan.columns.length).fill(undefined)
    const unreadable = new Set<number>()
    for (const [field, position] of this.#fieldColumns.entries()) {
      const plan = this.#plan.columns[position]
      const cell = cells[field]
      if (plan === undefined || cell === undefined) continue
      values[position] = cellValue({ text: textOf(cell), isQuoted: cell.isQuoted }, plan)
      if (!cell.isUtf8) unreadable.add(position)
    }
    this.#builder.addRecord(values, unreadable)
  }

  /** As those of a record of the right shape: NULL, and an empty cell that stands for it, are no texts. */
  #textsOf(cells: readonly CsvCell[]): readonly (string | null)[] {
    const texts = new Array<string | null>(this.#plan.columns.length).fill(null)
    for (const [field, position] of this.#fieldColumns.entries()) {
      const cell = cells[field]
      const plan = this.#plan.columns[position]
      if (plan === undefined || cell === undefined) continue
      const value = cellValue({ text: textOf(cell), isQuoted: cell.isQuoted }, plan)
      texts[position] = value?.kind === 'cell' ? value.text : null
    }
    return texts
  }

  /** A record of the wrong shape: its text stands in the reason where not all of it stands in the columns. */
  #misfitErrors(reason: string, cells: readonly CsvCell[], record: Uint8Array): readonly RowError[] {
    const errors: RowError[] = []
    let isLeftOut = false
    for (const [field, cell] of cells.entries()) {
      const plan = this.#plan.columns[this.#fieldColumns[field] ?? -1]
      if (plan === undefined) isLeftOut ||= cell.text !== ''
      else if (!cell.isUtf8) errors.push(unreadableError(plan.definition, textOf(cell)))
    }
    const whole = isLeftOut ? `${reasonBeforeText(reason, record)}${readableText(record)}` : reason
    return [{ column: '', reason: whole }, ...errors]
  }

  /** From `start` to `next`, without the line's end. */
  #recordBytes(start: number, next: number): Uint8Array {
    const source = this.#source
    let end = next
    if (source[end - 1] === lineFeed) end -= 1
    if (end < next && end > start && source[end - 1] === carriageReturn) end -= 1
    return source.subarray(start, end)
  }
}

function textOf({ text, bytes, isUtf8: isText }: CsvCell): string {
  return isText ? text : readableText(bytes)
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
