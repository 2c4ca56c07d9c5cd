/**
 * NDJSON: the kernel takes records in the usual spellings; what it leaves is read again by the exact path
 * (`PartBuilder.addJsonRecord`), which alone decides between row, quarantine and invalid line.
 */
import { Buffer, isUtf8 } from 'node:buffer'
import type { RawValue } from '../cell.types.ts'
import type { Cell } from '../columns/kernel-plan.ts'
import type { ParsePlan } from '../columns/parse-plan.ts'
import type { PartBuilder } from '../columns/part-builder.ts'
import type { ScanHost, ScanKernel } from '../scan-kernel/scan-kernel.ts'
import { readRawJson } from './raw-json.ts'

const lineFeed = 0x0a

export class NdjsonScanner implements ScanHost {
  readonly #kernel: ScanKernel
  readonly #plan: ParsePlan
  readonly #builder: PartBuilder
  #source: Uint8Array = new Uint8Array(0)
  /** The same bytes: a Buffer decodes short texts in half the time that a TextDecoder takes. */
  #buffer: Buffer = Buffer.alloc(0)

  constructor(kernel: ScanKernel, plan: ParsePlan, builder: PartBuilder) {
    this.#kernel = kernel
    this.#plan = plan
    this.#builder = builder
  }

  /**
   * Reads the records of `source`, which is the frame that the kernel has loaded, from `start` to `end` into the part.
   * Precondition: `source[end - 1]` is a line feed.
   */
  scan(source: Uint8Array, start: number, end: number): void {
    this.#source = source
    this.#buffer = Buffer.from(source.buffer, source.byteOffset, source.length)
    // One native pass tells that every string in the frame is sound; only otherwise each line is looked at.
    this.#plan.kernelPlan.checksUtf8 = !isUtf8(source.subarray(start, end))
    let offset = start
    while (offset < end) {
      offset = this.#kernel.scan('ndjson', this.#plan.kernelPlan.pointer, { start: offset, end }, this)
      if (offset < end) offset = this.#readOther(offset)
    }
  }

  /** A record that the kernel left: one with a value that may be wrong, else one that is unusual as a whole. */
  #readOther(start: number): number {
    const { surveyedEnd } = this.#plan.kernelPlan
    const isSetAside = surveyedEnd !== 0 && this.#builder.addSurveyedRecord((_, cell) => this.#valueAt(cell))
    this.#builder.undoRow()
    return isSetAside ? this.#kernel.offsetOf(surveyedEnd) : this.#readLineExactly(start)
  }

  #valueAt({ start, end, isQuoted }: Cell): RawValue | undefined {
    const text = this.#valueText(start, end)
    return isQuoted ? { kind: 'string', text } : readRawJson(text)
  }

  growRows(rowCount: number): void {
    this.#builder.growRows(rowCount)
  }

  readValueExactly(position: number, start: number, end: number): boolean {
    const plan = this.#plan.columns[position]
    return plan !== undefined && this.#builder.writeJsonValue(plan, this.#valueText(start, end))
  }

  readCellExactly(): number {
    return -1
  }

  #readLineExactly(start: number): number {
    const end = this.#source.indexOf(lineFeed, start)
    this.#builder.addJsonRecord(this.#source.subarray(start, end))
    return end + 1
  }

  /** Precondition: the bytes are UTF-8. */
  #valueText(start: number, end: number): string {
    return this.#buffer.toString('utf8', start, end)
  }
}
