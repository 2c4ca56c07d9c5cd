// The cost of chunks where it arises: Node's parser calls us for each chunk of a body, eleven thousand times in one read of
// 64 KiB, before anybody else has a turn, and there is no stopping it in the middle.

import type { IncomingMessage, RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import { ChunkBudget, chunkBytesMin, type SharedChunks } from '../request/chunk-budget.ts'

/** Small chunks that a body may bring while the process has none left, and one more for each so many milliseconds. */
const scarceChunksFree = 256
const scarceMsPerChunk = 20
/** Small chunks of a body that nobody reads any more. */
const unreadChunksMax = 64

const gates = new WeakMap<IncomingMessage, ChunkGate>()

/** The gate of a request whose body comes in chunks; a body with a Content-Length has none, and costs by its reads. */
export function gateOf(request: IncomingMessage): ChunkGate | undefined {
  return gates.get(request)
}

/** Puts a gate before each body that comes in chunks. */
export function guardChunks(listener: RequestListener, shared: SharedChunks): RequestListener {
  return (request, response) => {
    if (request.headers['transfer-encoding'] !== undefined) {
      const gate = new ChunkGate(request, shared)
      gates.set(request, gate)
      // Node reads on, for nobody, where an answer leaves the connection open.
      response.once('finish', () => gate.shut())
    }
    listener(request, response)
  }
}

/**
 * Counts the small chunks of a body as the parser brings them. When there are too many it shuts: the parser calls nobody for
 * what is left of the body, which then costs as its bytes do. The end of the body is told all the same.
 */
export class ChunkGate {
  readonly #request: IncomingMessage
  readonly #shared: SharedChunks
  readonly #budget: ChunkBudget
  readonly #startedAtMs: number
  #smallCount = 0
  #unreadLeft = Number.POSITIVE_INFINITY
  #isShut = false
  #onShut: () => void = () => {}
  /** Calls of the parser for bytes, those behind the shutting among them. */
  callCount = 0

  constructor(request: IncomingMessage, shared: SharedChunks) {
    this.#request = request
    this.#shared = shared
    this.#budget = new ChunkBudget(shared.now, { chunksFree: shared.bodyChunksFree })
    this.#startedAtMs = shared.now()
    const push = request.push.bind(request)
    request.push = (chunk: Buffer | null, encoding?: BufferEncoding): boolean => {
      if (chunk === null) return push(chunk)
      this.callCount += 1
      if (this.#isShut) return true
      if (this.#admits(chunk.length)) return push(chunk, encoding)
      this.shut()
      return true
    }
  }

  get isShut(): boolean {
    return this.#isShut
  }

  /** Has `onShut` called when the gate shuts, at once when it has. One at a time. */
  whenShut(onShut: () => void): void {
    this.#onShut = onShut
    if (this.#isShut) onShut()
  }

  /** Says that nobody reads the body any more. */
  stopReading(): void {
    this.#unreadLeft = Math.min(this.#unreadLeft, unreadChunksMax)
  }

  shut(): void {
    if (this.#isShut || this.#request.complete) return
    this.#isShut = true
    silenceParser(this.#request)
    this.#onShut()
  }

  /** Large chunks count for nothing but their body. */
  #admits(byteCount: number): boolean {
    const isWithinOwn = this.#budget.take(byteCount) === null
    if (byteCount >= chunkBytesMin) return true
    this.#smallCount += 1
    this.#unreadLeft -= 1
    if (!isWithinOwn || this.#unreadLeft < 0) return false
    if (this.#shared.take()) return true
    const elapsedMs = this.#shared.now() - this.#startedAtMs
    return this.#smallCount <= scarceChunksFree + elapsedMs / scarceMsPerChunk
  }
}

/** Takes what comes of the body of a request that nobody looks at, at the cost of its bytes. */
export function dropBody(request: IncomingMessage): void {
  gates.get(request)?.shut()
  request.resume()
}

/** What stands on Node's parser: functions by number, which it looks up for each call. */
type Parser = Record<string, unknown>

/**
 * Takes the parser's function for bytes away until the message ends. Node has no name for that outside; where it is not found,
 * the gate drops what comes, which costs a few times as much.
 */
function silenceParser(request: IncomingMessage): void {
  const { socket } = request
  // Not among the types of Node, though each socket of its server has one.
  const { parser } = socket as Socket & { readonly parser?: Parser | null }
  if (!parser) return
  const key = Object.keys(parser).find((name) => isBodyFunction(parser[name]))
  if (key === undefined) return
  const onBody = parser[key]
  const restore = (): void => {
    parser[key] = onBody
    socket.off('close', restore)
  }
  parser[key] = null
  // The parser goes on to the next request of the connection, or to another connection.
  socket.once('close', restore)
  const push = request.push
  request.push = (chunk: Buffer | null, encoding?: BufferEncoding): boolean => {
    if (chunk === null) restore()
    return push.call(request, chunk, encoding)
  }
}

function isBodyFunction(value: unknown): boolean {
  return typeof value === 'function' && value.name === 'parserOnBody'
}
