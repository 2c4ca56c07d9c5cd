// What clients do that hold a service up, from addresses of their own, in a process of their own.

import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { serveFunctions } from './remote-functions.ts'

export const attackNames = [
  'none',
  'slowloris',
  'idle connections',
  'floods of headers',
  'large bodies',
  'connections that are reset',
] as const
export type AttackName = (typeof attackNames)[number]

export interface AttackTask {
  readonly attack: AttackName
  readonly port: number
  /** Where they come from, in turns. */
  readonly addresses: readonly string[]
  readonly connectionCount: number
  readonly durationMs: number
  /** Null for senders without one. */
  readonly token: string | null
  /** Of a data source that takes what they send. */
  readonly dataSource: string
}

export interface AttackResult {
  readonly connectionCount: number
  /** Those that the service closed before the end. */
  readonly closedCount: number
  /** First lines of its answers, counted. */
  readonly answers: Readonly<Record<string, number>>
}

/** Connections opened in one turn: more at once would overflow the queue of the system. */
const burst = 100
const dripMs = 1_000
/** From the requests of a connection to its reset, at most. */
const resetMsMax = 30
const chunk = Buffer.from(`${JSON.stringify({ id: 1, text: 'x'.repeat(1_000) })}\n`.repeat(64))
const bodyBytes = 9_900_000

/** What an attacker says at first, and again every second; the latter undefined for nothing. */
function wordsOf({ attack, token, dataSource }: AttackTask): {
  readonly first: string
  readonly drip?: string | undefined
} {
  const authorization = token === null ? '' : `Authorization: Bearer ${token}\r\n`
  switch (attack) {
    case 'slowloris':
      return { first: `GET /v0/datasources HTTP/1.1\r\nHost: a\r\n${authorization}`, drip: 'X-Slow: 1\r\n' }
    case 'floods of headers': {
      const many = Array.from({ length: 240 }, (_, index) => `X-${index}: ${'v'.repeat(200)}\r\n`).join('')
      const request = `GET /v0/datasources HTTP/1.1\r\nHost: a\r\n${authorization}${many}\r\n`
      return { first: request, drip: request }
    }
    case 'large bodies':
      return {
        first: `POST /v0/events?name=${dataSource} HTTP/1.1\r\nHost: a\r\n${authorization}Content-Length: ${bodyBytes}\r\n\r\n`,
      }
    case 'connections that are reset':
      return { first: `GET /v0/sql?q=SELECT%201 HTTP/1.1\r\nHost: a\r\n${authorization}\r\n`.repeat(64) }
    case 'idle connections':
    case 'none':
      return { first: '' }
  }
}

async function attack(task: AttackTask): Promise<AttackResult> {
  const { port, addresses, connectionCount, durationMs } = task
  const { first, drip } = wordsOf(task)
  const answers: Record<string, number> = {}
  const sockets = new Set<Socket>()
  const resets = task.attack === 'connections that are reset'
  let closedCount = 0
  let isOver = false
  const open = (localAddress: string): void => {
    const socket = connect({ host: '127.0.0.1', port, localAddress }, () => {
      if (first !== '') socket.write(first)
      if (task.attack === 'large bodies') sendBody(socket)
      if (resets) setTimeout(() => socket.resetAndDestroy(), resetMsMax * Math.random())
    })
    socket.on('data', (bytes: Buffer) => {
      const line = bytes.toString('latin1').split('\r\n', 1)[0] ?? ''
      if (line.startsWith('HTTP/')) answers[line] = (answers[line] ?? 0) + 1
    })
    // What the service closes is an end that is expected.
    socket.on('error', () => {})
    socket.on('close', () => {
      sockets.delete(socket)
      if (isOver) return
      if (resets) open(localAddress)
      else closedCount += 1
    })
    sockets.add(socket)
  }
  const endsAtMs = performance.now() + durationMs
  for (let index = 0; index < connectionCount; index += 1) {
    open(addresses[index % addresses.length] ?? '127.0.0.2')
    if (index % burst === burst - 1) await delay(20)
  }
  while (performance.now() < endsAtMs) {
    await delay(dripMs)
    if (drip !== undefined) for (const socket of sockets) if (!socket.destroyed) socket.write(drip)
  }
  isOver = true
  for (const socket of sockets) socket.destroy()
  return { connectionCount, closedCount, answers }
}

