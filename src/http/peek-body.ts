import { Readable } from 'node:stream'

export interface PeekedBody {
  /** The first bytes: `byteCount` of them or more, fewer only when the body is shorter. */
  readonly head: Buffer
  /** The whole body, `head` included. */
  readonly body: Readable
}

/** Looks at the beginning of a body, wherever the network cuts it. A body that fails so early fails its reader, not this. */
export async function peekBody(source: Readable, byteCount: number): Promise<PeekedBody> {
  // Bytes come as buffers: the stream is in byte mode.
  const chunks = source[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  let head: Buffer = Buffer.alloc(0)
  let failure: Error | null = null
  try {
    for (let isEnded = false; !isEnded && head.length < byteCount; ) {
      const next = await chunks.next()
      if (next.done === true) isEnded = true
      else head = head.length === 0 ? next.value : Buffer.concat([head, next.value])
    }
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error))
  }
  return { head, body: Readable.from(resume({ head, failure }, chunks), { objectMode: false }) }
}

interface Beginning {
  readonly head: Buffer
  readonly failure: Error | null
}

async function* resume({ head, failure }: Beginning, chunks: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  try {
    if (head.length > 0) yield head
    if (failure !== null) throw failure
    for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) yield next.value
  } finally {
    await chunks.return?.()
  }
}
