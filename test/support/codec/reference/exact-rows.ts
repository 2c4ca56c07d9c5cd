import { PartBuilder } from '../../../../src/codec/columns/part-builder.ts'
import { QuarantineBuilder } from '../../../../src/codec/columns/quarantine-builder.ts'

export interface ExactRows {
  /** Rows that the exact path has stored as whole records. */
  readonly count: number
  /** Records that the exact path has set aside. */
  readonly setAsideCount: number
}

/** Counts what no scanner could take in by itself: a differential test must not compare the exact path with itself. */
export function countExactRows(): ExactRows {
  const counted = { count: 0, setAsideCount: 0 }
  const { addRecord } = PartBuilder.prototype
  PartBuilder.prototype.addRecord = function addCounted(this: PartBuilder, ...parameters): void {
    const before = this.rowCount
    addRecord.apply(this, parameters)
    counted.count += this.rowCount - before
  }
  const { addRow, addSurveyedRow } = QuarantineBuilder.prototype
  QuarantineBuilder.prototype.addRow = function addRowCounted(this: QuarantineBuilder, ...parameters): void {
    addRow.apply(this, parameters)
    counted.setAsideCount += 1
  }
  QuarantineBuilder.prototype.addSurveyedRow = function addSurveyedCounted(
    this: QuarantineBuilder,
    ...parameters
  ): void {
    addSurveyedRow.apply(this, parameters)
    counted.setAsideCount += 1
  }
  return counted
}
