/**
 * What goes over the connection between the service and the process of its engine: frames, each a header of 8 bytes and a
 * payload. The header holds the payload's length (u32), the number of a session (u16) and the kind (u8), little-endian.
 *
 * A session runs one statement at a time, so its number is enough to match an answer with its statement. Statements and
 * results are bytes and nothing else: what is sent seldom is JSON.
 */
import { Buffer } from 'node:buffer'

/** To the engine. */
export const requestKinds = {
  /** `OpenOrder` as JSON; the answer is `opened` or `refused`. */
  open: 1,
  /** A statement as text; the answer is `output` or `failed`. */
  run: 2,
  /** The role of a further session; the answer is `added` or `notAdded`. */
  add: 3,
  /** Closes a session that nobody uses any more; no answer. */
  drop: 4,
  /** Closes all sessions, then the process ends; the answer is `closed`. */
  close: 5,
} as const

/** From the engine. */
export const answerKinds = {
  opened: 1,
  /** `EngineRefusal` as JSON. */
  refused: 2,
  output: 3,
  /** The engine's words. */
  failed: 4,
  /** The number of the session as text. */
  added: 5,
  /** The engine's words. */
  notAdded: 9,
  closed: 6,
  /** Sent once a second: the event loop of the process turns. */
  beat: 7,
  /** A native fault in a thread, whose name is the payload; the process ends. */
  crashed: 8,
} as const

export interface Frame {
  readonly kind: number
  readonly session: number
  /** Of its reader until the next turn of the event loop, unless that copies it; small ones are views over what was received. */
  readonly payload: Buffer
}

const headerBytes = 8

/** A frame whose payload is text. */
export function textFrame(kind: number, session: number, text: string): Buffer {
  const byteCount = Buffer.byteLength(text)
  const frame = Buffer.allocUnsafe(headerBytes + byteCount)
  writeHeader(frame, { kind, session, byteCount })
  frame.write(text, headerBytes)
  return frame
}

/** A frame whose payload is bytes, which are copied. */
export function bytesFrame(kind: number, session: number, bytes: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(headerBytes + bytes.byteLength)
  writeHeader(frame, { kind, session, byteCount: bytes.byteLength })
  frame.set(bytes, headerBytes)
  return frame
}

/** The header of a frame whose payload is sent behind it. */
export function frameHeader(kind: number, session: number, byteCount: number): Buffer {
  const header = Buffer.allocUnsafe(headerBytes)
  writeHeader(header, { kind, session, byteCount })
  return header
}

interface Header {
  readonly kind: number
  readonly session: number
  readonly byteCount: number
}

function writeHeader(frame: Buffer, { kind, session, byteCount }: Header): void {
  frame.writeUInt32LE(byteCount, 0)
  frame.writeUInt16LE(session, 4)
  frame.writeUInt8(kind, 6)
  frame.writeUInt8(0, 7)
}

/** Cuts what a connection brings into frames. */
export class FrameReader {
  readonly #onFrame: (frame: Frame) => void
  #chunks: Buffer[] = []
  #byteCount = 0
  /** Bytes at which the frame that has begun is whole. */
  #neededBytes = headerBytes

  constructor(onFrame: (frame: Frame) => void) {
    this.#onFrame = onFrame
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#byteCount += chunk.byteLength
    if (this.#byteCount < this.#neededBytes) return
    // Joined once the frame is whole, or its header: a large payload is not copied with each chunk.
    let bytes = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks, this.#byteCount)
    while (bytes.byteLength >= headerBytes) {
      const endOffset = headerBytes + bytes.readUInt32LE(0)
      if (bytes.byteLength < endOffset) break
      const payload = bytes.subarray(headerBytes, endOffset)
      this.#onFrame({ kind: bytes.readUInt8(6), session: bytes.readUInt16LE(4), payload })
      bytes = bytes.subarray(endOffset)
    }
    this.#neededBytes = bytes.byteLength < headerBytes ? headerBytes : headerBytes + bytes.readUInt32LE(0)
    this.#chunks = bytes.byteLength > 0 ? [bytes] : []
    this.#byteCount = bytes.byteLength
  }
}
