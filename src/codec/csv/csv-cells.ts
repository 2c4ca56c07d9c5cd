/**
 * CSV's grammar on bytes, read exactly: one cell, one record.
 *
 * A field is quoted when its first byte is a quote, blanks before it passed over, as they are behind the closing one; a
 * quote elsewhere in a bare field is a character like any other, as people's files have it (`6" nails`). A record ends at a line feed outside quotes. The framer and both readers keep to
 * this one rule, so they always agree on where a record ends.
 */
import { isUtf8 } from 'node:buffer'
import type { CsvDialect } from './csv-dialect.ts'

export const quote = 0x22
export const lineFeed = 0x0a
export const carriageReturn = 0x0d

export interface CsvCell {
  readonly text: string
  readonly isQuoted: boolean
  /** False when more than blanks stands between the closing quote and the end of the field, or the quote is never closed. */
  readonly isSound: boolean
  /** What `text` was decoded from: views, or what stood inside of the quotes. */
  readonly bytes: Uint8Array
  readonly isUtf8: boolean
  /** Offset of the delimiter or of the record's end. */
  readonly end: number
}

export interface CsvRecord {
  /** As many as were asked for. */
  readonly cells: readonly CsvCell[]
  /** Offset behind the record's line feed. */
  readonly next: number
}

const blank = 0x20
const textDecoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** Reads the record that begins at `at`. Precondition: `source[limit - 1]` is a line feed. */
export function readCsvRecord(source: Uint8Array, at: number, limit: number, dialect: CsvDialect): CsvRecord {
  return readCsvCells({ source, at, limit }, dialect, Number.POSITIVE_INFINITY)
}

export interface CsvSpan {
  readonly source: Uint8Array
  readonly at: number
  readonly limit: number
}

/** The same, with the first `cellsMax` cells alone. */
export function readCsvCells({ source, at, limit }: CsvSpan, dialect: CsvDialect, cellsMax: number): CsvRecord {
  const cells: CsvCell[] = []
  let offset = at
  for (;;) {
    const cell = cells.length < cellsMax ? readCsvCell(source, offset, limit, dialect) : null
    if (cell !== null) cells.push(cell)
    const end = cell?.end ?? cellEnd(source, offset, limit, dialect)
    if (end >= limit || !isDelimiter(source, end, dialect)) {
      return { cells, next: Math.min(limit, behindLineEnd(source, end)) }
    }
    offset = end + dialect.delimiter.length
  }
}

function cellEnd(source: Uint8Array, at: number, limit: number, dialect: CsvDialect): number {
  const opening = behindBlanks(source, at, dialect)
  const content = source[opening] === quote ? quotedEnd(source, opening, limit, dialect) : at
  return bareEnd(source, content, limit, dialect)
}

/** Reads the cell that begins at `at`. */
export function readCsvCell(source: Uint8Array, at: number, limit: number, dialect: CsvDialect): CsvCell {
  const opening = behindBlanks(source, at, dialect)
  if (source[opening] === quote) return readQuotedCell(source, opening, limit, dialect)
  const end = bareEnd(source, at, limit, dialect)
  const bytes = source.subarray(at, end)
  return { text: textDecoder.decode(bytes), bytes, isQuoted: false, isSound: true, isUtf8: isUtf8(bytes), end }
}

/** Whether a quote may stand behind it that opens a field. */
export function mayOpenField(byte: number | undefined): boolean {
  return byte === quote || byte === blank
}

/** Blanks that part fields are none to pass over. */
function behindBlanks(source: Uint8Array, at: number, { delimiter }: CsvDialect): number {
  let offset = at
  if (delimiter[0] !== blank) while (source[offset] === blank) offset += 1
  return offset
}

/** Where the record that a cell ends with goes on behind its line feed. */
function behindLineEnd(source: Uint8Array, end: number): number {
  return source[end] === carriageReturn ? end + 2 : end + 1
}

function isDelimiter(source: Uint8Array, at: number, { delimiter }: CsvDialect): boolean {
  if (source[at] !== delimiter[0]) return false
  for (let position = 1; position < delimiter.length; position += 1) {
    if (source[at + position] !== delimiter[position]) return false
  }
  return true
}

/** The end of a bare field: a delimiter, a line feed, or a carriage return before one. */
export function bareEnd(source: Uint8Array, at: number, limit: number, dialect: CsvDialect): number {
  let offset = at
  while (offset < limit) {
    const byte = source[offset]
    if (byte === lineFeed || isDelimiter(source, offset, dialect)) return offset
    if (byte === carriageReturn && source[offset + 1] === lineFeed) return offset
    offset += 1
  }
  return limit
}

function readQuotedCell(source: Uint8Array, at: number, limit: number, dialect: CsvDialect): CsvCell {
  const content = new Uint8Array(quotedEnd(source, at, limit, dialect) - at)
  let byteCount = 0
  let offset = at + 1
  let isClosed = false
  while (offset < limit && !isClosed) {
    const byte = source[offset] ?? quote
    if (byte === dialect.escape && byte !== quote && offset + 1 < limit) {
      content[byteCount] = source[offset + 1] ?? 0
      byteCount += 1
      offset += 2
    } else if (byte === quote && source[offset + 1] !== quote) {
      isClosed = true
      offset += 1
    } else {
      content[byteCount] = byte
      byteCount += 1
      offset += byte === quote ? 2 : 1
    }
  }
  const end = bareEnd(source, offset, limit, dialect)
  const bytes = content.subarray(0, byteCount)
  const isSound = isClosed && end === behindBlanks(source, offset, dialect)
  return { text: textDecoder.decode(bytes), bytes, isQuoted: true, isSound, isUtf8: isUtf8(bytes), end }
}

/** The offset behind the quote that closes the field, or `limit` when none does. */
function quotedEnd(source: Uint8Array, at: number, limit: number, dialect: CsvDialect): number {
  const closing = closingQuote(source, at, limit, dialect)
  return closing < 0 ? limit : closing + 1
}

/** The offset of the quote that closes the field, or -1 when none does. */
function closingQuote(source: Uint8Array, at: number, limit: number, dialect: CsvDialect): number {
  let offset = at + 1
  while (offset < limit) {
    const byte = source[offset]
    if (byte === dialect.escape && byte !== quote) offset += 2
    else if (byte !== quote) offset += 1
    else if (source[offset + 1] === quote) offset += 2
    else return offset
  }
  return -1
}

/** In the bytes of one record: the offset of the quote that opens a field and is never closed, or -1. */
export function openQuoteIn(record: Uint8Array, dialect: CsvDialect): number {
  let offset = 0
  for (;;) {
    const opening = behindBlanks(record, offset, dialect)
    let content = offset
    if (record[opening] === quote) {
      const closing = closingQuote(record, opening, record.length, dialect)
      if (closing < 0) return opening
      content = closing + 1
    }
    const end = bareEnd(record, content, record.length, dialect)
    if (end >= record.length || !isDelimiter(record, end, dialect)) return -1
    offset = end + dialect.delimiter.length
  }
}
