import { kibibyte } from '../../shared/bytes.ts'

/** Shorter chunks are put together, so that a server that sends single bytes takes no more memory than others. */
const chunkBytesMin = 16 * kibibyte
const blockBytes = 64 * kibibyte

/** Bytes that have arrived and are not given out yet. They take at most twice their memory, and one block. */
export class PieceBytes {
  readonly #chunks: Buffer[] = []
  /** Bytes of short chunks, as far as it is filled. */
  #block: Buffer = Buffer.alloc(0)
  #blockLength = 0

  push(chunk: Buffer): void {
    // A view of a buffer that is much larger would keep all of that.
    const isOwn = chunk.length >= chunkBytesMin && chunk.buffer.byteLength <= 2 * chunk.length
    if (isOwn) {
      this.#endBlock()
      this.#chunks.push(chunk)
    } else this.#copy(chunk)
  }

  /** What has arrived next; undefined where nothing has. */
  shift(): Buffer | undefined {
    if (this.#chunks.length === 0) this.#endBlock()
    return this.#chunks.shift()
  }

  #copy(chunk: Buffer): void {
    for (let copied = 0; copied < chunk.length; ) {
      if (this.#blockLength === this.#block.length) {
        this.#endBlock()
        this.#block = Buffer.allocUnsafeSlow(blockBytes)
      }
      const byteCount = chunk.copy(this.#block, this.#blockLength, copied)
      this.#blockLength += byteCount
      copied += byteCount
    }
  }

  /** What the block has goes out; what follows may use the rest of it. */
  #endBlock(): void {
    if (this.#blockLength === 0) return
    this.#chunks.push(this.#block.subarray(0, this.#blockLength))
    this.#block = this.#block.subarray(this.#blockLength)
    this.#blockLength = 0
  }
}
