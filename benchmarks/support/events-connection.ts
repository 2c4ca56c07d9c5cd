import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { AnswerReader, type HttpAnswer } from './http-answers.ts'

/** A kept-alive connection that sends ready bytes, one request at a time. */
export class EventsConnection {
  /** The body that is on its way; for whoever sends. */
  bodyIndex = 0
  private readonly socket: Socket
  private readonly reader = new AnswerReader()
  private isClosing = false

  constructor(
    socket: Socket,
    listeners: {
      readonly onAnswer: (connection: EventsConnection, answer: HttpAnswer) => void
      readonly onFault: (error: Error) => void
    },
  ) {
    this.socket = socket
    socket.on('data', (chunk) => {
      try {
        const answer = this.reader.push(chunk)
        if (answer !== null) listeners.onAnswer(this, answer)
      } catch (error) {
        listeners.onFault(error instanceof Error ? error : new Error(String(error)))
      }
    })
    socket.on('error', listeners.onFault)
    socket.on('close', () => {
      if (!this.isClosing) listeners.onFault(new Error('the receiver closed a connection'))
    })
  }

  send(bytes: Buffer): void {
    this.socket.write(bytes)
  }

  close(): void {
    this.isClosing = true
    this.socket.destroy()
  }
}

/** Opens as many sockets to the origin of the URL; without Nagle's delay. */
export async function openSockets(url: string, count: number): Promise<readonly Socket[]> {
  const { hostname, port } = new URL(url)
  const sockets = Array.from({ length: count }, () => connect({ host: hostname, port: Number(port), noDelay: true }))
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  return sockets
}
