// Reads the frames of a zstd body without decompressing it, so that a bomb is known before it goes off: the native
// decompressor has no limit of its own, and what a frame says of its size can be a lie. Blocks cannot lie: each gives
// 128 KiB at most.
//
// See RFC 8878 §3 for the layout.

import {
  blockHeaderBytes,
  type FrameHeader,
  frameMagic,
  isSkippable,
  readBlockHeader,
  readFrameHeader,
  skippableHeaderBytes,
} from './zstd-headers.ts'

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
  if (isSkippable(magic)) return scanSkippable(view, start)
  if (magic !== frameMagic)
    return start === 0 ? 'it does not begin with a frame' : 'something else follows its last frame'
  const header = readFrameHeader(view, start)
  if (header === null) return cutReason
  return typeof header === 'string' ? header : scanBlocks(view, start + header.headerBytes, header)
}

const cutReason = 'it ends in the middle of a frame'

function scanSkippable(view: DataView, start: number): ScannedFrame | string {
  if (start + skippableHeaderBytes > view.byteLength) return cutReason
  const end = start + skippableHeaderBytes + view.getUint32(start + 4, true)
  return end > view.byteLength ? cutReason : { declaredBytes: 0, bytesMax: 0, end }
}

function scanBlocks(view: DataView, start: number, header: FrameHeader): ScannedFrame | string {
  let offset = start
  let bytesMax = 0
  for (let isLast = false; !isLast; ) {
    if (offset + blockHeaderBytes > view.byteLength) return cutReason
    const block = readBlockHeader(view, offset)
    isLast = block.isLast
    if (block.kind === 'reserved') return 'a block is of an unknown kind'
    bytesMax += block.kind === 'compressed' ? header.blockBytesMax : block.sizeBytes
    offset += blockHeaderBytes + block.packedBytes
  }
  const end = offset + (header.hasChecksum ? 4 : 0)
  if (end > view.byteLength) return cutReason
  return { declaredBytes: header.contentBytes ?? 0, bytesMax, end }
}
