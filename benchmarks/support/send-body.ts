import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { type ClientRequest, type IncomingMessage, request as openRequest } from 'node:http'
import { pipeline } from 'node:stream/promises'
import type { Target } from './event-requests.ts'
import { type BodyPlan, bodyPieces, workloads } from './workloads.ts'

export interface BodyAnswer {
  readonly status: number
  readonly text: string
  /** From before the connection to the last byte of the answer. */
  readonly elapsedMs: number
}

/** What was sent of rows that were sent again and again; the header of a CSV is no row. */
export interface RepeatedAnswer extends BodyAnswer {
  readonly byteCount: number
  readonly rowCount: number
}

const pieceBytesMax = 1024 * 1024
/** Bodies kept in memory: the clean one, the dirty one, the Arrow one. */
const bodiesMax = 3
const bodies = new Map<string, Buffer>()

/** Makes the rows and writes them to a file; gives its size. */
export async function writeBody({ plan, path }: { readonly plan: BodyPlan; readonly path: string }): Promise<number> {
  await pipeline(bodyPieces(plan), createWriteStream(path))
  return (await stat(path)).size
}

/** Sends a file as one request. It is kept in memory, so that the disk is part of the first round at most. */
export async function sendFile({
  path,
  target,
}: {
  readonly path: string
  readonly target: Target
}): Promise<BodyAnswer> {
  const body = bodies.get(path) ?? (await readFile(path))
  bodies.delete(path)
  bodies.set(path, body)
  for (const oldest of [...bodies.keys()].slice(0, -bodiesMax)) bodies.delete(oldest)
  const headers = { ...target.headers, 'content-length': String(body.length) }
  return await send({ ...target, headers }, async (write) => {
    for (let at = 0; at < body.length; at += pieceBytesMax) await write(body.subarray(at, at + pieceBytesMax))
  })
}

/**
 * Streams rows, chunked, until `byteCount` bytes are reached: `plan.rowCount` rows are made before the clock starts and sent
 * again and again, so the sender is never slower than the receiver, whose buffers feel the full pressure.
 */
export async function sendRepeated(task: {
  readonly plan: BodyPlan
  readonly byteCount: number
  readonly target: Target
}): Promise<RepeatedAnswer> {
  const header = Buffer.from(task.plan.format === 'csv' ? `${workloads[task.plan.workload].csvHeader}\n` : '')
  const pieces = [...bodyPieces(task.plan)].map((piece, index) => {
    const rows = index === 0 ? piece.subarray(header.length) : piece
    return { rows, rowCount: rows.reduce((count, byte) => (byte === 10 ? count + 1 : count), 0) }
  })
  const sent = { byteCount: header.length, rowCount: 0 }
  const answer = await send(task.target, async (write) => {
    if (header.length > 0) await write(header)
    for (let turn = 0; sent.byteCount < task.byteCount; turn += 1) {
      const piece = pieces[turn % pieces.length]
      if (piece === undefined) throw new Error('a plan has rows')
      await write(piece.rows)
      sent.byteCount += piece.rows.length
      sent.rowCount += piece.rowCount
    }
  })
  return { ...answer, ...sent }
}

type Write = (piece: Buffer) => Promise<void>

async function send(target: Target, writeBody: (write: Write) => Promise<void>): Promise<BodyAnswer> {
  const startedAt = performance.now()
  const request = openRequest(target.url, { method: 'POST', headers: target.headers, agent: false })
  const answered = once(request, 'response') as Promise<[IncomingMessage]> // The event's one argument, by node:http.
  const written = writeBody((piece) => writePiece(request, piece)).then(() => request.end())
  const [[response]] = await Promise.all([answered, written])
  const text = Buffer.concat(await response.toArray()).toString()
  return { status: response.statusCode ?? 0, text, elapsedMs: performance.now() - startedAt }
}

async function writePiece(request: ClientRequest, piece: Buffer): Promise<void> {
  if (request.write(piece)) return
  // A receiver that answers early or goes away must not leave the sender waiting for a drain.
  const stop = new AbortController()
  const closed = once(request, 'close', { signal: stop.signal }).then(() => {
    throw new Error('the receiver closed the connection')
  })
  try {
    await Promise.race([once(request, 'drain', { signal: stop.signal }), closed])
  } finally {
    stop.abort()
  }
}
