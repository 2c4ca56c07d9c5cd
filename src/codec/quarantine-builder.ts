/** Rows that were set aside, as text, with their reasons. */
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
  private readonly importId: string | null

  constructor(columnCount: number, importId: string | null) {
    this.texts = Array.from({ length: columnCount }, () => new Column('utf8'))
    this.importId = importId
  }

  /** `texts` may be shorter than the schema: what is not there is NULL. */
  addRow(texts: readonly (string | null)[], errors: readonly RowError[]): void {
    const row = this.rowCount
    for (const column of [...this.texts, this.errorColumns, this.errors, this.importIds]) column.grow(row + 1)
    for (const [position, column] of this.texts.entries()) column.writeCell(row, texts[position] ?? null)
    const columns = errors.map((error) => error.column)
    const reasons = errors.map((error) => error.reason)
    this.errorColumns.writeCell(row, columns)
    this.errors.writeCell(row, reasons)
    this.importIds.writeCell(row, this.importId)
    this.rowCount += 1
  }
}
