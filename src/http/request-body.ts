import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import { ApiError, errors } from '../shared/errors.ts'

export interface RequestBodyOptions {
  /** Silence of the sender, while we are ready to read, after which the body fails; 0 waits for ever. */
  readonly idleMsMax: number
  /** Called once, when the first byte is asked for: sends `100 Continue` to a client that waits for it. */
  readonly onFirstRead: () => void
}

/**
 * The bytes of a request, apart from its connection: when the body fails, the connection stays open for the answer.
 *
 * Fails with BODY_CUT when the connection ends too early, and with BODY_STALLED when the sender falls silent. A reader
 * that is slower than the sender is no silence: the clock runs only while we wait for bytes.
 */
export class RequestBody extends Readable {
  readonly #source: Readable
  readonly #options: RequestBodyOptions
  #silence: NodeJS.Timeout | undefined
  #isStarted = false

  constructor(source: Readable, options: RequestBodyOptions) {
    super({ highWaterMark: 256 * 1024 })
    this.#source = source
    this.#options = options
    // A body may fail while nobody reads it; its reader is told when it comes.
    this.on('error', () => {})
  }

  /** Ends the body early with the error that the connection's parser met. */
  fail(error: Error): void {
    if (!this.readableEnded) this.destroy(error)
  }

  override _read(): void {
    if (!this.#isStarted) this.#start()
    this.#awaitBytes()
    this.#source.resume()
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    clearTimeout(this.#silence)
    this.#detach()
    callback(error)
  }

  #start(): void {
    this.#isStarted = true
    this.#options.onFirstRead()
    this.#source.on('data', this.#onChunk)
    this.#source.once('end', this.#onEnd)
    this.#source.once('error', this.#onCut)
    this.#source.once('close', this.#onCut)
    if (this.#source.destroyed) this.#onCut()
  }

  #detach(): void {
    this.#source.off('data', this.#onChunk)
    this.#source.off('end', this.#onEnd)
    this.#source.off('close', this.#onCut)
    // The listener for errors stays: an error that nobody listens to would end the process.
    this.#source.pause()
  }

  readonly #onChunk = (chunk: Buffer): void => {
    if (this.push(chunk)) {
      this.#silence?.refresh()
    } else {
      clearTimeout(this.#silence)
      this.#silence = undefined
      this.#source.pause()
    }
  }

  readonly #onEnd = (): void => {
    clearTimeout(this.#silence)
    this.#source.off('close', this.#onCut)
    this.push(null)
  }

  readonly #onCut = (cause?: unknown): void => {
    if (this.readableEnded) return
    this.destroy(cause instanceof ApiError ? cause : errors.BODY_CUT({ cause }))
  }

  #awaitBytes(): void {
    const { idleMsMax } = this.#options
    if (idleMsMax === 0 || this.#silence !== undefined || this.#source.readableEnded) return
    this.#silence = setTimeout(() => {
      this.destroy(errors.BODY_STALLED({ idleMsMax }))
    }, idleMsMax)
  }
}

/** What the catch-all content type parser made of a request's body; undefined when it has none. */
export function bodyOf(request: { readonly body: unknown }): RequestBody | undefined {
  return request.body instanceof RequestBody ? request.body : undefined
}

/** True when the headers announce a body, also an empty chunked one. */
export function announcesBody(headers: IncomingHttpHeaders): boolean {
  return headers['transfer-encoding'] !== undefined || (announcedBytes(headers) ?? 0) > 0
}

/** Bytes by the header Content-Length; undefined for a chunked body, and for none. */
export function announcedBytes(headers: IncomingHttpHeaders): number | undefined {
  const text = headers['content-length']
  return text === undefined ? undefined : Number(text)
}

export interface WholeBodyLimits {
  readonly headers: IncomingHttpHeaders
  /** Most bytes as sent. */
  readonly bytesMax: number
  /** Told of bytes as they come; what it throws ends the reading. */
  readonly onBytes?: (byteCount: number) => void
}

/**
 * The whole body in one piece; no body at all is an empty one.
 *
 * @throws PAYLOAD_TOO_LARGE (413), before reading anything when the headers already say so; and what the body fails with.
 */
export async function readWhole(body: Readable | undefined, limits: WholeBodyLimits): Promise<Buffer> {
  const { headers, bytesMax, onBytes } = limits
  if (body === undefined) return Buffer.alloc(0)
  if ((announcedBytes(headers) ?? 0) > bytesMax) throw errors.PAYLOAD_TOO_LARGE({ bytesMax })
  const chunks: Buffer[] = []
  let byteCount = 0
  for await (const chunk of body) {
    // The stream is in byte mode, so its chunks are buffers.
    const bytes = chunk as Buffer
    byteCount += bytes.length
    if (byteCount > bytesMax) throw errors.PAYLOAD_TOO_LARGE({ bytesMax })
    onBytes?.(bytes.length)
    chunks.push(bytes)
  }
  const [only] = chunks
  return chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, byteCount)
}
