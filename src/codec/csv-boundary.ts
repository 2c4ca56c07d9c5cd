/**
 * Where CSV records end, by the grammar of `csv-cells.ts`: a line feed ends a record unless it stands in a quoted field,
 * and a field is quoted only when its first byte is a quote.
 *
 * This runs on the thread that reads the sockets. A chunk without any quote is searched backwards for its last line feed;
 * any other is walked once, byte by byte.
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
  /** The byte before the one to come, or `closingQuote`; a body begins as if behind a record. */
  private previous = lineFeed

  constructor(dialect: CsvDialect) {
    this.delimiter = dialect.delimiter
    this.escape = dialect.escape === null || dialect.escape === quote ? -1 : dialect.escape
  }

  advance(bytes: Uint8Array, from: number, to: number): number {
    if (to === from) return -1
    const chunk = bytes.subarray(from, to)
    if (this.isQuoted || chunk.includes(quote)) return this.walk(bytes, from, to)
    this.previous = bytes[to - 1] ?? lineFeed
    const last = chunk.lastIndexOf(lineFeed)
    return last < 0 ? -1 : from + last + 1
  }

  private walk(bytes: Uint8Array, from: number, to: number): number {
    let end = -1
    let offset = from
    // From here on nothing is quoted: the byte before it is `previous`, and those behind it are in `bytes`.
    let bareFrom = from
    if (this.isQuoted) {
      offset = this.skipQuoted(bytes, from, to)
      bareFrom = offset
    }
    while (offset < to) {
      while (offset < to && bytes[offset] !== quote) offset += 1
      const isOpening = offset < to && this.opensField(offset > bareFrom ? bytes[offset - 1] : this.previous)
      if (offset < to) offset += 1
      if (!isOpening && offset < to) continue
      const lastLineFeed = lineFeedBefore(bytes, bareFrom, offset)
      if (lastLineFeed >= 0) end = lastLineFeed + 1
      if (isOpening) {
        this.isQuoted = true
        offset = this.skipQuoted(bytes, offset, to)
        bareFrom = offset
      }
    }
    if (offset > bareFrom) this.previous = bytes[to - 1] ?? lineFeed
    return end
  }

  private opensField(before: number | undefined): boolean {
    return before === this.delimiter || before === lineFeed || before === closingQuote
  }

  /** Goes on inside a quoted field; gives the offset behind its closing quote, or `to`. */
  private skipQuoted(bytes: Uint8Array, from: number, to: number): number {
    const { escape: escapeByte } = this
    let offset = from
    if (this.isEscapePending && offset < to) {
      this.isEscapePending = false
      offset += 1
    }
    while (offset < to) {
      const byte = bytes[offset]
      offset += 1
      if (byte === quote) {
        this.isQuoted = false
        this.previous = closingQuote
        return offset
      }
      if (byte === escapeByte) {
        this.isEscapePending = offset === to
        offset += 1
      }
    }
    return to
  }
}

/** The last line feed in `bytes[from…to]`, or -1. It is mostly a few bytes away, so a loop beats a native search. */
function lineFeedBefore(bytes: Uint8Array, from: number, to: number): number {
  for (let offset = to - 1; offset >= from; offset -= 1) if (bytes[offset] === lineFeed) return offset
  return -1
}
