/** Serves the files of a folder with ETag and ranges, on loopback; written against node:http alone. */
import { createReadStream, statSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { basename, join } from 'node:path'
import { pipeline, Transform } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'

export interface FileServer {
  /** `http://127.0.0.1:port`. */
  readonly origin: string
  readonly requestCount: number
  /** Bytes of files that were sent, or are on their way. */
  readonly sentBytes: number
  /** Bytes of a file that are sent, of each request, before it waits until `bytesMax` is larger. */
  bytesMax: number
  close(): Promise<void>
}

export async function serveFiles(directory: string): Promise<FileServer> {
  let requestCount = 0
  const limit = { bytesMax: Number.POSITIVE_INFINITY, sentBytes: 0 }
  const sockets = new Set<Socket>()
  const server = http.createServer((request, response) => {
    requestCount += 1
    sendFile(join(directory, basename(request.url ?? '')), { request, response, limit })
  })
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    // Who is killed leaves its connections as they are.
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A server that listens on a port has an address that is no text.
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    get requestCount() {
      return requestCount
    },
    get sentBytes() {
      return limit.sentBytes
    },
    get bytesMax() {
      return limit.bytesMax
    },
    set bytesMax(bytesMax: number) {
      limit.bytesMax = bytesMax
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

interface Exchange {
  readonly request: http.IncomingMessage
  readonly response: http.ServerResponse
  readonly limit: { readonly bytesMax: number; sentBytes: number }
}

function sendFile(path: string, { request, response, limit }: Exchange): void {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) {
    response.writeHead(404).end()
    return
  }
  const { size, mtimeMs } = found
  const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? []
  const start = Number(first ?? 0)
  const end = last === undefined || last === '' ? size - 1 : Math.min(Number(last), size - 1)
  response.writeHead(first === undefined ? 200 : 206, {
    etag: `"${size}-${mtimeMs}"`,
    'accept-ranges': 'bytes',
    'content-length': end - start + 1,
    ...(first === undefined ? {} : { 'content-range': `bytes ${start}-${end}/${size}` }),
  })
  // A reader that is killed ends it with an error, which is none of ours.
  pipeline(createReadStream(path, { start, end }), slowly(start, limit), response, () => undefined)
}

/** Holds what stands behind the limit back, as long as it does. */
function slowly(start: number, limit: Exchange['limit']): Transform {
  let place = start
  return new Transform({
    async transform(chunk: Buffer, _, done) {
      place += chunk.length
      while (place > limit.bytesMax && !this.destroyed) await delay(20)
      limit.sentBytes += chunk.length
      done(null, chunk)
    },
  })
}
