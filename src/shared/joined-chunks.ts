/** Chunks shorter than this are copied together as they come: thousands of small buffers cost more than their bytes. */
const smallChunkBytes = 1_024
const pieceBytes = 64 * 1024

/** Gathers the chunks of a body into one piece. */
export class JoinedChunks {
  byteCount = 0
  chunkCount = 0
  #pieces: Buffer[] = []
  /** The piece that small chunks go into. */
  #open: Buffer | null = null
  #openBytes = 0

  push(chunk: Buffer): void {
    this.byteCount += chunk.length
    this.chunkCount += 1
    // The only chunk, as most often, is not copied at all.
    if (this.chunkCount > 1 && chunk.length < smallChunkBytes) this.#copy(chunk)
    else {
      this.#closePiece()
      this.#pieces.push(chunk)
    }
  }

  /** All of it so far; the chunk itself when there was one alone. Costs nothing to ask again. */
  bytes(): Buffer {
    this.#closePiece()
    const [only] = this.#pieces
    if (this.#pieces.length === 1 && only !== undefined) return only
    const joined = Buffer.concat(this.#pieces, this.byteCount)
    this.#pieces = [joined]
    return joined
  }

  #copy(chunk: Buffer): void {
    if (this.#open === null || this.#open.length - this.#openBytes < chunk.length) {
      this.#closePiece()
      // As much as there is already, so that few small chunks take little.
      this.#open = Buffer.allocUnsafe(Math.min(pieceBytes, Math.max(smallChunkBytes, this.byteCount)))
    }
    this.#openBytes += chunk.copy(this.#open, this.#openBytes)
  }

  #closePiece(): void {
    if (this.#open !== null) this.#pieces.push(this.#open.subarray(0, this.#openBytes))
    this.#open = null
    this.#openBytes = 0
  }
}
