import { BlockBuilder } from '../../../src/codec/block-builder.ts'

export interface ExactRows {
  /** Rows that the exact path has stored as whole records. */
  readonly count: number
}

/** Counts rows that no scanner could take in: a differential test must not compare the exact path with itself. */
export function countExactRows(): ExactRows {
  const counted = { count: 0 }
  const addRecord = BlockBuilder.prototype.addRecord
  BlockBuilder.prototype.addRecord = function addCounted(this: BlockBuilder, ...parameters): void {
    const before = this.rowCount
    addRecord.apply(this, parameters)
    counted.count += this.rowCount - before
  }
  return counted
}
