/** The headers of pages (`PageHeader` of `parquet.thrift`), read and judged before the engine reads what follows them. */
import type { Pieces } from '../../shared/time-slices.ts'
import { CompactReader } from './thrift-compact.ts'

export const pageTypes = { data: 0, index: 1, dictionary: 2, dataV2: 3 } as const
export const codecs = { none: 0, gzip: 2, lzo: 3, brotli: 4, lz4Frames: 5, zstd: 6 } as const

export interface PageHeader {
  /** Of the header itself. */
  readonly headerBytes: number
  readonly type: number
  /** What follows the header. */
  readonly packedBytes: number
  /** The bytes in front of what is packed: levels, in pages of the second version. */
  readonly plainBytes: number
  /** What its packed bytes are said to unpack to; null where nothing is packed. */
  readonly unpackedBytes: number | null
  /** Values, with those that are NULL; 0 for what is no data page. */
  readonly valueCount: number
}

/** @throws RangeError where `bytes` begin with no header, or with a part of one. */
export function* readPageHeader(bytes: Uint8Array): Pieces<PageHeader> {
  const reader = new CompactReader(bytes)
  let type = -1
  let unpackedBytes = -1
  let packedBytes = -1
  let valueCount = 0
  let levelBytes = 0
  let isPacked = true
  const readCount = (field: number): boolean => {
    if (field !== 1) return false
    valueCount = reader.readInteger()
    return true
  }
  const readSecond = (field: number, fieldType: number): boolean => {
    if (field === 5 || field === 6) levelBytes += notNegative(reader.readInteger())
    else if (field === 7) isPacked = fieldType === 1
    else return readCount(field)
    return field !== 7
  }
  yield* reader.readStruct((field) => {
    if (field === 1) type = reader.readInteger()
    else if (field === 2) unpackedBytes = reader.readInteger()
    else if (field === 3) packedBytes = reader.readInteger()
    else if (field === 5) return reader.readStruct(readCount)
    else if (field === 8) return reader.readStruct(readSecond)
    else return false
    return true
  })
  if (type < 0 || type > pageTypes.dataV2) throw new RangeError('there is no such type of a page')
  const isSecond = type === pageTypes.dataV2
  const plainBytes = isSecond ? levelBytes : 0
  return {
    headerBytes: reader.offset,
    type,
    packedBytes: notNegative(packedBytes),
    plainBytes,
    unpackedBytes: isSecond && !isPacked ? null : notNegative(unpackedBytes - plainBytes),
    valueCount: isSecond || type === pageTypes.data ? notNegative(valueCount) : 0,
  }
}

function notNegative(value: number): number {
  if (!(value >= 0)) throw new RangeError('a size is missing or below 0')
  return value
}
