import { leafCount } from '../types/column-leaves.ts'
import { isNullable } from '../types/column-type.ts'
import type { ColumnDefinition } from './column-definition.types.ts'

/** What a value takes in its column's buffers, where its row says nothing of it. */
const valueBytes = 16
/** What a row in quarantine says of a column that it lacks, beside the column's name in the list and in the reason. */
const reasonBytes = 64
/** What the rows that are parsed at once may take, as far as the schema alone tells. */
export const weightMax = 512 * 1024 * 1024

/**
 * How many rows with next to nothing in them may be parsed at once: a row of three bytes has a value, or a reason against
 * it, for each column of its table.
 */
export function rowsAtOnceMax(columns: readonly ColumnDefinition[]): number {
  const known = rowsMaxOf.get(columns)
  if (known !== undefined) return known
  let weight = 0
  for (const { name, type, defaultExpression } of columns) {
    const isRequired = defaultExpression === null && !isNullable(type)
    weight += leafCount(type) * valueBytes + (isRequired ? reasonBytes + 2 * name.length : 0)
  }
  const rowsMax = Math.max(1, Math.floor(weightMax / weight))
  rowsMaxOf.set(columns, rowsMax)
  return rowsMax
}

const rowsMaxOf = new WeakMap<readonly ColumnDefinition[], number>()

/** Bytes of bodies that are parsed together, whose rows may have next to nothing in them: for wide tables less than a frame. */
export function bytesAtOnceMax(columns: readonly ColumnDefinition[], frameBytes: number): number {
  return Math.min(frameBytes, 4 * rowBytesMin * rowsAtOnceMax(columns))
}

/** `{}` and its line feed. */
export const rowBytesMin = 3

const lineFeed = 0x0a

/**
 * Lines that a frame holds, about: more would be mostly lines that are no rows, and each of those is one in quarantine. Frames of
 * rows have fewer: they are full before.
 */
export const tinyLinesMax = 256 * 1024

const strideBytes = 16 * 1024
const lookedAtBytes = 1024

/**
 * About how many line feeds are in `bytes`, by one place of each 16 KiB, as counting them all takes as long as a fifth of
 * parsing them. The place moves with `turn`, so that no pattern of long and short lines hides from it for long.
 */
export function estimateLineFeeds(bytes: Uint8Array, turn: number): number {
  let count = 0
  for (let stride = 0; stride < bytes.length; stride += strideBytes) {
    const byteCount = Math.min(strideBytes, bytes.length - stride)
    const place = ((turn + stride / strideBytes) * 7 * lookedAtBytes) % byteCount
    const looked = bytes.subarray(stride + place, Math.min(stride + place + lookedAtBytes, stride + byteCount))
    count += (countLineFeeds(looked) * byteCount) / looked.length
  }
  return count
}

/** The line feeds in `bytes`, or more than `countMax` when there are more. */
export function countLineFeeds(bytes: Uint8Array, countMax = Number.POSITIVE_INFINITY): number {
  let count = 0
  for (let at = bytes.indexOf(lineFeed); at >= 0 && count <= countMax; at = bytes.indexOf(lineFeed, at + 1)) count += 1
  return count
}
