/** Reads exact counts of bytes out of chunks of any size; what is left over goes back. */
export class ByteReader {
  readonly #chunks: AsyncIterator<Uint8Array>
  #rest: Uint8Array = new Uint8Array(0)

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#chunks = source[Symbol.asyncIterator]()
  }

  /** `byteCount` bytes, fewer only where the source ends before. */
  async take(byteCount: number): Promise<Uint8Array> {
    const pieces: Uint8Array[] = []
    let missing = byteCount
    while (missing > 0) {
      const piece = await this.takeSome(missing)
      if (piece === null) break
      pieces.push(piece)
      missing -= piece.length
    }
    const [only] = pieces
    return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces)
  }

  /** The next bytes as they come, up to `byteCountMax` of them; null at the end of the source. */
  async takeSome(byteCountMax: number): Promise<Uint8Array | null> {
    while (this.#rest.length === 0) {
      const next = await this.#chunks.next()
      if (next.done === true) return null
      this.#rest = next.value
    }
    const piece = this.#rest.subarray(0, byteCountMax)
    this.#rest = this.#rest.subarray(piece.length)
    return piece
  }

  /** Puts bytes back in front of what follows. */
  giveBack(bytes: Uint8Array): void {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([bytes, this.#rest])
  }

  /** Ends the reading early. */
  async close(): Promise<void> {
    await this.#chunks.return?.()
  }
}