/** The body at once, as far as the service takes it. */
function sendBody(socket: Socket): void {
  let leftBytes = bodyBytes
  const send = (): void => {
    while (leftBytes > 0 && !socket.destroyed) {
      const bytes = chunk.subarray(0, Math.min(chunk.length, leftBytes))
      leftBytes -= bytes.length
      if (!socket.write(bytes)) {
        socket.once('drain', send)
        return
      }
    }
  }
  send()
}

interface NeighbourTask {
  readonly port: number
  readonly address: string
  readonly token: string
  readonly dataSource: string
  readonly durationMs: number
}

interface NeighbourResult {
  readonly eventMs: readonly number[]
  readonly queryMs: readonly number[]
  /** Answers that were none of what was asked for, and connections that failed, counted by what they said. */
  readonly failures: Readonly<Record<string, number>>
}

const neighbourPauseMs = 10

/** A well-behaved client: one event and one query in turns, on connections that it opens anew every tenth time. */
async function ask({ port, address, token, dataSource, durationMs }: NeighbourTask): Promise<NeighbourResult> {
  const eventMs: number[] = []
  const queryMs: number[] = []
  const failures: Record<string, number> = {}
  const authorization = `Host: a\r\nAuthorization: Bearer ${token}\r\n`
  const body = '{"id":1,"text":"a"}\n'
  const event = `POST /v0/events?name=${dataSource} HTTP/1.1\r\n${authorization}Content-Length: ${body.length}\r\n\r\n${body}`
  const query = `GET /v0/sql?q=SELECT%201 HTTP/1.1\r\n${authorization}\r\n`
  const endsAtMs = performance.now() + durationMs
  let socket: Socket | null = null
  for (let turn = 0; performance.now() < endsAtMs; turn += 1) {
    const isEvent = turn % 2 === 0
    if (turn % 10 === 0) {
      socket?.destroy()
      socket = null
    }
    const startedAtMs = performance.now()
    socket ??= openNeighbour(port, address)
    const line = await exchange(socket, isEvent ? event : query)
    const times = isEvent ? eventMs : queryMs
    times.push(performance.now() - startedAtMs)
    if (!line.startsWith(isEvent ? 'HTTP/1.1 202' : 'HTTP/1.1 200')) {
      failures[line] = (failures[line] ?? 0) + 1
      socket.destroy()
      socket = null
    }
    await delay(neighbourPauseMs)
  }
  socket?.destroy()
  return { eventMs, queryMs, failures }
}

function openNeighbour(port: number, localAddress: string): Socket {
  return connect({ host: '127.0.0.1', port, localAddress })
}

/** Sends a request, and gives the first line of its answer once it is whole; both answers end with a line break or a brace. */
function exchange(socket: Socket, request: string): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const settle = (line: string): void => {
      socket.off('data', take)
      socket.off('close', close)
      socket.off('error', fail)
      resolve(line)
    }
    const take = (bytes: Buffer): void => {
      text += bytes.toString('latin1')
      const headEnd = text.indexOf('\r\n\r\n')
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? Number.NaN)
      const isWhole = Number.isNaN(length) ? text.endsWith('0\r\n\r\n') : text.length >= headEnd + 4 + length
      if (headEnd >= 0 && isWhole) settle(text.split('\r\n', 1)[0] ?? '')
    }
    const close = (): void => settle('closed')
    const fail = (error: Error): void => settle(error.message)
    socket.on('data', take)
    socket.on('close', close)
    socket.on('error', fail)
    socket.write(request)
  })
}

const functions = { attack, ask }
export type Attacks = typeof functions

serveFunctions(functions)
