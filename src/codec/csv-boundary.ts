/**
 * Where CSV records end, by the grammar of `csv-cells.ts`: a line feed ends a record unless it stands in a quoted field,
 * and a field is quoted only when its first byte is a quote.
 *
 * This runs on the thread that reads the sockets, so it looks at as little as it can: it steps from quote to quote, four
 * bytes at a time, and searches for the last line feed only at the end, backwards through the stretches outside quotes.
 */
import { lineFeed, quote } from './csv-cells.ts'
import type { CsvDialect } from './csv-dialect.ts'
import type { RecordBoundary } from './frame-assembler.ts'

/** Stands for "the byte before closed a quoted field": another quote right behind opens it again, as one doubled quote. */
const closingQuote = -2

export class CsvBoundary implements RecordBoundary {
  private readonly delimiter: number
  /** -1 where quotes are only ever doubled. */
  private readonly escape: number
  private isQuoted = false
  private isEscapePending = false
  /** The byte before the stretch outside quotes that is looked at, or `closingQuote`; a body begins as if behind a record. */
  private previous = lineFeed
  /** Begin and end of each stretch outside quotes in the bytes of this call. */
  private stretches = new Int32Array(1024)
  private stretchCount = 0

  constructor(dialect: CsvDialect) {
    this.delimiter = dialect.delimiter
    this.escape = dialect.escape === null || dialect.escape === quote ? -1 : dialect.escape
  }

  advance(bytes: Uint8Array, from: number, to: number): number {
    this.stretchCount = 0
    if (!this.isQuoted && !bytes.subarray(from, to).includes(quote)) {
      this.addStretch(from, to)
      if (to > from) this.previous = bytes[to - 1] ?? lineFeed
      return this.lastRecordEnd(bytes)
    }
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    let offset = from
    while (offset < to) {
      if (this.isQuoted) offset = this.skipQuoted(bytes, view, offset, to)
      else offset = this.skipBare(bytes, view, offset, to)
    }
    return this.lastRecordEnd(bytes)
  }

  /** Goes on outside quotes; gives the offset behind the quote that opens a field, or `to`. */
  private skipBare(bytes: Uint8Array, view: DataView, from: number, to: number): number {
    let offset = nextQuote(bytes, view, from, to)
    while (offset < to && !this.opensField(offset > from ? bytes[offset - 1] : this.previous)) {
      offset = nextQuote(bytes, view, offset + 1, to)
    }
    this.addStretch(from, offset)
    if (offset > from) this.previous = bytes[offset - 1] ?? lineFeed
    if (offset === to) return to
    this.isQuoted = true
    return offset + 1
  }

  /** Goes on inside a quoted field; gives the offset behind its closing quote, or `to`. */
  private skipQuoted(bytes: Uint8Array, view: DataView, from: number, to: number): number {
    const end = this.escape < 0 ? nextQuote(bytes, view, from, to) : this.nextUnescapedQuote(bytes, from, to)
    if (end === to) return to
    this.isQuoted = false
    this.previous = closingQuote
    return end + 1
  }

  private nextUnescapedQuote(bytes: Uint8Array, from: number, to: number): number {
    let offset = from
    while (offset < to) {
      const byte = bytes[offset]
      if (this.isEscapePending) this.isEscapePending = false
      else if (byte === quote) return offset
      else if (byte === this.escape) this.isEscapePending = true
      offset += 1
    }
    return to
  }

  private opensField(before: number | undefined): boolean {
    return before === this.delimiter || before === lineFeed || before === closingQuote
  }

  private addStretch(from: number, to: number): void {
    if (this.stretchCount * 2 === this.stretches.length) {
      const larger = new Int32Array(this.stretches.length * 2)
      larger.set(this.stretches)
      this.stretches = larger
    }
    this.stretches[this.stretchCount * 2] = from
    this.stretches[this.stretchCount * 2 + 1] = to
    this.stretchCount += 1
  }

  private lastRecordEnd(bytes: Uint8Array): number {
    for (let stretch = this.stretchCount - 1; stretch >= 0; stretch -= 1) {
      const from = this.stretches[stretch * 2] ?? 0
      const last = bytes.subarray(from, this.stretches[stretch * 2 + 1]).lastIndexOf(lineFeed)
      if (last >= 0) return from + last + 1
    }
    return -1
  }
}

/** The offset of the first quote in `bytes[from…to]`, or `to`. */
function nextQuote(bytes: Uint8Array, view: DataView, from: number, to: number): number {
  let offset = from
  while (offset + 4 <= to) {
    // A byte of the word is zero where a quote stands; the rest tells whether there is one (Hacker's Delight, 6-1).
    const word = view.getInt32(offset, true) ^ 0x22222222
    if (((word - 0x01010101) & ~word & 0x80808080) !== 0) break
    offset += 4
  }
  while (offset < to && bytes[offset] !== quote) offset += 1
  return offset
}
