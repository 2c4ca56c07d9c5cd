// Requests that a client sends ahead, without waiting for the answers before them. Node starts all that one read brings, two
// thousand of them in 64 KiB, before anybody else has a turn.

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { LimitHits } from '../../limits/limit-hits.ts'
import type { Logger } from '../../observe/logger.ts'
import { errors } from '../../shared/errors/errors.ts'
import { addressKey } from './address-list.ts'
import { dropBody } from './chunk-gate.ts'
import { dropRest } from './gentle-close.ts'
import type { RawAnswers } from './raw-answer.ts'
import { StartQueue } from './start-queue.ts'
import { TurnTime } from './turn-time.ts'

/** Clients that send ahead at all do so with ten or twenty. */
export const openRequestsMax = 64

/** The end of the query that came last on each connection. */
const queryEnds = new WeakMap<Socket, Promise<void>>()

/**
 * Runs a query when those before it on its connection have ended. Their answers go out in this order anyway; together they
 * would hold the engine's sessions, and the line for these, for one caller.
 */
export function inTurn<Result>(socket: Socket, run: () => Promise<Result>): Promise<Result> {
  const before = queryEnds.get(socket)
  const result = before === undefined ? run() : before.then(run)
  // Its own caller is told of a failure.
  const end = result.then(noFurther, noFurther)
  queryEnds.set(socket, end)
  return result
}

const noFurther = (): void => {}

interface Connection {
  readonly address: string
  /**
   * Answers that are not out, in their order. A Set that is filled and emptied by each request is built anew all the time, and V8 has each
   * of its tables refer to the next one: once one is old, all that come are kept with what they hold, until a collection of everything.
   */
  readonly open: ServerResponse[]
  /** Those of them whose requests are not begun, in the same order. */
  readonly waiting: Set<ServerResponse>
  /** What is done behind the beginning of the last one. */
  readonly later: (() => void)[]
  /** Whether requests came when there were too many. */
  isRefused: boolean
  /** Whether the answer is out behind which it closes. Until it is closed it may bring more. */
  isOver: boolean
}

const connections = new WeakMap<Socket, Connection>()

/**
 * Does what concerns the request that came last on a connection, which brings no more of them: at once, or behind its beginning where
 * it waits for that. What is told of a connection meanwhile would find another request else, or none.
 */
export function onceLastBegun(socket: Socket, act: () => void): void {
  const connection = connections.get(socket)
  const last = connection?.open.at(-1)
  if (connection === undefined || last === undefined || !connection.waiting.has(last)) act()
  else connection.later.push(act)
}

/**
 * Closes a connection behind an answer; those that wait behind it are not begun. Where one of these is begun already, it is left to the
 * answer of that.
 */
export function closeBehind(response: ServerResponse): void {
  const { socket } = response.req
  const connection = connections.get(socket)
  const behind = connection?.open.slice(connection.open.indexOf(response) + 1) ?? []
  if (!behind.every((other) => connection?.waiting.has(other))) return
  response.shouldKeepAlive = false
  // Its head has said that the connection stays.
  if (response.headersSent) response.once('finish', () => socket.destroySoon())
}

/** Whether the connection closes behind one of these. */
function isClosing(open: Connection['open']): boolean {
  return open.some(({ shouldKeepAlive }) => !shouldKeepAlive)
}

/** The answer that has its turn on a connection. */
export function answerOf(socket: Socket): ServerResponse | undefined {
  return connections.get(socket)?.open[0]
}

/** What the requests of one turn of the event loop may take. */
const turnMsMax = 10

/** Whose request of HTTP/2 it is: the session, as one connection, and the address of its client. */
export interface StreamSession {
  readonly connection: object
  readonly remoteAddress: string
}

/** Bounds what clients do that send requests ahead. */
export interface Pipelining {
  readonly listener: RequestListener
  /** Begins a request of HTTP/2: at once, or, where many come together, in the turn of its session. That bounds how many it has. */
  readonly beginStream: (session: StreamSession, begin: () => void) => void
  /** The answer of a connection that has its turn; undefined when all are out. */
  readonly answerOf: (socket: Socket) => ServerResponse | undefined
}

/**
 * Puts a bound on the requests of one connection that wait for their answers. The first one above it is told so when its turn
 * has come, with all before it answered, and its answer closes the connection: those behind it are not looked at.
 *
 * A request that comes while one before it has no answer is begun by and by, whatever connection it is of: a read brings
 * hundreds of them, from each of hundreds of connections, and Node would begin all of them before anybody else has a turn. So is one
 * that comes when those before it have taken long in the same turn: hundreds of connections bring one each. Of those that wait each address
 * has its turn, and of an address each connection.
 *
 * When a connection ends, Node closes the one answer that has its turn. Those behind it are closed here: what waits for their
 * end (queries, results, files) would wait for ever.
 */
