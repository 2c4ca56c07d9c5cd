/**
 * Unpacks zstd (RFC 8878) piece by piece, whatever somebody has written in it: time is bound by the bytes that come in and
 * go out, and memory by the window of a frame and what the frame has given so far, not by what its header promises. A
 * checksum is not looked at.
 */
import { giveWay } from '../time-slices.ts'
import { BlockReader, type BlockTarget } from './zstd-block.ts'
import { corrupt } from './zstd-entropy.ts'
import {
  blockBytesMax,
  blockHeaderBytes,
  type FrameHeader,
  frameHeaderBytesMax,
  frameMagic,
  isSkippable,
  readBlockHeader,
  readFrameHeader,
  skippableHeaderBytes,
  windowBytesMax,
} from './zstd-headers.ts'

/**
 * What the packed bytes unpack to, block by block. Others get their turn while much of it is nothing, or is not waited for.
 * @throws ZstdFault as `ZstdUnpacker.next` and `end` do; `takeMemory` as there.
 */
export async function* unzstd(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  takeMemory?: (byteCount: number) => void,
): AsyncGenerator<Uint8Array> {
  const unpacker = new ZstdUnpacker(takeMemory)
  for await (const packed of body) {
    for (let offset = 0; offset < packed.length; ) {
      offset += unpacker.feed(packed.subarray(offset))
      for (let piece = unpacker.next(); piece !== null; piece = unpacker.next()) {
        if (piece.length > 0) yield piece
        await giveWay()
      }
    }
  }
  unpacker.end()
}

/** Room for a block behind the rest of another one; read ahead in front of it and behind it are a few bytes more. */
const inputBytes = 4 * blockBytesMax
const paddingBytes = 8
/** One after the other: each costs something, and gives nothing. */
const emptyFramesMax = 1000
const nothing = new Uint8Array(0)

interface OpenFrame {
  readonly header: FrameHeader
  /** Made for the first block that is packed. */
  blocks: BlockReader | null
  givenBytes: number
}

export class ZstdUnpacker {
  readonly #takeMemory: (byteCount: number) => void
  readonly #input = new Uint8Array(inputBytes + 2 * paddingBytes)
  readonly #view = new DataView(this.#input.buffer)
  #inputStart = paddingBytes
  #inputEnd = paddingBytes
  /** What the frame has given last, as far as its window reaches. */
  #history: Uint8Array = new Uint8Array(0)
  #historyStart = 0
  #historyEnd = 0
  #frame: OpenFrame | null = null
  /** Of a frame to be passed over, and of checksums. */
  #skippedBytes = 0
  #emptyFrames = 0

  /** `takeMemory` is told of bytes that windows need beyond those before, and may throw. */
  constructor(takeMemory: (byteCount: number) => void = () => {}) {
    this.#takeMemory = takeMemory
  }

