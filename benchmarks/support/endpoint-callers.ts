import { setMaxListeners } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { ServiceProcess } from './processes.ts'
import { serveFunctions } from './remote-functions.ts'

// The process of callers of one endpoint, so that none of their work is counted as another's time.

/** One answer, or that there was none. */
export interface Asked {
  /** When it was to be asked, as milliseconds since 1970. */
  readonly atMs: number
  /** From then until the end of the answer, so that a service that stands still counts for all that would have been asked. */
  readonly tookMs: number
  readonly status: number
  /** Of the header `X-RateLimit-Limit`; null where there is none. */
  readonly limit: number | null
}

type Service = Pick<ServiceProcess, 'headers' | 'url'>

export interface PacedTask extends Service {
  /** Asked in turn. */
  readonly paths: readonly string[]
  readonly perSecond: number
}

export interface ClosedTask extends Service {
  readonly paths: readonly string[]
  readonly clientCount: number
  readonly obeysRetryAfter: boolean
}

/** Callers until they are stopped. */
interface Callers {
  /** Resolves when what was asked before has its answers; at once where they ask long things one after another. */
  untilAnswered(): Promise<void>
  /** Resolves when the last answer is there. */
  stop(): Promise<void>
}

const pauseMs = 50

const functions = { startPaced, startClosed, askFor, lastAnswer, answersSince, stop }
export type EndpointCallers = typeof functions
serveFunctions(functions)

let paths: readonly string[] = []
let pathCount = 0
const asked: Asked[] = []
let callers: Callers | undefined

function askFor(others: readonly string[]): void {
  paths = others
}

function nextPath(): string {
  pathCount += 1
  return paths[pathCount % paths.length] ?? ''
}

function lastAnswer(): Asked | undefined {
  return asked.at(-1)
}

/** Of what was asked since then; waits for the answers of callers that ask at a pace. */
async function answersSince(sinceMs: number): Promise<readonly Asked[]> {
  await callers?.untilAnswered()
  return asked.filter(({ atMs }) => atMs >= sinceMs)
}

async function stop(): Promise<void> {
  await callers?.stop()
}

/** Milliseconds since 1970 that never go back. */
function nowMs(): number {
  return performance.timeOrigin + performance.now()
}

/** Asks so many times a second, whatever the answers do. */
function startPaced({ perSecond, ...task }: PacedTask): void {
  const agent = new Agent({ keepAlive: true })
  const running = new Set<Promise<void>>()
  let isStopped = false
  paths = task.paths
  const ask = async (atMs: number): Promise<void> => {
    asked.push(await askOnce(task, { path: nextPath(), agent, atMs }))
  }
  const loop = (async (): Promise<void> => {
    for (let atMs = nowMs(); !isStopped; atMs += 1_000 / perSecond) {
      await delay(Math.max(0, atMs - nowMs()))
      const asking = ask(atMs).finally(() => running.delete(asking))
      running.add(asking)
    }
  })()
  callers = {
    async untilAnswered() {
      await Promise.all(running)
    },
    async stop() {
      isStopped = true
      await loop
      await Promise.all(running)
      agent.destroy()
    },
  }
}

/** Each client asks again when it has its answer, and after a refusal as soon as `Retry-After` says, with none at once. */
function startClosed({ clientCount, obeysRetryAfter, ...task }: ClosedTask): void {
  const agent = new Agent({ keepAlive: true, maxSockets: clientCount })
  const stopping = new AbortController()
  paths = task.paths
  // Each client that waits listens.
  setMaxListeners(clientCount + 1, stopping.signal)
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const answer = await askOnce(task, { path: nextPath(), agent, atMs: nowMs() })
      asked.push(answer)
      const waitMs = answer.status === 429 && obeysRetryAfter ? answer.retryAfterSeconds * 1_000 : pauseMs
      await delay(waitMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }
  const loops = Promise.all(Array.from({ length: clientCount }, loop))
  callers = {
    async untilAnswered() {},
    async stop() {
      stopping.abort()
      await loops
      agent.destroy()
    },
  }
}

interface OneAsking {
  readonly path: string
  readonly agent: Agent
  readonly atMs: number
}

async function askOnce({ url, headers }: Service, { path, agent, atMs }: OneAsking) {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(`${url}${path}`, { agent, headers }, resolve).on('error', reject)
  })
  await response.toArray()
  const limit = response.headers['x-ratelimit-limit']
  return {
    atMs,
    tookMs: nowMs() - atMs,
    status: response.statusCode ?? 0,
    limit: limit === undefined ? null : Number(limit),
    retryAfterSeconds: Number(response.headers['retry-after'] ?? 1),
  }
}
