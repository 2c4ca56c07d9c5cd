// Reads the frames of a zstd body without decompressing it, so that a bomb is known before it goes off: the native
// decompressor has no limit of its own, and what a frame says of its size can be a lie. Blocks cannot lie: each gives
// 128 KiB at most.
//
// See RFC 8878 §3 for the layout.

const frameMagic = 0xfd2fb528
// Sixteen magic numbers mark frames to be skipped; the last four bits differ.
const skippableMagic = 0x184d2a50
const blockBytesMax = 128 * 1024
// The largest window that zstd's own decoder takes without being told to.
const windowBytesMax = 128 * 1024 * 1024

export type ZstdScan =
  | {
      readonly isValid: true
      /** Sum of the sizes that the frames declare; frames without one count 0. */
      readonly declaredBytes: number
      /** No decompressor can get more than this out of the body. */
      readonly bytesMax: number
    }
  | { readonly isValid: false; readonly reason: string }

/** Walks all frames and blocks of a whole zstd body. Trailing bytes that begin no frame make it invalid. */
export function scanZstd(body: Uint8Array): ZstdScan {
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength)
  let declaredBytes = 0
  let bytesMax = 0
  let offset = 0
  while (offset < body.length) {
    const frame = scanFrame(view, offset)
    if (typeof frame === 'string') return { isValid: false, reason: frame }
    declaredBytes += frame.declaredBytes
    bytesMax += frame.bytesMax
    offset = frame.end
  }
  return { isValid: true, declaredBytes, bytesMax }
}

interface ScannedFrame {
  readonly declaredBytes: number
  readonly bytesMax: number
  readonly end: number
}

/** One frame, or why there is none. */
function scanFrame(view: DataView, start: number): ScannedFrame | string {
  if (start + 4 > view.byteLength) return cutReason
  const magic = view.getUint32(start, true)
  if (magic >>> 4 === skippableMagic >>> 4) return scanSkippable(view, start)
  if (magic !== frameMagic)
    return start === 0 ? 'it does not begin with a frame' : 'something else follows its last frame'
  const header = scanHeader(view, start + 4)
  if (typeof header === 'string') return header
  return scanBlocks(view, header)
}

const cutReason = 'it ends in the middle of a frame'

function scanSkippable(view: DataView, start: number): ScannedFrame | string {
  if (start + 8 > view.byteLength) return cutReason
  const end = start + 8 + view.getUint32(start + 4, true)
  return end > view.byteLength ? cutReason : { declaredBytes: 0, bytesMax: 0, end }
}

interface FrameHeader {
  readonly declaredBytes: number
  readonly blockBytesMax: number
  readonly hasChecksum: boolean
  readonly end: number
}

function scanHeader(view: DataView, start: number): FrameHeader | string {
  if (start + 1 > view.byteLength) return cutReason
  const descriptor = view.getUint8(start)
  const isSingleSegment = (descriptor & 0x20) !== 0
  const dictionaryIdBytes = [0, 1, 2, 4][descriptor & 3] ?? 0
  const sizeBytes = [isSingleSegment ? 1 : 0, 2, 4, 8][descriptor >>> 6] ?? 0
  const windowOffset = start + 1
  const dictionaryOffset = windowOffset + (isSingleSegment ? 0 : 1)
  const sizeOffset = dictionaryOffset + dictionaryIdBytes
  const end = sizeOffset + sizeBytes
  if (end > view.byteLength) return cutReason
  const declaredBytes = readContentSize(view, sizeOffset, sizeBytes)
  const windowBytes = isSingleSegment ? declaredBytes : readWindowSize(view.getUint8(windowOffset))
  if (!isSingleSegment && windowBytes > windowBytesMax) return 'its window is larger than 128 MiB'
  const hasChecksum = (descriptor & 0x04) !== 0
  return { declaredBytes, blockBytesMax: Math.min(blockBytesMax, windowBytes), hasChecksum, end }
}

function readContentSize(view: DataView, offset: number, sizeBytes: number): number {
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
      return 0
  }
}

function readWindowSize(descriptor: number): number {
  const base = 2 ** (10 + (descriptor >>> 3))
  return base + (base / 8) * (descriptor & 7)
}

const blockKinds = ['raw', 'repeated', 'compressed', 'reserved'] as const

function scanBlocks(view: DataView, header: FrameHeader): ScannedFrame | string {
  let offset = header.end
  let bytesMax = 0
  for (let isLast = false; !isLast; ) {
    if (offset + 3 > view.byteLength) return cutReason
    const blockHeader = view.getUint16(offset, true) | (view.getUint8(offset + 2) << 16)
    isLast = (blockHeader & 1) === 1
    const kind = blockKinds[(blockHeader >>> 1) & 3]
    const sizeBytes = blockHeader >>> 3
    if (kind === 'reserved') return 'a block is of an unknown kind'
    bytesMax += kind === 'compressed' ? header.blockBytesMax : sizeBytes
    offset += 3 + (kind === 'repeated' ? 1 : sizeBytes)
  }
  const end = offset + (header.hasChecksum ? 4 : 0)
  if (end > view.byteLength) return cutReason
  return { declaredBytes: header.declaredBytes, bytesMax, end }
}
