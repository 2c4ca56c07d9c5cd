/** Rows that were set aside, as text, with their reasons. */
import { assert } from '../../shared/assert.ts'
import type { RecordReason } from '../../shared/record-reasons.ts'
import { quarantineRecordBytes, quarantineWords } from '../scan-kernel/kernel-layout.ts'
import type { ScanKernel } from '../scan-kernel/scan-kernel.ts'
import { Column } from './column.ts'
import { recordText } from './utf8-text.ts'

export interface RowError {
  /** Name of the column, or empty when the record as a whole is wrong. */
  readonly column: string
  readonly reason: string
}

export class QuarantineBuilder {
  /** One text column for each column of the schema. */
  readonly texts: readonly Column[]
  readonly errorColumns: Column
  readonly errors: Column
  /** Address of the record by which the kernel knows this builder; it adds rows of its own. */
  readonly pointer: number
  readonly #textPointers: number
  readonly #kernel: ScanKernel

  constructor(kernel: ScanKernel, columnCount: number) {
    this.#kernel = kernel
    this.texts = Array.from({ length: columnCount }, () => new Column(kernel, 'utf8'))
    this.errorColumns = textList(kernel)
    this.errors = textList(kernel)
    const { memory } = kernel
    this.#textPointers = memory.allocateWords(this.texts.map(({ pointer }) => pointer))
    this.pointer = memory.allocateWords(new Array<number>(quarantineRecordBytes / 4).fill(0))
    this.#write('texts', this.#textPointers)
    this.#write('errorColumns', this.errorColumns.pointer)
    this.#write('errors', this.errors.pointer)
    this.#write('textCount', columnCount)
  }

  get rowCount(): number {
    return this.#read('rowCount')
  }

  /** The lines, since the last call, that the kernel set aside because nothing can be read of them. */
  takeInvalidCount(): number {
    const count = this.#read('invalidCount')
    if (count > 0) this.#write('invalidCount', 0)
    return count
  }

  /** Writes what was left until now of columns: to be called before they are read. */
  finish(): void {
    this.#kernel.exports.fillTexts(this.pointer)
  }

  /** Empties the builder for the next part; buffers stay for reuse. */
  reset(): void {
    this.#write('rowCount', 0)
    this.#write('textsEnd', 0)
    this.#write('invalidCount', 0)
    for (const column of this.#columns()) column.reset()
  }

  free(): void {
    for (const column of this.#columns()) column.free()
    this.#kernel.memory.release(this.#textPointers, this.texts.length * 4)
    this.#kernel.memory.release(this.pointer, quarantineRecordBytes)
  }

  /** Bytes of all buffers, used or not. */
  get byteSize(): number {
    return this.#columns().reduce((total, column) => total + column.byteSize, 0)
  }

  /** `texts` may be shorter than the schema: what is not there is NULL. */
  addRow(texts: readonly (string | null)[], errors: readonly RowError[]): void {
    const row = this.#beginRow()
    this.finish()
    for (let position = 0; position < this.texts.length; position += 1) {
      writeOptional(this.texts[position], row, texts[position] ?? null)
    }
    this.#write('textsEnd', row + 1)
    this.#finishRow(errors)
  }

  /**
   * A row without values: all that is known is the record's bytes, which stand behind the reason. The columns of texts are left
   * until `finish`, or a row with texts.
   */
  addTextRow(reason: RecordReason, bytes: Uint8Array): void {
    const row = this.#beginRow()
    writeOne(this.errorColumns, row, noPieces)
    // As bytes: a text of many megabytes as a string would be held several times.
    writeOne(this.errors, row, recordText(reason, bytes))
    this.#write('rowCount', row + 1)
  }

  /** A row whose texts the kernel has noted. */
  addSurveyedRow(errors: readonly RowError[]): void {
    this.#kernel.exports.writeSurveyedTexts(this.#beginRow())
    this.#finishRow(errors)
  }

  #beginRow(): number {
    if (this.rowCount >= this.#read('capacity')) this.#grow()
    return this.rowCount
  }

  #finishRow(errors: readonly RowError[]): void {
    const row = this.rowCount
    writeTexts(this.errorColumns, row, errors, 'column')
    writeTexts(this.errors, row, errors, 'reason')
    this.#write('rowCount', row + 1)
  }

  #columns(): readonly Column[] {
    return [...this.texts, this.errorColumns, this.errors]
  }

  #grow(): void {
    const capacity = Math.max(1024, this.rowCount * 2)
    for (const column of this.#columns()) column.grow(capacity)
    this.#write('capacity', capacity)
  }

  #read(field: keyof typeof quarantineWords): number {
    return this.#kernel.memory.int32[this.pointer / 4 + quarantineWords[field]] ?? 0
  }

  #write(field: keyof typeof quarantineWords, value: number): void {
    this.#kernel.memory.int32[this.pointer / 4 + quarantineWords[field]] = value
  }
}

/** A list of texts whose elements the kernel finds. */
function textList(kernel: ScanKernel): Column {
  const elements = new Column(kernel, 'utf8')
  const list = new Column(kernel, 'list', [elements])
  list.write('element', elements.pointer)
  return list
}

function writeOptional(column: Column | undefined, row: number, text: string | null): void {
  if (text === null) column?.writeNull(row)
  else column?.writeText(row, text)
}

/** Of an empty text. */
const noPieces: readonly Uint8Array[] = []

/** Writes the pieces, one after the other, as the only element of the list of this row. */
function writeOne(list: Column, row: number, pieces: readonly Uint8Array[]): void {
  const [texts] = list.children
  assert(texts !== undefined, 'a list has one child')
  const at = list.offsets[row] ?? 0
  if (at + 1 > texts.capacity) texts.grow(at + 1)
  texts.writePieces(at, pieces)
  list.offsets[row + 1] = at + 1
}

/** Writes one field of all errors as the list of this row. */
function writeTexts(list: Column, row: number, errors: readonly RowError[], field: keyof RowError): void {
  const [texts] = list.children
  assert(texts !== undefined, 'a list has one child')
  const start = list.offsets[row] ?? 0
  const end = start + errors.length
  if (end > texts.capacity) texts.grow(end)
  for (let position = 0; position < errors.length; position += 1) {
    texts.writeText(start + position, errors[position]?.[field] ?? '')
  }
  list.offsets[row + 1] = end
}
