import type { Readable } from 'node:stream'
import { assert } from '../shared/assert.ts'
import { JoinedChunks } from '../shared/joined-chunks.ts'

/** The first bytes of a body. */
export interface Beginning {
  /** As many bytes as were asked for, or more; fewer only when the body is shorter, or fails. */
  readonly bytes: Buffer
  /** True when the body has no more bytes than these. */
  readonly isWhole: boolean
}

/**
 * The bytes of an import, whatever brings them: a request, the file of a form, a download.
 *
 * Its beginning may be looked at before it is read, as often as necessary and each time further: what was looked at is kept,
 * and comes first when the body is read. Then it is read once, by whoever iterates over it, who owns the chunks.
 */
export class SourceBody implements AsyncIterable<Uint8Array> {
  #stream: Readable
  #chunks: AsyncIterator<Buffer>
  readonly #toError: (cause: unknown) => unknown
  /** What was looked at; null once the body is read. */
  #beginning: JoinedChunks | null = new JoinedChunks()
  #isWhole = false
  #failure: { readonly error: unknown } | null = null
  #bound: ByteBound | null = null
  #byteCount = 0
  /**
   * Gives up what was read and is read of the body, and reads it from the byte with this number on. Null where whoever brings
   * it sends it once.
   */
  readonly readFrom: ((offset: number) => AsyncIterable<Uint8Array>) | null

  /**
   * @param stream a stream of buffers that nobody else reads; nothing is asked of it before somebody looks or reads.
   * @param toError what the reader is told of what the stream fails with.
   * @param reopen gives another such stream, of the bytes from an offset on.
   */
  constructor(
    stream: Readable,
    toError: (cause: unknown) => unknown = (cause) => cause,
    reopen: ((offset: number) => Readable) | null = null,
  ) {
    this.#stream = stream
    this.#chunks = chunksOf(stream)
    this.#toError = toError
    this.readFrom = reopen === null ? null : (offset) => this.#reopened(() => reopen(offset))
  }

  /**
   * Looks at the first `byteCount` bytes, wherever the network cuts them. A body that fails so early fails its reader, not
   * whoever looks. The bytes are valid until the body is read.
   */
  async beginning(byteCount: number): Promise<Beginning> {
    const beginning = this.#beginning
    assert(beginning !== null, 'a body is looked at before it is read')
    while (beginning.byteCount < byteCount && !this.#isWhole && this.#failure === null) {
      await this.#lookFurther(beginning)
    }
    return { bytes: beginning.bytes(), isWhole: this.#isWhole }
  }

  /** Fails whoever reads more of it than this. @throws where what was looked at is too much already. */
  boundBytes(bound: ByteBound): void {
    this.#bound = bound
    if (this.#byteCount > bound.bytesMax) throw bound.tooLarge()
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return {
      next: () => this.#next(),
      return: async () => {
        this.close()
        return { done: true, value: undefined }
      },
    }
  }

  /** Gives the stream back, read or not; whoever still reads it is told that it has ended too early. May be called again. */
  close(): void {
    this.#beginning = null
    this.#stream.destroy()
  }

  #reopened(open: () => Readable): AsyncIterable<Uint8Array> {
    this.close()
    this.#isWhole = false
    this.#failure = null
    this.#stream = open()
    this.#chunks = chunksOf(this.#stream)
    return this
  }

  async #lookFurther(beginning: JoinedChunks): Promise<void> {
    try {
      const next = await this.#nextChunk()
      if (next.done === true) this.#isWhole = true
      else beginning.push(next.value)
    } catch (error) {
      this.#failure = { error }
    }
  }

  async #nextChunk(): Promise<IteratorResult<Buffer>> {
    const next = await this.#chunks.next()
    if (next.done === true) return next
    this.#byteCount += next.value.length
    if (this.#bound !== null && this.#byteCount > this.#bound.bytesMax) throw this.#bound.tooLarge()
    return next
  }

  async #next(): Promise<IteratorResult<Uint8Array>> {
    const beginning = this.#beginning
    this.#beginning = null
    if (beginning !== null && beginning.byteCount > 0) return { done: false, value: beginning.bytes() }
    try {
      if (this.#failure !== null) throw this.#failure.error
      return await this.#nextChunk()
    } catch (error) {
      throw this.#toError(error)
    }
  }
}

/** How long a body may be. */
export interface ByteBound {
  readonly bytesMax: number
  readonly tooLarge: () => Error
}

function chunksOf(stream: Readable): AsyncIterator<Buffer> {
  // It may fail while nobody reads it; its reader is told.
  stream.on('error', () => {})
  // A stream in byte mode gives buffers.
  return stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>
}
