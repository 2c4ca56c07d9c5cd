/** Rows that were set aside, as text, with their reasons. */
import { assert } from '../shared/assert.ts'
import { Column } from './column.ts'

export interface RowError {
  /** Name of the column, or empty when the record as a whole is wrong. */
  readonly column: string
  readonly reason: string
}

export class QuarantineBuilder {
  /** One text column for each column of the schema. */
  readonly texts: readonly Column[]
  readonly errorColumns = new Column('list', [new Column('utf8')])
  readonly errors = new Column('list', [new Column('utf8')])
  readonly importIds = new Column('utf8')
  rowCount = 0
  private capacity = 0
  private readonly importId: string | null

  constructor(columnCount: number, importId: string | null) {
    this.texts = Array.from({ length: columnCount }, () => new Column('utf8'))
    this.importId = importId
  }

  /** `texts` may be shorter than the schema: what is not there is NULL. */
  addRow(texts: readonly (string | null)[], errors: readonly RowError[]): void {
    const row = this.rowCount
    if (row >= this.capacity) this.grow()
    for (const [position, column] of this.texts.entries()) writeOptional(column, row, texts[position] ?? null)
    writeTexts(this.errorColumns, row, errors, 'column')
    writeTexts(this.errors, row, errors, 'reason')
    writeOptional(this.importIds, row, this.importId)
    this.rowCount += 1
  }

  private grow(): void {
    this.capacity = Math.max(1024, this.rowCount * 2)
    for (const column of [...this.texts, this.errorColumns, this.errors, this.importIds]) column.grow(this.capacity)
  }
}

function writeOptional(column: Column, row: number, text: string | null): void {
  if (text === null) column.writeNull(row)
  else column.writeText(row, text)
}

/** Writes one field of all errors as the list of this row. */
function writeTexts(list: Column, row: number, errors: readonly RowError[], field: keyof RowError): void {
  const [texts] = list.children
  assert(texts !== undefined, 'a list has one child')
  const start = list.offsets[row] ?? 0
  texts.grow(start + errors.length)
  for (const [position, error] of errors.entries()) texts.writeText(start + position, error[field])
  list.offsets[row + 1] = start + errors.length
}
