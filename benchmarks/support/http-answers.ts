/** One answer of HTTP/1.1, whole. */
export interface HttpAnswer {
  readonly status: number
  readonly head: string
  /** With the sizes of its chunks, when it came in chunks; for error texts. */
  readonly body: Buffer
}

const headEnd = '\r\n\r\n'
const answerBytesMax = 1024 * 1024

/**
 * Reads the answers of a connection that sends one request at a time.
 *
 * Just enough of the protocol for the receivers of the benchmarks, because `node:http` costs the sender several times as
 * much as the answer is worth, on the cores that the receiver shares.
 */
export class AnswerReader {
  private rest: Buffer | null = null

  /** Gives the answer that ends with this chunk; null when it is not whole yet. */
  push(chunk: Buffer): HttpAnswer | null {
    const bytes = this.rest === null ? chunk : Buffer.concat([this.rest, chunk])
    const answer = readAnswer(bytes)
    if (answer === null && bytes.length > answerBytesMax) throw new Error('an answer is longer than 1 MiB')
    this.rest = answer === null ? bytes : null
    return answer
  }
}

function readAnswer(bytes: Buffer): HttpAnswer | null {
  const headLength = bytes.indexOf(headEnd)
  if (headLength === -1) return null
  const head = bytes.toString('latin1', 0, headLength)
  const start = headLength + headEnd.length
  const end = endOfBody(head, bytes, start)
  if (end === null || end > bytes.length) return null
  if (end < bytes.length) throw new Error('there is more than one answer to one request')
  return { status: Number(head.slice(9, 12)), head, body: bytes.subarray(start, end) }
}

function endOfBody(head: string, bytes: Buffer, start: number): number | null {
  const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (length !== undefined) return start + Number(length)
  if (!/\r\ntransfer-encoding: *chunked/i.test(head)) throw new Error(`an answer without a length: ${head}`)
  return endOfChunks(bytes, start)
}

function endOfChunks(bytes: Buffer, start: number): number | null {
  let offset = start
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', offset)
    if (lineEnd === -1) return null
    const size = Number.parseInt(bytes.toString('latin1', offset, lineEnd), 16)
    offset = lineEnd + 2 + size + 2
    if (size === 0) return offset
  }
}
