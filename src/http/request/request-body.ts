import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import { ApiError, errors } from '../../shared/errors/errors.ts'
import { JoinedChunks } from '../../shared/joined-chunks.ts'
import { BodyRate, type BodyRateRules } from './body-rate.ts'
import type { Brakable } from './byte-turns.ts'
import { ChunkBudget } from './chunk-budget.ts'

export interface ArrivingBodyOptions extends BodyRateRules {
  /** Silence of the sender, while we are ready to read, after which the body fails; 0 waits for ever. */
  readonly idleMsMax: number
  /** Bytes that the headers announce, if they do. */
  readonly announcedBytes?: number | undefined
  /** Called once, when the first byte is asked for: sends `100 Continue` to a client that waits for it. */
  readonly onFirstRead: () => void
  /** Called once when nothing more is read, though more may come. */
  readonly onStop?: () => void
  /** Called with the bytes of each chunk, and may brake the body. */
  readonly onBytes?: ((byteCount: number, body: Brakable) => void) | undefined
}

export interface PeekedHead {
  readonly head: Buffer
  /** True when the body ended within the head. */
  readonly isWhole: boolean
}

/** Who reads an arriving body. */
interface BodyReader {
  onChunk(chunk: Buffer): void
  onEnd(): void
  onFailure(error: Error): void
}

/**
 * The bytes of a request, apart from its connection: when the body fails, the connection stays open for the answer.
 *
 * Fails with BODY_CUT when the connection ends too early, with BODY_STALLED when the sender falls silent, and with BODY_TOO_SLOW
 * when it brings too little. A reader that is slower than the sender is neither, and a body that is braked neither: the clocks run
 * only while we wait for bytes. Read it once, by `stream` or `readWhole`.
 */
export class ArrivingBody implements Brakable {
  /** Of HTTP, which has `aborted`. */
  readonly #source: Readable & { readonly aborted?: boolean }
  readonly #options: ArrivingBodyOptions
  readonly #isWatched: boolean
  #reader: BodyReader | null = null
  #stream: RequestBody | undefined
  #silence: NodeJS.Timeout | undefined
  /** Of a body that did not come with its headers, as most do. */
  #rate: BodyRate | undefined
  #failure: Error | null = null
  /** What was looked at already, and comes first. */
  #head: PeekedHead | null = null
  #isStarted = false
  #arrivedBytes = 0
  /** Whether its reader wants bytes. */
  #isReading = false
  #brakeCount = 0
  /** Whether the clocks run. */
  #isWaiting = false
  #isOver = false

  constructor(source: Readable, options: ArrivingBodyOptions) {
    this.#source = source
    this.#options = options
    this.#isWatched = options.idleMsMax > 0 || options.bodyRateMin > 0
  }

  /** The body as a stream; always the same one. */
  stream(): RequestBody {
    this.#stream ??= new RequestBody(this)
    return this.#stream
  }

