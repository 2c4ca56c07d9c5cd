/** The headers of zstd: frames (RFC 8878 §3.1.1.1) and blocks (§3.1.1.2), read and judged before anything is made of them. */

export const frameMagic = 0xfd2fb528
// Sixteen magic numbers mark frames to be skipped; the last four bits differ.
const skippableMagic = 0x184d2a50
/** What a block gives at most. */
export const blockBytesMax = 128 * 1024
/** The largest window that zstd's own decoder takes without being told to. */
export const windowBytesMax = 128 * 1024 * 1024
/** Magic number, descriptor, window, dictionary and size at their longest. */
export const frameHeaderBytesMax = 18
export const skippableHeaderBytes = 8
export const blockHeaderBytes = 3

export interface FrameHeader {
  /** Null where the frame does not say. */
  readonly contentBytes: number | null
  readonly windowBytes: number
  /** What one of its blocks gives at most. */
  readonly blockBytesMax: number
  readonly hasChecksum: boolean
  readonly hasDictionary: boolean
  /** With the magic number. */
  readonly headerBytes: number
}

export function isSkippable(magic: number): boolean {
  return magic >>> 4 === skippableMagic >>> 4
}

/** The header that begins at `start`, its magic number; why it is refused; or null when more of it has to come. */
export function readFrameHeader(view: DataView, start: number): FrameHeader | string | null {
  const descriptorAt = start + 4
  if (descriptorAt + 1 > view.byteLength) return null
  const descriptor = view.getUint8(descriptorAt)
  const isSingleSegment = (descriptor & 0x20) !== 0
  const dictionaryIdBytes = [0, 1, 2, 4][descriptor & 3] ?? 0
  const sizeBytes = [isSingleSegment ? 1 : 0, 2, 4, 8][descriptor >>> 6] ?? 0
  const windowAt = descriptorAt + 1
  const dictionaryAt = windowAt + (isSingleSegment ? 0 : 1)
  const sizeAt = dictionaryAt + dictionaryIdBytes
  const end = sizeAt + sizeBytes
  if (end > view.byteLength) return null
  const contentBytes = readContentSize(view, sizeAt, sizeBytes)
  const windowBytes = isSingleSegment ? (contentBytes ?? 0) : readWindowSize(view.getUint8(windowAt))
  if (!isSingleSegment && windowBytes > windowBytesMax) return 'its window is larger than 128 MiB'
  let hasDictionary = false
  for (let at = dictionaryAt; at < sizeAt; at += 1) hasDictionary ||= view.getUint8(at) !== 0
  return {
    contentBytes,
    windowBytes,
    blockBytesMax: Math.min(blockBytesMax, windowBytes),
    hasChecksum: (descriptor & 0x04) !== 0,
    hasDictionary,
    headerBytes: end - start,
  }
}

function readContentSize(view: DataView, offset: number, sizeBytes: number): number | null {
  switch (sizeBytes) {
    case 1:
      return view.getUint8(offset)
    case 2:
      return view.getUint16(offset, true) + 256
    case 4:
      return view.getUint32(offset, true)
    case 8:
      return Number(view.getBigUint64(offset, true))
    default:
      return null
  }
}

function readWindowSize(descriptor: number): number {
  const base = 2 ** (10 + (descriptor >>> 3))
  return base + (base / 8) * (descriptor & 7)
}

const blockKinds = ['raw', 'repeated', 'compressed', 'reserved'] as const

export interface BlockHeader {
  readonly kind: (typeof blockKinds)[number]
  readonly isLast: boolean
  /** Of a compressed block what it takes, of the others what it gives. */
  readonly sizeBytes: number
  /** What follows the header. */
  readonly packedBytes: number
}

/** The three bytes at `at`, which are there. */
export function readBlockHeader(view: DataView, at: number): BlockHeader {
  const word = view.getUint16(at, true) | (view.getUint8(at + 2) << 16)
  const kind = blockKinds[(word >>> 1) & 3] ?? 'reserved'
  const sizeBytes = word >>> 3
  return { kind, isLast: (word & 1) === 1, sizeBytes, packedBytes: kind === 'repeated' ? 1 : sizeBytes }
}
