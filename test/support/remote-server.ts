// A server of files that does not always do what servers should, written against node:http alone: nothing here shares a line with
// the client that it tests.

import { createCipheriv, createHash } from 'node:crypto'
import http from 'node:http'
import https from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Test } from 'tap'

export interface RemoteServer {
  /** `http://127.0.0.1:port`, or `https`. */
  readonly origin: string
  readonly port: number
  /** Connections that were made so far. */
  readonly connectionCount: number
  /** Connections that are open. */
  readonly openCount: number
  /** Of each request in order. */
  readonly requests: readonly RemoteRequest[]
}

export interface RemoteRequest {
  readonly url: string
  readonly headers: http.IncomingHttpHeaders
}

export type Answer = (request: http.IncomingMessage, response: http.ServerResponse) => void

interface ServerOptions {
  readonly tls?: { readonly key: string; readonly cert: string }
}

/** Listens on a free port of 127.0.0.1 until the test ends. */
export async function openRemoteServer(t: Test, answer: Answer, { tls }: ServerOptions = {}): Promise<RemoteServer> {
  const requests: RemoteRequest[] = []
  const listener: Answer = (request, response) => {
    requests.push({ url: request.url ?? '', headers: request.headers })
    response.on('error', () => {})
    answer(request, response)
  }
  const server = tls === undefined ? http.createServer(listener) : https.createServer(tls, listener)
  const sockets = new Set<Socket>()
  let connectionCount = 0
  server.on('connection', (socket: Socket) => {
    connectionCount += 1
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  // A server that listens on a port has an address that is no text.
  const { port } = server.address() as AddressInfo
  return {
    origin: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    port,
    get connectionCount() {
      return connectionCount
    },
    get openCount() {
      return sockets.size
    },
    requests,
  }
}

export interface FileAnswer {
  readonly content: Buffer
  readonly etag?: string | null
  readonly lastModified?: string | null
  readonly hasRanges?: boolean
  /** Without it the length is told by chunks. */
  readonly hasLength?: boolean
  readonly contentEncoding?: string
  readonly headers?: http.OutgoingHttpHeaders
  /** Bytes of the body after which the connection is cut, for each request; null sends all. */
  readonly cutAfter?: (bodyBytes: number) => number | null
  /** Bytes of each write; else one write for all. */
  readonly writeBytes?: number
}

/** Answers with a file, whole or a range of it, and cuts it where it is told to. */
export function answerFile(file: FileAnswer): Answer {
  const { content, hasRanges = true, hasLength = true, etag = '"one"', lastModified = null } = file
  return (request, response) => {
    const range = hasRanges ? rangeOf(request.headers.range, content.length) : null
    if (range === 'unsatisfiable') {
      response.writeHead(416, { 'content-range': `bytes */${content.length}` }).end()
      return
    }
    const body = range === null ? content : content.subarray(range.start, range.end + 1)
    response.writeHead(range === null ? 200 : 206, {
      ...(etag === null ? {} : { etag }),
      ...(lastModified === null ? {} : { 'last-modified': lastModified }),
      ...(file.contentEncoding === undefined ? {} : { 'content-encoding': file.contentEncoding }),
      ...(range === null ? {} : { 'content-range': `bytes ${range.start}-${range.end}/${content.length}` }),
      ...(hasLength ? { 'content-length': body.length } : {}),
      ...file.headers,
    })
    void sendBody(response, body, file)
  }
}

async function sendBody(
  response: http.ServerResponse,
  body: Buffer,
  { cutAfter, writeBytes }: FileAnswer,
): Promise<void> {
  const cut = cutAfter?.(body.length) ?? null
  const sent = cut === null ? body : body.subarray(0, cut)
  for (let offset = 0; offset < sent.length && writeBytes !== undefined; offset += writeBytes) {
    await new Promise((resolve) => response.write(sent.subarray(offset, offset + writeBytes), resolve))
  }
  if (cut === null) response.end(writeBytes === undefined ? sent : undefined)
  else if (sent.length === 0 || writeBytes !== undefined) response.destroy()
  else response.write(sent, () => response.destroy())
}

interface Range {
  readonly start: number
  readonly end: number
}

export function rangeOf(header: string | undefined, byteCount: number): Range | 'unsatisfiable' | null {
  const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(header ?? '') ?? []
  if (first === undefined) return null
  const start = Number(first)
  const end = last === '' ? byteCount - 1 : Math.min(Number(last), byteCount - 1)
  return start > end ? 'unsatisfiable' : { start, end }
}

/** Bytes that look like nothing, no two places of them alike, and the same ones for a seed. */
export function randomContent(byteCount: number, seed: number): Buffer {
  const key = createHash('sha256').update(String(seed)).digest().subarray(0, 16)
  return createCipheriv('aes-128-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(byteCount))
}

export async function sha256Of(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of chunks) hash.update(chunk)
  return hash.digest('hex')
}
