import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export interface RawAnswer {
  readonly status: number
  readonly head: string
  readonly body: Record<string, unknown>
}

/** Connects to a port of this machine, from one of its addresses. Whoever opens the client destroys its socket. */
export async function openRawClient(port: number, localAddress = '127.0.0.1'): Promise<RawClient> {
  const socket = connect({ host: '127.0.0.1', port, localAddress, allowHalfOpen: true })
  await once(socket, 'connect')
  return new RawClient(socket)
}

/** A connection that sends bytes as they are given, and reads whatever comes back. */
export class RawClient {
  readonly socket: Socket
  text = ''
  #waiting: (() => void) | undefined
  isEnded = false

  constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (chunk: Buffer) => {
      this.text += chunk.toString()
      this.#waiting?.()
    })
    const end = (): void => {
      this.isEnded = true
      this.#waiting?.()
    }
    socket.on('end', end)
    socket.on('close', end)
    socket.on('error', end)
  }

  send(...parts: readonly (string | Buffer)[]): void {
    for (const part of parts) this.socket.write(part)
  }

  /** All that came, once `isEnough` says so or the server has ended. */
  async until(isEnough: (text: string) => boolean): Promise<string> {
    while (!isEnough(this.text) && !this.isEnded) {
      await new Promise<void>((resolve) => {
        this.#waiting = resolve
      })
    }
    return this.text
  }

  /** The next whole answer; its body is JSON. What follows it is kept for the next call. A 100 on the way is passed over. */
  async answer(): Promise<RawAnswer> {
    const text = await this.until((text) => wholeAnswerLength(text) >= 0)
    const whole = text.slice(0, Math.max(0, wholeAnswerLength(text)))
    this.text = text.slice(whole.length)
    const [head = '', body = ''] = whole.split('\r\n\r\n')
    const status = Number(head.split(' ')[1])
    return status === 100 ? this.answer() : { status, head, body: body === '' ? {} : JSON.parse(body) }
  }

  async end(): Promise<void> {
    await this.until(() => false)
  }
}

/** Characters of the answer that `text` begins with, or -1 while it is not whole. */
function wholeAnswerLength(text: string): number {
  const headEnd = text.indexOf('\r\n\r\n')
  if (headEnd < 0) return -1
  const byteCount = Number(/content-length: (\d+)/i.exec(text.slice(0, headEnd))?.[1] ?? 0)
  const rest = Buffer.from(text.slice(headEnd + 4))
  return rest.length < byteCount ? -1 : headEnd + 4 + rest.subarray(0, byteCount).toString().length
}
