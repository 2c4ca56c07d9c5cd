/**
 * Where CSV records end, by the grammar of `csv-cells.ts`: a line feed ends a record unless it stands in a quoted field,
 * and a field is quoted only when its first byte is a quote.
 *
 * Most bytes are never looked at: a stretch without any quote is searched backwards for its last line feed.
 */
import { lineFeed, quote } from './csv-cells.ts'
import type { CsvDialect } from './csv-dialect.ts'
import type { RecordBoundary } from './frame-assembler.ts'

export class CsvBoundary implements RecordBoundary {
  private readonly delimiter: number
  /** -1 where quotes are only ever doubled. */
  private readonly escape: number
  private isQuoted = false
  /** The last byte was a quote inside quotes: the next one tells whether the field is closed. */
  private isQuotePending = false
  private isEscapePending = false
  /** The byte before the one to come; a body begins as if behind a record. */
  private previous = lineFeed

  constructor(dialect: CsvDialect) {
    this.delimiter = dialect.delimiter
    this.escape = dialect.escape === null || dialect.escape === quote ? -1 : dialect.escape
  }

  advance(bytes: Uint8Array, from: number, to: number): number {
    let end = -1
    let offset = from
    while (offset < to) {
      if (this.isQuoted) {
        offset = this.skipQuoted(bytes, offset, to)
        continue
      }
      const nextQuote = indexOf(bytes, quote, offset, to)
      const bare = bytes.subarray(offset, nextQuote)
      const last = bare.lastIndexOf(lineFeed)
      if (last >= 0) end = offset + last + 1
      if (bare.length > 0) this.previous = bare[bare.length - 1] ?? lineFeed
      offset = nextQuote
      if (offset < to) {
        this.isQuoted = this.previous === lineFeed || this.previous === this.delimiter
        this.previous = quote
        offset += 1
      }
    }
    return end
  }

  /** Goes on inside a quoted field; gives the offset where it is left, or `to`. */
  private skipQuoted(bytes: Uint8Array, from: number, to: number): number {
    let offset = from
    while (offset < to) {
      const byte = bytes[offset]
      if (this.isEscapePending) {
        this.isEscapePending = false
      } else if (this.isQuotePending) {
        this.isQuotePending = false
        if (byte !== quote) {
          // Closed one byte ago: this byte is read again as one outside quotes.
          this.isQuoted = false
          this.previous = quote
          return offset
        }
      } else if (byte === quote) {
        this.isQuotePending = true
      } else if (byte === this.escape) {
        this.isEscapePending = true
      }
      offset += 1
    }
    return offset
  }
}

/** `to` when the byte is not there. Short fields are the rule where there are quotes, so a plain loop beats a call. */
function indexOf(bytes: Uint8Array, byte: number, from: number, to: number): number {
  for (let offset = from; offset < to; offset += 1) if (bytes[offset] === byte) return offset
  return to
}
