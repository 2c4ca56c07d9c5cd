import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createServer, type IncomingMessage, request as openRequest, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import type { Target } from './event-requests.ts'
import { serveFunctions } from './remote-functions.ts'
import { type Packing, type RepeatedFile, repeatedFile } from './repeated-file.ts'
import type { BodyPlan } from './workloads.ts'

// The process that has the files which the service is to fetch, and sends the same ones as bodies.

export interface FileTask {
  readonly name: string
  readonly plan: BodyPlan
  readonly packing: Packing
  readonly textBytes: number
}

interface ServedFile {
  readonly byteCount: number
  read(start: number, end: number): Readable
}

const files = new Map<string, ServedFile>()
/** When the last byte of an answer was handed to the system, epoch milliseconds. */
let lastSentAtMs = 0
const server = createServer(answer)

const functions = {
  async listen(): Promise<string> {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    // A server that listens on a port has such an address.
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  },
  async addRepeated({ name, plan, packing, textBytes }: FileTask): Promise<Omit<RepeatedFile, 'pieces'>> {
    const { pieces, ...file } = await repeatedFile(plan, packing, textBytes)
    files.set(name, { byteCount: file.byteCount, read: (start, end) => Readable.from(pieces(start, end)) })
    return file
  },
  async addFile({ name, path }: { readonly name: string; readonly path: string }): Promise<void> {
    const { size } = await stat(path)
    files.set(name, { byteCount: size, read: (start, end) => createReadStream(path, { start, end: end - 1 }) })
  },
  /** Sends a file as the body of one request; gives the answer, and the milliseconds to its end. */
  async send({ name, target, encoding }: { name: string; target: Target; encoding: string | null }) {
    const file = fileOf(name)
    const startedAtMs = performance.now()
    const headers = {
      ...target.headers,
      'content-length': String(file.byteCount),
      ...(encoding === null ? {} : { 'content-encoding': encoding }),
    }
    const request = openRequest(target.url, { method: 'POST', headers, agent: false })
    const answered = once(request, 'response') as Promise<[IncomingMessage]> // The event's one argument, by node:http.
    file.read(0, file.byteCount).pipe(request)
    const [response] = await answered
    const text = Buffer.concat(await response.toArray()).toString()
    return { status: response.statusCode ?? 0, text, elapsedMs: performance.now() - startedAtMs }
  },
  async lastSentAtMs(): Promise<number> {
    return lastSentAtMs
  },
  async stop(): Promise<void> {
    server.closeAllConnections()
    server.close()
  },
}
export type FileServer = typeof functions
serveFunctions(functions)

function fileOf(name: string): ServedFile {
  const file = files.get(name)
  if (file === undefined) throw new Error(`there is no file ${name}`)
  return file
}

function answer({ url = '', method, headers }: IncomingMessage, response: ServerResponse): void {
  const file = files.get(url.slice(1))
  if (file === undefined) {
    response.writeHead(404).end()
    return
  }
  const common = { etag: `"${url}"`, 'accept-ranges': 'bytes', 'content-type': 'application/octet-stream' }
  const range = /^bytes=(\d+)-(\d*)$/.exec(headers.range ?? '')
  const start = Number(range?.[1] ?? 0)
  const end = Math.min(file.byteCount, range?.[2] ? Number(range[2]) + 1 : file.byteCount)
  const part = range === null ? {} : { 'content-range': `bytes ${start}-${end - 1}/${file.byteCount}` }
  response.writeHead(range === null ? 200 : 206, { ...common, ...part, 'content-length': String(end - start) })
  if (method === 'HEAD') {
    response.end()
    return
  }
  response.once('finish', () => {
    lastSentAtMs = Date.now()
  })
  const bytes = file.read(start, end)
  // A client that has what it wants leaves.
  response.once('close', () => bytes.destroy())
  bytes.pipe(response)
}
