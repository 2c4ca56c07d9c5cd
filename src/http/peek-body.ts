import { Readable } from 'node:stream'

export interface PeekedBody {
  /** The first bytes: `byteCount` of them or more, fewer only when the body is shorter. */
  readonly head: Buffer
  /** The whole body, `head` included. */
  readonly body: Readable
}

/**
 * Looks at the beginning of a body, wherever the network cuts it.
 *
 * @throws what the body fails with before `byteCount` bytes came.
 */
export async function peekBody(source: Readable, byteCount: number): Promise<PeekedBody> {
  // Bytes come as buffers: the stream is in byte mode.
  const chunks = source[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  let head: Buffer = Buffer.alloc(0)
  let isEnded = false
  while (!isEnded && head.length < byteCount) {
    const next = await chunks.next()
    if (next.done === true) isEnded = true
    else head = head.length === 0 ? next.value : Buffer.concat([head, next.value])
  }
  return { head, body: Readable.from(resume(head, chunks), { objectMode: false }) }
}

async function* resume(head: Buffer, chunks: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  try {
    if (head.length > 0) yield head
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) yield next.value
  } finally {
    await chunks.return?.()
  }
}