export function boundPipelining(listener: RequestListener, deps: Deps): Pipelining {
  const waiting = new StartQueue(deps.clock)
  const turn = new TurnTime(deps.clock)
  const hasTurn = (address: string): boolean => !waiting.hasFirst(address) && turn.passedMs < turnMsMax
  function onAnswered(this: ServerResponse): void {
    const connection = connections.get(this.req.socket)
    const at = connection?.open.indexOf(this) ?? -1
    if (connection === undefined || at < 0) return
    connection.open.splice(at, 1)
    connection.isOver ||= !this.shouldKeepAlive
  }
  const connectionOf = (socket: Socket): Connection => {
    const known = connections.get(socket)
    if (known !== undefined) return known
    const address = addressKey(socket.remoteAddress ?? '')
    const state = { isRefused: false, isOver: false }
    const connection: Connection = { address, open: [], waiting: new Set(), later: [], ...state }
    connections.set(socket, connection)
    socket.once('close', () => closeQueued(connection.open))
    return connection
  }
  const refuse = (connection: Connection, request: IncomingMessage, response: ServerResponse): void => {
    dropBody(request)
    if (connection.isRefused) return
    connection.isRefused = true
    deps.logger.warn({ openRequestsMax }, 'A connection is closed: too many of its requests waited for their answers.')
    dropRest(request.socket)
    answerRefused(response, deps)
  }
  const onRequest: RequestListener = (request, response) => {
    const { socket } = request
    // What came in one read with a request too many.
    if (socket.destroyed) return
    const connection = connectionOf(socket)
    const { address, open } = connection
    const last = open.at(-1)
    // Clients of HTTP/1.0 send nothing ahead, and Node finds only with the answer whether it can go on behind it.
    if (last?.req.httpVersion === '1.0' && last.shouldKeepAlive) closeBehind(last)
    if (connection.isOver || isClosing(open)) {
      dropBody(request)
      return
    }
    // What comes behind a request that was refused could be done before it is known to be.
    if (open.length >= openRequestsMax || connection.isRefused) {
      refuse(connection, request, response)
      return
    }
    // Node looks for no request in what it has read with one that asks for another protocol.
    if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false
    const isAhead = open.length > 0
    open.push(response)
    response.once('close', onAnswered)
    if (!isAhead && hasTurn(address)) {
      listener(request, response)
      return
    }
    connection.waiting.add(response)
    const start = (): void => {
      connection.waiting.delete(response)
      const at = open.indexOf(response)
      // Its connection may be gone by then.
      if (at < 0 || isClosing(open.slice(0, at))) return
      listener(request, response)
      if (at === open.length - 1) for (const act of connection.later.splice(0)) act()
    }
    waiting.add({ address, connection: socket, isAhead, start })
  }
  const beginStream: Pipelining['beginStream'] = ({ connection, remoteAddress }, begin) => {
    const address = addressKey(remoteAddress)
    if (hasTurn(address)) begin()
    // Requests of one session do not wait for each other's answers.
    else waiting.add({ address, connection, isAhead: false, start: begin })
  }
  return { listener: onRequest, beginStream, answerOf }
}

interface Deps {
  readonly logger: Logger
  readonly answers: Pick<RawAnswers, 'partsOf' | 'requestId'>
  readonly limitHits: Pick<LimitHits, 'tell'>
  /** Epoch milliseconds. */
  readonly now: () => number
  /** Milliseconds that only go on. */
  readonly clock: () => number
}

/** Node sends it behind the answers before it, and closes the connection then. */
function answerRefused(response: ServerResponse, { answers, limitHits, now }: Deps): void {
  const error = errors.REQUESTS_AHEAD_TOO_MANY({ openRequestsMax, retryAfterSeconds: 1 })
  const requestId = answers.requestId()
  const { limit, code, status } = error
  const nobody = { tokenId: null, tokenName: null, resource: null }
  if (limit !== undefined) limitHits.tell({ limit, code, status, atMs: now(), requestId, ...nobody })
  const { headers, body } = answers.partsOf(error, requestId)
  response.shouldKeepAlive = false
  response.writeHead(error.status, headers)
  response.end(body)
}

/** Does to answers that have no connection yet what Node does to the one that has. */
function closeQueued(open: Connection['open']): void {
  for (const response of [...open]) {
    if (response.socket !== null) continue
    Object.assign(response, { destroyed: true, _closed: true })
    response.emit('close')
  }
}
