import { Readable } from 'node:stream'

export interface PeekedBody {
  /** The first bytes: `byteCount` of them or more, fewer only when the body is shorter or fails. */
  readonly head: Buffer
  /** True when the body ended within the head. */
  readonly isWhole: boolean
  /** The whole body, `head` included. */
  readonly body: Readable
}

/** Looks at the beginning of a body, wherever the network cuts it. A body that fails so early fails its reader, not this. */
export async function peekBody(source: Readable, byteCount: number): Promise<PeekedBody> {
  return (await peekFirstChunk(source, byteCount)) ?? (await peekChunks(source, byteCount))
}

/** The usual case: the first chunk is enough, and goes back to where it was; null when it is not, or there is none. */
async function peekFirstChunk(source: Readable, byteCount: number): Promise<PeekedBody | null> {
  if (source.readableEnded || source.destroyed) return null
  await new Promise<void>((resolve) => {
    const settle = (): void => {
      for (const event of events) source.off(event, settle)
      resolve()
    }
    const events = ['readable', 'end', 'error', 'close']
    for (const event of events) source.once(event, settle)
  })
  // A stream in byte mode gives buffers.
  const head = source.read() as Buffer | null
  if (head === null) return null
  source.unshift(head)
  return head.length >= byteCount ? { head, isWhole: false, body: source } : null
}

async function peekChunks(source: Readable, byteCount: number): Promise<PeekedBody> {
  // As above.
  const chunks = source[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  const pieces: Buffer[] = []
  let missing = byteCount
  let isWhole = false
  let failure: Error | null = null
  try {
    while (!isWhole && missing > 0) {
      const next = await chunks.next()
      if (next.done === true) isWhole = true
      else {
        pieces.push(next.value)
        missing -= next.value.length
      }
    }
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error))
  }
  const head = Buffer.concat(pieces)
  return { head, isWhole, body: Readable.from(resume({ head, failure }, chunks), { objectMode: false }) }
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
