import { setMaxListeners } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import type { ServiceProcess } from './processes.ts'

/** One answer, or that there was none. */
export interface Asked {
  /** When it was to be asked, on the clock of `performance.now`. */
  readonly atMs: number
  /** From then until the end of the answer, so that a service that stands still counts for all that would have been asked. */
  readonly tookMs: number
  readonly status: number
  /** Of the header `X-RateLimit-Limit`; null where there is none. */
  readonly limit: number | null
}

/** Callers of endpoints, until they are stopped. */
export interface Callers {
  readonly asked: Asked[]
  /** Resolves when what was asked before has its answers. */
  untilAnswered(): Promise<void>
  /** Resolves when the last answer is there. */
  stop(): Promise<void>
}

type Service = Pick<ServiceProcess, 'headers' | 'url'>

/** Asks so many times a second, whatever the answers do. */
export function startPaced(service: Service, path: () => string, perSecond: number): Callers {
  const agent = new Agent({ keepAlive: true })
  const asked: Asked[] = []
  const running = new Set<Promise<void>>()
  let isStopped = false
  const ask = async (atMs: number): Promise<void> => {
    asked.push(await askOnce(service, { path: path(), agent, atMs }))
  }
  const loop = (async (): Promise<void> => {
    for (let atMs = performance.now(); !isStopped; atMs += 1_000 / perSecond) {
      await delay(Math.max(0, atMs - performance.now()))
      const asking = ask(atMs).finally(() => running.delete(asking))
      running.add(asking)
    }
  })()
  return {
    asked,
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
export function startClosed(
  service: Service,
  path: () => string,
  { clientCount, obeysRetryAfter }: { readonly clientCount: number; readonly obeysRetryAfter: boolean },
): Callers {
  const agent = new Agent({ keepAlive: true, maxSockets: clientCount })
  const asked: Asked[] = []
  const stopping = new AbortController()
  // Each client that waits listens.
  setMaxListeners(clientCount + 1, stopping.signal)
  const loop = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const answer = await askOnce(service, { path: path(), agent, atMs: performance.now() })
      asked.push(answer)
      const waitMs = answer.status === 429 && obeysRetryAfter ? answer.retryAfterSeconds * 1_000 : pauseMs
      await delay(waitMs, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }
  const loops = Promise.all(Array.from({ length: clientCount }, loop))
  return {
    asked,
    // Each asks one after another, and what they ask is long: it counts when it is answered.
    async untilAnswered() {},
    async stop() {
      stopping.abort()
      await loops
      agent.destroy()
    },
  }
}

const pauseMs = 50

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
    tookMs: performance.now() - atMs,
    status: response.statusCode ?? 0,
    limit: limit === undefined ? null : Number(limit),
    retryAfterSeconds: Number(response.headers['retry-after'] ?? 1),
  }
}
