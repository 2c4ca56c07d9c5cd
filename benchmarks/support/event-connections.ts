import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

export interface HttpAnswer {
  readonly status: number
  /** With the sizes of its chunks, when it came in chunks; for error texts. */
  readonly body: string
}

/** A kept-alive connection that sends ready bytes, one request at a time. */
export interface EventConnection {
  /** The body that is on its way; for whoever sends. */
  bodyIndex: number
  send(bytes: Buffer): void
}

type OnAnswer = (connection: EventConnection, answer: HttpAnswer) => void

/**
 * Opens connections to the URL and gives them to `begin`, whose result hears of every answer. Resolves when `finish` was called;
 * rejects when a connection fails, what hears of an answer throws, or the time is over.
 */
export async function withConnections(
  options: { readonly url: string; readonly count: number; readonly timeMaxMs: number },
  begin: (connections: readonly EventConnection[], finish: () => void) => OnAnswer,
): Promise<void> {
  const { hostname, port } = new URL(options.url)
  const open = () => connect({ host: hostname, port: Number(port), noDelay: true })
  const sockets = Array.from({ length: options.count }, open)
  let timer: NodeJS.Timeout | undefined
  try {
    await Promise.all(sockets.map((socket) => once(socket, 'connect')))
    await new Promise<void>((resolve, reject) => {
      const late = () => reject(new Error('the last answers did not come in time'))
      timer = setTimeout(late, options.timeMaxMs)
      let onAnswer: OnAnswer | undefined
      const connections = sockets.map((socket) => {
        const connection = { bodyIndex: 0, send: (bytes: Buffer) => void socket.write(bytes) }
        readAnswers(socket, (answer) => onAnswer?.(connection, answer), reject)
        return connection
      })
      // Answers come in a later turn of the event loop than what is sent here.
      onAnswer = begin(connections, resolve)
    })
  } finally {
    clearTimeout(timer)
    for (const socket of sockets) socket.removeAllListeners('close').destroy()
  }
}

/**
 * Just enough of HTTP/1.1 for the receivers of the benchmarks, because `node:http` costs the sender several times as much as the
 * answer is worth, on the cores that the receiver shares.
 */
function readAnswers(socket: Socket, onAnswer: (answer: HttpAnswer) => void, onFault: (error: unknown) => void): void {
  let rest: Buffer | null = null
  socket.on('data', (chunk) => {
    try {
      const bytes: Buffer = rest === null ? chunk : Buffer.concat([rest, chunk])
      const answer = answerIn(bytes)
      rest = answer === null ? bytes : null
      if (answer !== null) onAnswer(answer)
    } catch (error) {
      onFault(error)
    }
  })
  socket.on('error', onFault)
  socket.on('close', () => onFault(new Error('the receiver closed a connection')))
}

/** Null when the answer is not whole yet. */
function answerIn(bytes: Buffer): HttpAnswer | null {
  const headLength = bytes.indexOf('\r\n\r\n')
  if (headLength === -1) return null
  const head = bytes.toString('latin1', 0, headLength)
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  const end = length === undefined ? endOfChunks(bytes, headLength + 4) : headLength + 4 + Number(length)
  if (end === null || end > bytes.length) return null
  if (end < bytes.length) throw new Error('there is more than one answer to one request')
  return { status: Number(head.slice(9, 12)), body: bytes.toString('utf8', headLength + 4, headLength + 2_000) }
}

function endOfChunks(bytes: Buffer, start: number): number | null {
  for (let offset = start; ; ) {
    const lineEnd = bytes.indexOf('\r\n', offset)
    if (lineEnd === -1) return null
    const size = Number.parseInt(bytes.toString('latin1', offset, lineEnd), 16)
    if (Number.isNaN(size)) throw new Error('an answer has neither a length nor chunks')
    offset = lineEnd + 2 + size + 2
    if (size === 0) return offset
  }
}
