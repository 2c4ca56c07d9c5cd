// A file in pieces that are fetched at the same time and given out in order. There are never more pieces than the window has
// room for, so that a reader that is slow has the server wait.

import { bodyBytes, faultOf } from './body-bytes.ts'
import type { FileSource } from './file-bytes.types.ts'
import { checkOffset } from './one-stream.ts'
import { PieceBytes } from './piece-bytes.ts'
import { brokenFault, type RemoteFault } from './remote-fault.ts'

/** The bytes from `offset` on of a file that has ranges and a length. */
export async function* readInPieces(file: FileSource, offset: number, signal: AbortSignal): AsyncGenerator<Buffer> {
  checkOffset(file, offset)
  const totalBytes = file.identity.byteCount ?? 0
  const { connectionsMax, pieceBytes } = file.options
  const lanes = { count: connectionsMax }
  const pieces: Piece[] = []
  for (let start = offset; ; ) {
    while (start < totalBytes && pieces.length < lanes.count) {
      const piece = new Piece(start, Math.min(pieceBytes, totalBytes - start))
      void piece.fetch(file, { lanes, signal })
      pieces.push(piece)
      start += piece.byteCount
    }
    const first = pieces.shift()
    if (first === undefined) return
    // While it is given out, it still has its place.
    pieces.unshift(first)
    yield* first.chunks()
    pieces.shift()
  }
}

interface Lanes {
  /** Pieces that are fetched at once. */
  count: number
}

class Piece {
  readonly byteCount: number
  readonly #start: number
  readonly #bytes = new PieceBytes()
  #receivedBytes = 0
  #failure: { readonly error: unknown } | null = null
  #wake: () => void = () => {}

  constructor(start: number, byteCount: number) {
    this.#start = start
    this.byteCount = byteCount
  }

  /** Fills the piece; what it fails with is raised by `chunks`. */
  async fetch(
    file: FileSource,
    { lanes, signal }: { readonly lanes: Lanes; readonly signal: AbortSignal },
  ): Promise<void> {
    const retries = file.newRetries()
    while (this.#receivedBytes < this.byteCount && this.#failure === null) {
      try {
        await this.#fetchRest(file, (byteCount) => retries.progressed(byteCount), signal)
      } catch (error) {
        await this.#noteFailure(async () => {
          const fault = faultOf(error, file, signal)
          lessen(lanes, fault)
          await retries.wait(fault, signal)
        })
      }
    }
  }

  /** The bytes as they arrive. */
  async *chunks(): AsyncGenerator<Buffer> {
    for (let takenBytes = 0; takenBytes < this.byteCount; ) {
      const chunk = this.#bytes.shift()
      if (chunk !== undefined) {
        takenBytes += chunk.length
        yield chunk
      } else if (this.#failure === null) await this.#arrival()
      else throw this.#failure.error
    }
  }

  #arrival(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  async #fetchRest(file: FileSource, onProgress: (byteCount: number) => void, signal: AbortSignal): Promise<void> {
    const reached = this.#start + this.#receivedBytes
    const part = await file.request({ start: reached, end: this.#start + this.byteCount - 1 }, signal)
    if (part.offset !== reached) {
      part.body.destroy()
      throw brokenFault(file.place, 'the server has stopped answering with ranges', { isRetryable: true })
    }
    for await (const chunk of bodyBytes(file, part, { reached, signal })) {
      this.#bytes.push(chunk)
      this.#receivedBytes += chunk.length
      file.received(chunk.length)
      onProgress(chunk.length)
      this.#wake()
    }
    if (this.#receivedBytes < this.byteCount) {
      throw brokenFault(file.place, 'the server sends shorter ranges than requested', { isRetryable: true })
    }
  }

  async #noteFailure(attempt: () => Promise<void>): Promise<void> {
    try {
      await attempt()
    } catch (error) {
      this.#failure = { error }
      this.#wake()
    }
  }
}

/** A server that has too much to do gets fewer requests at once. */
function lessen(lanes: Lanes, { isThrottled }: RemoteFault): void {
  if (isThrottled) lanes.count = Math.max(1, Math.floor(lanes.count / 2))
}
