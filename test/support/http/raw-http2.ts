import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'
import { frame, frameTypes, opening, requestHead, wholeRequest } from './http2-frames.ts'

type Headers = Readonly<Record<string, string>>

/** A session of HTTP/2 that sends frames as it is told, whether a client should or not. */
export class RawHttp2 {
  readonly socket: TLSSocket
  readonly #authorization: string
  readonly #answered = new Set<number>()
  #nextId = 1
  #unread = Buffer.alloc(0)

  private constructor(socket: TLSSocket, token: string) {
    this.socket = socket
    this.#authorization = `Bearer ${token}`
    socket.on('error', () => {})
    socket.on('data', (bytes: Buffer) => {
      this.#unread = Buffer.concat([this.#unread, bytes])
      this.#readFrames()
    })
  }

  /** Opened, and to be destroyed by whoever opens it. */
  static async open({ port, ca, token }: { port: number; ca: string; token: string }): Promise<RawHttp2> {
    const socket = connect({ port, host: '127.0.0.1', ca, servername: 'localhost', ALPNProtocols: ['h2'] })
    await once(socket, 'secureConnect')
    const session = new RawHttp2(socket, token)
    socket.write(opening())
    return session
  }

  /** Begins a request with a body, and gives its stream. */
  post(path: string, body: Uint8Array | string, headers: Headers = {}): number {
    const streamId = this.#takeId()
    const head = requestHead(streamId, { ...this.#head('POST', path), ...headers })
    const payload = typeof body === 'string' ? Buffer.from(body) : body
    this.socket.write(Buffer.concat([head, frame({ type: frameTypes.data, streamId, payload })]))
    return streamId
  }

  /** Resolves when all requests that were sent before are begun, as those of a session are in their order. */
  async untilBegun(): Promise<void> {
    const streamId = this.#takeId()
    this.socket.write(wholeRequest(streamId, this.#head('GET', '/health/live')))
    while (!this.#answered.has(streamId)) await once(this.socket, 'data')
  }

  reset(streamId: number, code: number): void {
    this.socket.write(frame({ type: frameTypes.rstStream, streamId, payload: Buffer.of(0, 0, 0, code) }))
  }

  endBody(streamId: number): void {
    this.socket.write(frame({ type: frameTypes.data, flags: 1, streamId }))
  }

  #takeId(): number {
    const streamId = this.#nextId
    this.#nextId += 2
    return streamId
  }

  #head(method: string, path: string): Headers {
    const authorization = this.#authorization
    return { ':method': method, ':scheme': 'https', ':authority': 'a', ':path': path, authorization }
  }

  #readFrames(): void {
    while (this.#unread.length >= 9) {
      const end = 9 + this.#unread.readUIntBE(0, 3)
      if (this.#unread.length < end) return
      if (this.#unread[3] === frameTypes.headers) this.#answered.add(this.#unread.readUInt32BE(5))
      this.#unread = this.#unread.subarray(end)
    }
  }
}
