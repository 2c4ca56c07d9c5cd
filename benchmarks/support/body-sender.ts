import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { type ClientRequest, type IncomingMessage, request as openRequest } from 'node:http'
import { pipeline } from 'node:stream/promises'
import type { SenderAnswer, SenderReport, SenderRequest, SenderTask } from './body-sender.types.ts'
import { bodyPieces } from './workload-bytes.ts'
import { workloads } from './workloads.ts'

/**
 * The sending process of the benchmarks: it makes and sends bodies over a bare node:http connection, so that no cycle
 * of the sender is counted as the receiver's. It takes one `SenderTask` at a time over the channel to its parent.
 */
const pieceBytesMax = 1024 * 1024
const answerBytesMax = 64 * 1024
/** Bodies kept in memory: the clean one, the dirty one, the Arrow one. */
const bodiesMax = 3

const bodies = new Map<string, Buffer>()

process.on('message', (task: SenderTask) => {
  perform(task).then(report, (error: unknown) => report({ kind: 'failed', message: String(error) }))
})
process.on('disconnect', () => process.exit(0))

function report(message: SenderReport): void {
  process.send?.(message)
}

async function perform(task: SenderTask): Promise<SenderReport> {
  switch (task.kind) {
    case 'write':
      await pipeline(bodyPieces(task.plan), createWriteStream(task.path))
      return { kind: 'written', byteCount: (await loadBody(task.path)).length }
    case 'sendFile': {
      const body = await loadBody(task.path)
      const answer = await send(task.request, (request) => writeWhole(request, body), body.length)
      return { kind: 'answered', answer }
    }
    case 'sendRepeated': {
      const pool = makePool(task)
      const sent = { byteCount: 0, rowCount: 0 }
      const answer = await send(
        task.request,
        (request) => writeRepeated({ request, pool, byteCount: task.byteCount, sent }),
        null,
      )
      return { kind: 'answered', answer: { ...answer, ...sent } }
    }
  }
}

/** Reads a body once and keeps it, so that the disk is not part of what is measured. */
async function loadBody(path: string): Promise<Buffer> {
  const kept = bodies.get(path)
  if (kept !== undefined) return kept
  const body = await readFile(path)
  for (const oldest of bodies.keys()) {
    if (bodies.size < bodiesMax) break
    bodies.delete(oldest)
  }
  bodies.set(path, body)
  return body
}

/** Sends one request; a body of unknown length goes out chunked. */
async function send(
  target: SenderRequest,
  writeBody: (request: ClientRequest) => Promise<number>,
  contentLength: number | null,
): Promise<SenderAnswer> {
  const headers =
    contentLength === null ? target.headers : { ...target.headers, 'content-length': String(contentLength) }
  const startedAt = performance.now()
  const request = openRequest(target.url, { method: 'POST', headers, agent: false })
  const answered = once(request, 'response') as Promise<[IncomingMessage]> // The event's one argument, by node:http.
  const [[response], byteCount] = await Promise.all([answered, writeBody(request)])
  const text = await readText(response)
  const elapsedMs = performance.now() - startedAt
  return { status: response.statusCode ?? 0, text, elapsedMs, byteCount, rowCount: null }
}

async function writeWhole(request: ClientRequest, body: Buffer): Promise<number> {
  for (let offset = 0; offset < body.length; offset += pieceBytesMax) {
    await writePiece(request, body.subarray(offset, offset + pieceBytesMax))
  }
  request.end()
  return body.length
}

interface Pool {
  readonly header: Buffer
  readonly pieces: readonly { readonly bytes: Buffer; readonly rowCount: number }[]
}

/**
 * Rows that are sent again and again. They are made before the clock starts, so the sender is never slower than
 * the receiver and the receiver's buffers feel the full pressure.
 */
function makePool(task: Extract<SenderTask, { kind: 'sendRepeated' }>): Pool {
  const { plan } = task
  const header = plan.format === 'csv' ? Buffer.from(`${workloads[plan.workload].csvHeader}\n`) : Buffer.alloc(0)
  const pieces = [...bodyPieces(plan)].map((bytes, pieceIndex) => {
    const rows = pieceIndex === 0 ? bytes.subarray(header.length) : bytes
    return { bytes: rows, rowCount: countLines(rows) }
  })
  return { header, pieces }
}

function countLines(bytes: Buffer): number {
  let count = 0
  for (let offset = bytes.indexOf(10); offset !== -1; offset = bytes.indexOf(10, offset + 1)) count += 1
  return count
}

async function writeRepeated(options: {
  readonly request: ClientRequest
  readonly pool: Pool
  readonly byteCount: number
  readonly sent: { byteCount: number; rowCount: number }
}): Promise<number> {
  const { request, pool, sent } = options
  if (pool.header.length > 0) await writePiece(request, pool.header)
  sent.byteCount = pool.header.length
  while (sent.byteCount < options.byteCount) {
    for (const piece of pool.pieces) {
      if (sent.byteCount >= options.byteCount) break
      await writePiece(request, piece.bytes)
      sent.byteCount += piece.bytes.length
      sent.rowCount += piece.rowCount
    }
  }
  request.end()
  return sent.byteCount
}

async function writePiece(request: ClientRequest, piece: Buffer): Promise<void> {
  if (request.write(piece)) return
  // A receiver that answers early or goes away must not leave the sender waiting for a drain.
  const stop = new AbortController()
  try {
    await Promise.race([
      once(request, 'drain', { signal: stop.signal }),
      once(request, 'close', { signal: stop.signal }).then(() =>
        Promise.reject(new Error('the receiver closed the connection')),
      ),
    ])
  } finally {
    stop.abort()
  }
}

async function readText(response: IncomingMessage): Promise<string> {
  let text = ''
  response.setEncoding('utf8')
  for await (const piece of response) {
    if (text.length < answerBytesMax) text += String(piece)
  }
  return text.slice(0, answerBytesMax)
}