  /**
   * Looks at the first bytes, which stay part of the body: `byteCount` of them or more, fewer when it ends before. Once,
   * before it is read.
   */
  peek(byteCount: number): Promise<PeekedHead> {
    return new Promise((resolve, reject) => {
      const joined = new JoinedChunks()
      const settle = (isWhole: boolean): void => {
        this.#reader = null
        this.pause()
        this.#head = { head: joined.bytes(), isWhole }
        resolve(this.#head)
      }
      this.start({
        onChunk: (chunk) => {
          joined.push(chunk)
          if (joined.byteCount >= byteCount) settle(false)
        },
        onEnd: () => settle(true),
        onFailure: reject,
      })
      this.resume()
    })
  }

  /** Ends the body early with the error that the connection's parser met. */
  fail(error: Error): void {
    if (this.#isOver) return
    this.stop()
    this.#failure = error
    this.#reader?.onFailure(error)
  }

  /** Begins to read; `resume` asks for bytes. */
  start(reader: BodyReader): void {
    this.#reader = reader
    if (this.#failure !== null) {
      reader.onFailure(this.#failure)
      return
    }
    if (this.#isStarted) return
    this.#isStarted = true
    this.#options.onFirstRead()
    // None is taken off again: what comes when the body is over is passed by, and an error without a listener would end
    // the process.
    this.#source.on('data', this.#onChunk)
    this.#source.on('end', this.#onEnd)
    this.#source.on('error', this.#onCut)
    this.#source.on('close', this.#onCut)
    // Of HTTP/2, one whose client has left is not destroyed, and looks as if it had ended.
    if (this.#source.destroyed || this.#source.aborted) this.#onCut()
  }

  /** Whether all of its bytes have come, where its headers say how many they are. */
  get hasCome(): boolean {
    return this.#arrivedBytes >= (this.#options.announcedBytes ?? Number.POSITIVE_INFINITY)
  }

  resume(): void {
    this.#isReading = true
    if (this.#isBraked()) return
    if (this.#head !== null && !this.#giveHead(this.#head)) return
    // Whoever was given the beginning may have been braked for it.
    if (this.#isOver || this.#isBraked()) return
    this.#source.resume()
    if (!this.#isWaiting && this.#isWatched) process.nextTick(this.#awaitBytes)
  }

  /** Gives what was looked at once more; false when the body ends with it, or its reader wants no more for now. */
  #giveHead({ head, isWhole }: PeekedHead): boolean {
    this.#head = null
    if (head.length > 0) this.#reader?.onChunk(head)
    if (isWhole) this.#reader?.onEnd()
    return !isWhole && this.#isReading
  }

  pause(): void {
    this.#isReading = false
    this.#stopReading()
  }

  brake(): void {
    this.#brakeCount += 1
    if (this.#isBraked()) this.#stopReading()
  }

  letGo(): void {
    this.#brakeCount -= 1
    if (this.#brakeCount === 0 && this.#isReading && !this.#isOver) this.resume()
  }

  /** Of what has come there is nothing left to brake but its end. */
  #isBraked(): boolean {
    return this.#brakeCount > 0 && !this.hasCome
  }

  /** Nothing more is read. */
  stop(): void {
    if (this.#isOver) return
    this.pause()
    this.#isOver = true
    this.#options.onStop?.()
  }

  #stopReading(): void {
    this.#endWaiting()
    // What is over may have another reader.
    if (!this.#isOver) this.#source.pause()
  }

  #endWaiting(): void {
    if (!this.#isWaiting) return
    this.#isWaiting = false
    clearTimeout(this.#silence)
    this.#silence = undefined
    this.#rate?.rest()
  }

  readonly #onChunk = (chunk: Buffer): void => {
    if (this.#isOver) return
    this.#arrivedBytes += chunk.length
    this.#silence?.refresh()
    this.#rate?.take(chunk.length)
    this.#reader?.onChunk(chunk)
    this.#options.onBytes?.(chunk.length, this)
  }

  readonly #onEnd = (): void => {
    if (this.#isOver) return
    // Node ends a request of HTTP/2 also when its client has reset it with NO_ERROR, without END_STREAM.
    if (this.#source.aborted || this.#arrivedBytes < (this.#options.announcedBytes ?? 0)) {
      this.#onCut()
      return
    }
    this.#isOver = true
    this.#endWaiting()
    this.#reader?.onEnd()
  }

  readonly #onCut = (cause?: unknown): void => {
    if (this.#isOver) return
    this.fail(cause instanceof ApiError ? cause : errors.BODY_CUT({ cause }))
  }

  /** Runs when the bytes that came with the headers are in: most bodies are whole by then, and need no timer. */
  readonly #awaitBytes = (): void => {
    const { idleMsMax } = this.#options
    if (!this.#isReading || this.#brakeCount > 0 || this.#isWaiting || this.#source.readableEnded) return
    if (this.hasCome) return
    this.#isWaiting = true
    if (idleMsMax > 0) this.#silence = setTimeout(() => this.fail(errors.BODY_STALLED({ idleMsMax })), idleMsMax)
    if (this.#options.bodyRateMin > 0) this.#watchRate()
  }

  #watchRate(): void {
    const { bodyRateMin, bodyRateWindowMs } = this.#options
    const onSlow = (): void => this.fail(errors.BODY_TOO_SLOW({ bodyRateMin, bodyRateWindowMs }))
    this.#rate ??= new BodyRate(this.#options, { onSlow, now: () => performance.now() })
    this.#rate.wait()
  }
}

/** An arriving body as a stream. */
export class RequestBody extends Readable {
  readonly #arriving: ArrivingBody
  #isStarted = false

  constructor(arriving: ArrivingBody) {
    super({ highWaterMark: 256 * 1024 })
    this.#arriving = arriving
    // A body may fail while nobody reads it; its reader is told when it comes.
    this.on('error', () => {})
  }

  override _read(): void {
    if (!this.#isStarted) this.#start()
    this.#arriving.resume()
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#arriving.stop()
    callback(error)
  }

  #start(): void {
    this.#isStarted = true
    const chunks = new ChunkBudget(() => performance.now())
    this.#arriving.start({
      onChunk: (chunk) => {
        const refusal = chunks.take(chunk.length)
        if (refusal !== null) this.#arriving.fail(refusal)
        else if (!this.push(chunk)) this.#arriving.pause()
      },
      onEnd: () => this.push(null),
      onFailure: (error) => this.destroy(error),
    })
  }
}

/** What the catch-all content type parser made of a request's body; undefined when it has none. */
export function arrivingBodyOf(request: { readonly body: unknown }): ArrivingBody | undefined {
  return request.body instanceof ArrivingBody ? request.body : undefined
}

/** The same as a stream. */
export function bodyOf(request: { readonly body: unknown }): RequestBody | undefined {
  return arrivingBodyOf(request)?.stream()
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
  readonly onBytes: (byteCount: number) => void
}

/**
 * The whole body in one piece; no body at all is an empty one.
 *
 * @throws PAYLOAD_TOO_LARGE (413), before reading anything when the headers already say so; CHUNKS_TOO_SMALL (400); and
 *   what the body fails with.
 */
export function readWhole(body: ArrivingBody | undefined, limits: WholeBodyLimits): Promise<Buffer> {
  const { headers, bytesMax, onBytes } = limits
  if (body === undefined) return Promise.resolve(Buffer.alloc(0))
  if ((announcedBytes(headers) ?? 0) > bytesMax) return Promise.reject(errors.PAYLOAD_TOO_LARGE({ bytesMax }))
  return new Promise((resolve, reject) => {
    const joined = new JoinedChunks()
    const chunks = new ChunkBudget()
    body.start({
      onChunk: (chunk) => {
        joined.push(chunk)
        try {
          if (joined.byteCount > bytesMax) throw errors.PAYLOAD_TOO_LARGE({ bytesMax })
          const refusal = chunks.take(chunk.length)
          if (refusal !== null) throw refusal
          onBytes(chunk.length)
        } catch (error) {
          body.stop()
          reject(error)
        }
      },
      onEnd: () => resolve(joined.bytes()),
      onFailure: reject,
    })
    body.resume()
  })
}
