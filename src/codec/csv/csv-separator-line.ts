/** The line by which a spreadsheet program says what separates the fields below it: `sep=;`. It is no record. */

import { carriageReturn, lineFeed } from './csv-cells.ts'

export interface SeparatorLine {
  /** One ASCII character. */
  readonly delimiter: string
  /** Where the line behind it begins. */
  readonly next: number
}

const marks = ['sep=', 'SEP=', 'Sep='].map((text) => Buffer.from(text))

/** The line at `offset`; null when there is none. A line of its own is known by its end, so a record `sep=1,2` is none. */
export function readSeparatorLine(bytes: Uint8Array, offset: number): SeparatorLine | null {
  const isQuoted = bytes[offset] === 0x22
  const start = isQuoted ? offset + 1 : offset
  if (!marks.some((mark) => mark.every((byte, index) => bytes[start + index] === byte))) return null
  const character = bytes[start + 4] ?? 0
  let next = start + 5
  if (isQuoted && bytes[next] === 0x22) next += 1
  if (bytes[next] === carriageReturn) next += 1
  // Letters and digits are values; what is no ASCII would be more than a byte.
  const isDelimiter = character === 0x09 || (character >= 0x20 && character < 0x7f && !/[\w"]/.test(toText(character)))
  return isDelimiter && bytes[next] === lineFeed ? { delimiter: toText(character), next: next + 1 } : null
}

function toText(byte: number): string {
  return String.fromCharCode(byte)
}
