// Decimals of a Parquet file whose values are wider than their precision needs: 64 bits for nine digits, 16 bytes for five.
//
// The engine makes a column as wide as the precision needs and puts values of the width of the file into it, one over the
// other: other numbers come out of it, and it writes beyond the end of its memory. So the precision in the metadata is made
// as large as the width of the values needs, before the engine sees it; the values stay what they are.

import type { Pieces } from '../../shared/time-slices.ts'
import { type CompactReader, CompactType } from './thrift-compact.ts'

/** A byte of the metadata that is to be another. */
export interface BytePatch {
  readonly offset: number
  readonly byte: number
}

const int64 = 2
const fixedBytes = 7
const convertedDecimal = 5
const logicalDecimal = 5

/** The precisions from which on the engine has so many bytes for a value. */
const widths = [
  { byteCount: 4, precisionMin: 0 },
  { byteCount: 8, precisionMin: 10 },
  { byteCount: 16, precisionMin: 19 },
  { byteCount: 32, precisionMin: 39 },
] as const

interface SaidPrecision {
  readonly precision: number
  readonly start: number
  readonly end: number
}

/** What an element of a schema says of decimals. */
export class DecimalElement {
  readonly #reader: CompactReader
  #physicalType = -1
  #byteCount = 0
  #isDecimal = false
  readonly #said: SaidPrecision[] = []

  constructor(reader: CompactReader) {
    this.#reader = reader
  }

  /** As `readStruct` of the reader asks for the fields of an element. */
  read(field: number, type: number): Pieces<unknown> | boolean {
    if (field === 1) this.#physicalType = this.#reader.readInteger()
    else if (field === 2) this.#byteCount = this.#reader.readInteger()
    else if (field === 6) this.#isDecimal ||= this.#reader.readInteger() === convertedDecimal
    else if (field === 8) this.#readPrecision()
    else if (field === 10 && type === CompactType.struct) return this.#readLogicalType()
    else return false
    return true
  }

  /** @throws RangeError where a precision that is to be changed takes more bytes than it needs. */
  patches(): readonly BytePatch[] {
    if (!this.#isDecimal) return []
    const byteCount = this.#physicalType === int64 ? 8 : this.#physicalType === fixedBytes ? this.#byteCount : 0
    const precisionMin = widths.find((width) => byteCount <= width.byteCount)?.precisionMin ?? 0
    return this.#said
      .filter(({ precision }) => precision < precisionMin)
      .map(({ start, end }) => {
        if (end - start !== 1) throw new RangeError('a precision in its schema is written in more bytes than it needs')
        return { offset: start, byte: 2 * precisionMin }
      })
  }

  #readPrecision(): void {
    const start = this.#reader.offset
    this.#said.push({ precision: this.#reader.readInteger(), start, end: this.#reader.offset })
  }

  *#readLogicalType(): Pieces {
    yield* this.#reader.readStruct((field, type) => {
      if (field !== logicalDecimal || type !== CompactType.struct) return false
      this.#isDecimal = true
      return this.#reader.readStruct((inner) => {
        if (inner !== 2) return false
        this.#readPrecision()
        return true
      })
    })
  }
}
