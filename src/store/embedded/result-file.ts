import { type FileHandle, open, unlink } from 'node:fs/promises'
import { kibibyte } from '../../shared/bytes.ts'
import type { SelectStream } from '../store.types.ts'
import { abortedError } from '../store-error.ts'

const smallResultBytes = 64 * kibibyte
const chunkBytes = 256 * kibibyte

/**
 * A finished result as a stream of the bytes that the engine wrote into `path`; the file is removed at once.
 *
 * A small result is in memory when this resolves. A larger one is read as its consumer asks, and holds a file descriptor
 * until it is consumed, left, or `signal` aborts.
 */
export async function openResult(path: string, signal: AbortSignal): Promise<ResultStream> {
  const file = await open(path)
  try {
    // The name goes now, so that nothing stays behind whatever becomes of the process; the bytes live until the close.
    await unlink(path)
    const first = await readChunk(file, smallResultBytes)
    if (first.byteLength < smallResultBytes) {
      await file.close()
      return new ResultStream([first], undefined, signal)
    }
    return new ResultStream([first], file, signal)
  } catch (thrown) {
    await file.close()
    throw thrown
  }
}

/** A result that is in memory, and needs no reader to go. */
interface WholeResult extends SelectStream {
  readonly whole: Uint8Array
}

/** A small result that is in memory. */
export function wholeResult(bytes: Uint8Array): WholeResult {
  return {
    whole: bytes,
    async *[Symbol.asyncIterator]() {
      if (bytes.byteLength > 0) yield bytes
    },
  }
}

/** What takes memory or a file until it is read. */
export interface OpenResult extends AsyncIterableIterator<Uint8Array> {
  /** Resolves when it takes neither any more. */
  readonly closed: Promise<void>
  return(): Promise<IteratorResult<Uint8Array, undefined>>
}

/** A result that is in memory, whole when it is small. A larger one can be read once, and is open until its reader asks for more. */
export function memoryResult(bytes: Uint8Array, signal: AbortSignal): OpenResult | WholeResult {
  return bytes.byteLength <= smallResultBytes ? wholeResult(bytes) : new HeldResult(bytes, signal)
}

class HeldResult implements OpenResult {
  readonly closed: Promise<void>
  readonly #signal: AbortSignal
  readonly #onAbort = (): void => this.#finish()
  #bytes: Uint8Array | undefined
  #isAborted = false
  #isOpen = true
  #resolveClosed: () => void = () => undefined

  constructor(bytes: Uint8Array, signal: AbortSignal) {
    this.#bytes = bytes
    this.#signal = signal
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve
    })
    if (signal.aborted) this.#finish()
    else signal.addEventListener('abort', this.#onAbort, { once: true })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    // An aborted result must not look like one that is complete.
    if (this.#isAborted) throw abortedError()
    const bytes = this.#bytes
    this.#bytes = undefined
    if (bytes !== undefined) return { done: false, value: bytes }
    this.#finish()
    return { done: true, value: undefined }
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#finish()
    return { done: true, value: undefined }
  }

  #finish(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#isAborted = this.#signal.aborted
    this.#bytes = undefined
    this.#signal.removeEventListener('abort', this.#onAbort)
    this.#resolveClosed()
  }
}

/** A result that can be read once, chunk by chunk. */
export class ResultStream implements OpenResult {
  readonly closed: Promise<void>
  readonly #chunks: Uint8Array[]
  readonly #signal: AbortSignal
  readonly #onAbort = (): void => this.#finish()
  #file: FileHandle | undefined
  #isAborted = false
  #reading: Promise<unknown> = Promise.resolve()
  #resolveClosed: (closing: void | Promise<void>) => void = () => undefined

  constructor(chunks: readonly Uint8Array[], file: FileHandle | undefined, signal: AbortSignal) {
    this.#chunks = chunks.filter(({ byteLength }) => byteLength > 0)
    this.#file = file
    this.#signal = signal
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve
    })
    if (file === undefined) this.#resolveClosed()
    else if (signal.aborted) this.#finish()
    else signal.addEventListener('abort', this.#onAbort, { once: true })
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    const ready = this.#chunks.shift()
    if (ready !== undefined) return { done: false, value: ready }
    // An aborted result must not look like one that is complete.
    if (this.#isAborted) throw abortedError()
    if (this.#file === undefined) return { done: true, value: undefined }
    const reading = readChunk(this.#file, chunkBytes)
    // The file is closed only after this read; its failure is the reader's to see, below.
    this.#reading = reading.catch(() => undefined)
    const chunk = await this.#orFinish(reading)
    if (chunk.byteLength > 0) return { done: false, value: chunk }
    this.#finish()
    return { done: true, value: undefined }
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    this.#chunks.length = 0
    this.#finish()
    await this.closed
    return { done: true, value: undefined }
  }

  async #orFinish<Value>(reading: Promise<Value>): Promise<Value> {
    try {
      return await reading
    } catch (thrown) {
      this.#finish()
      throw thrown
    }
  }

  #finish(): void {
    const file = this.#file
    if (file === undefined) return
    this.#file = undefined
    this.#isAborted = this.#signal.aborted
    this.#signal.removeEventListener('abort', this.#onAbort)
    this.#resolveClosed(this.#reading.then(() => file.close()))
  }
}

/** The next bytes of a file, fewer than asked only at its end. */
async function readChunk(file: FileHandle, byteCount: number): Promise<Uint8Array> {
  const buffer = Buffer.allocUnsafeSlow(byteCount)
  let filled = 0
  while (filled < byteCount) {
    const { bytesRead } = await file.read(buffer, filled, byteCount - filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return buffer.subarray(0, filled)
}