  /** Takes of the packed bytes what there is room for, and says how many; `next` makes room. */
  feed(bytes: Uint8Array): number {
    const limit = inputBytes + paddingBytes
    if (this.#inputEnd === limit || this.#inputStart === this.#inputEnd) {
      this.#input.copyWithin(paddingBytes, this.#inputStart, this.#inputEnd)
      this.#inputEnd -= this.#inputStart - paddingBytes
      this.#inputStart = paddingBytes
    }
    const taken = bytes.subarray(0, limit - this.#inputEnd)
    this.#input.set(taken, this.#inputEnd)
    this.#inputEnd += taken.length
    return taken.length
  }

  /**
   * Reads a header or a block and gives what was in it, often nothing; null when more has to come first. What it gives is the
   * caller's.
   * @throws ZstdFault for bytes that are no zstd, or more than is taken.
   */
  next(): Uint8Array | null {
    if (this.#skippedBytes > 0) return this.#skip()
    return this.#frame === null ? this.#beginFrame() : this.#readBlock(this.#frame)
  }

  /** Behind the last byte. @throws ZstdFault in the middle of a frame. */
  end(): void {
    const isWhole = this.#frame === null && this.#skippedBytes === 0 && this.#inputStart === this.#inputEnd
    if (!isWhole) throw corrupt('it ends in the middle of a frame')
  }

  get #waitingBytes(): number {
    return this.#inputEnd - this.#inputStart
  }

  #skip(): Uint8Array | null {
    const skipped = Math.min(this.#skippedBytes, this.#waitingBytes)
    this.#inputStart += skipped
    this.#skippedBytes -= skipped
    return skipped === 0 ? null : nothing
  }

  #beginFrame(): Uint8Array | null {
    if (this.#waitingBytes < 4) return null
    const magic = this.#view.getUint32(this.#inputStart, true)
    if (isSkippable(magic)) return this.#beginSkippable()
    if (magic !== frameMagic) throw corrupt('something else stands where a frame should begin')
    const headerEnd = Math.min(this.#inputEnd, this.#inputStart + frameHeaderBytesMax)
    const header = readFrameHeader(new DataView(this.#input.buffer, 0, headerEnd), this.#inputStart)
    if (header === null) return null
    if (typeof header === 'string') throw corrupt(header)
    if (header.hasDictionary) throw corrupt('it needs a dictionary')
    if (header.windowBytes > windowBytesMax) throw corrupt('its window is larger than 128 MiB')
    this.#inputStart += header.headerBytes
    this.#historyStart = this.#historyEnd
    this.#frame = { header, blocks: null, givenBytes: 0 }
    return nothing
  }

  #beginSkippable(): Uint8Array | null {
    if (this.#waitingBytes < skippableHeaderBytes) return null
    this.#skippedBytes = this.#view.getUint32(this.#inputStart + 4, true)
    this.#inputStart += skippableHeaderBytes
    this.#countFrame(0)
    return nothing
  }

  #countFrame(givenBytes: number): void {
    this.#emptyFrames = givenBytes === 0 ? this.#emptyFrames + 1 : 0
    if (this.#emptyFrames > emptyFramesMax) {
      throw corrupt(`more than ${emptyFramesMax} frames one after the other have nothing in them`)
    }
  }

  #readBlock(frame: OpenFrame): Uint8Array | null {
    if (this.#waitingBytes < blockHeaderBytes) return null
    const { kind, isLast, sizeBytes, packedBytes } = readBlockHeader(this.#view, this.#inputStart)
    if (kind === 'reserved') throw corrupt('a block is of an unknown kind')
    if (sizeBytes > frame.header.blockBytesMax) throw corrupt('a block is larger than its frame may have it')
    const start = this.#inputStart + blockHeaderBytes
    const end = start + packedBytes
    if (end > this.#inputEnd) return null
    const target = this.#targetOf(frame.header)
    const { at } = target
    this.#historyEnd = this.#unpack(frame, { kind, sizeBytes, start, end }, target)
    this.#inputStart = end
    frame.givenBytes += this.#historyEnd - at
    if (isLast) this.#endFrame(frame)
    return this.#historyEnd === at ? nothing : this.#history.slice(at, this.#historyEnd)
  }

  #unpack(
    frame: OpenFrame,
    { kind, sizeBytes, start, end }: { kind: string; sizeBytes: number; start: number; end: number },
    target: BlockTarget,
  ): number {
    const { bytes, at } = target
    if (kind === 'raw') {
      bytes.set(this.#input.subarray(start, end), at)
      return at + sizeBytes
    }
    if (kind === 'repeated') {
      bytes.fill(this.#input[start] ?? 0, at, at + sizeBytes)
      return at + sizeBytes
    }
    frame.blocks ??= new BlockReader()
    return frame.blocks.read(this.#input, { start, end }, target)
  }

  #endFrame({ header, givenBytes }: OpenFrame): void {
    if (header.contentBytes !== null && header.contentBytes !== givenBytes) {
      throw corrupt('a frame has another length than it says')
    }
    this.#frame = null
    this.#skippedBytes = header.hasChecksum ? 4 : 0
    this.#countFrame(givenBytes)
  }

  /** Room for a block behind the window: bytes that the window has left are overwritten, or the room grows. */
  #targetOf({ windowBytes, blockBytesMax: bytesMax }: FrameHeader): BlockTarget {
    if (this.#historyEnd + bytesMax > this.#history.length) {
      const kept = Math.min(windowBytes, this.#historyEnd - this.#historyStart)
      const keptStart = this.#historyEnd - kept
      // Half a window more, or the window would be moved for each of its blocks.
      const room = kept + Math.max(kept >>> 1, blockBytesMax) + bytesMax
      if (room > this.#history.length) {
        this.#takeMemory(room - this.#history.length)
        const larger = new Uint8Array(room)
        larger.set(this.#history.subarray(keptStart, this.#historyEnd))
        this.#history = larger
      } else this.#history.copyWithin(0, keptStart, this.#historyEnd)
      this.#historyStart = 0
      this.#historyEnd = kept
    }
    const historyStart = Math.max(this.#historyStart, this.#historyEnd - windowBytes)
    return { bytes: this.#history, historyStart, at: this.#historyEnd, limit: this.#historyEnd + bytesMax }
  }
}
