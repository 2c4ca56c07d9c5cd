import { assert } from '../../src/shared/assert.ts'
import { type EventConnection, type HttpAnswer, withConnections } from './event-connections.ts'
import {
  type EventBodies,
  type EventRequest,
  eventRequests,
  firstMarker,
  type Target,
  withMarker,
} from './event-requests.ts'
import { type Percentiles, percentilesOf } from './statistics.ts'

export interface SendingTask {
  readonly target: Target
  /** Of the answer that says that the events were taken. 503 refuses them; any other status ends the run. */
  readonly status: number
  readonly bodies: EventBodies
  readonly connectionCount: number
  readonly durationMs: number
}

export interface PacedTask extends SendingTask {
  readonly bodiesPerSecond: number
  /** Bodies that are due before are sent and not measured. */
  readonly warmUpMs: number
}

export interface SentEvents {
  /** From the first byte of the first request to the last byte of the last answer. */
  readonly elapsedMs: number
  readonly bodyCount: number
  readonly rowCount: number
  /** Sum of column `n` over all acknowledged rows. */
  readonly total: number
  /** Answers 503. A connection pauses after one; a paced body is not sent again. */
  readonly refusedCount: number
  /** To the answer, from when the body went out, or was due: then waiting for a connection counts. */
  readonly answerMs: Percentiles
}

export interface PacedEvents extends SentEvents {
  /** When body 0 was due, by the monotonic clock. Body `index` was due `index * intervalMs` later. */
  readonly startedAtMs: number
  readonly intervalMs: number
  /** Bodies that were taken and are measured. */
  readonly measured: readonly number[]
  /** From when a body was due until it went out. */
  readonly lateMs: Percentiles
}

/** A refused sender comes again after this, not after the second or more that Retry-After asks for. */
const refusedPauseMs = 100
/** From the opening of the connections to the first body that is due. */
const leadMs = 20

/** Milliseconds of the system's monotonic clock: the same in all processes of the machine, unlike `performance.now()`. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

/** Sends in a closed loop: each connection its next body when the one before is answered, until the time is over. */
export async function sendClosed(task: SendingTask): Promise<SentEvents> {
  const tally = new Tally(task)
  const startedAtMs = monotonicMs()
  const sentAtMs = new Map<EventConnection, number>()
  const answerMs: number[] = []
  let nextBody = 0
  await withConnections(connectionsOf(task), (connections, finish) => {
    let busyCount = connections.length
    const sendNext = (connection: EventConnection): void => {
      const now = monotonicMs()
      if (now - startedAtMs >= task.durationMs) {
        busyCount -= 1
        if (busyCount === 0) finish()
        return
      }
      connection.bodyIndex = nextBody
      nextBody += 1
      sentAtMs.set(connection, now)
      connection.send(tally.request(connection.bodyIndex).bytes)
    }
    connections.forEach(sendNext)
    return (connection, answer) => {
      answerMs.push(monotonicMs() - (sentAtMs.get(connection) ?? Number.NaN))
      if (tally.isTaken(connection.bodyIndex, answer)) sendNext(connection)
      else setTimeout(sendNext, refusedPauseMs, connection)
    }
  })
  return { ...tally.sent(startedAtMs), answerMs: percentilesOf(answerMs) }
}

/**
 * Sends in an open loop: bodies are due at even intervals, whatever the answers do, and one that finds no free connection goes
 * out later. Timers come in steps of a millisecond, so a body may go out a millisecond late; that counts as the receiver's.
 */
export async function sendPaced(task: PacedTask): Promise<PacedEvents> {
  const tally = new Tally(task)
  const intervalMs = 1_000 / task.bodiesPerSecond
  const dueCount = Math.floor(task.durationMs / intervalMs)
  const startedAtMs = monotonicMs() + leadMs
  const dueAtMs = (bodyIndex: number) => startedAtMs + bodyIndex * intervalMs
  const answerMs = new Map<number, number>()
  const lateMs: number[] = []
  await withConnections(connectionsOf(task), (connections, finish) => {
    const idle = [...connections]
    let timer: NodeJS.Timeout | undefined
    const send = (): void => {
      for (;;) {
        const bodyIndex = lateMs.length
        if (bodyIndex === dueCount) {
          if (idle.length === connections.length) finish()
          return
        }
        const restMs = dueAtMs(bodyIndex) - monotonicMs()
        if (restMs > 0) {
          clearTimeout(timer)
          timer = setTimeout(send, restMs)
          return
        }
        // Whoever was free for the longest goes first, so that no connection rests until the receiver closes it.
        const connection = idle.shift()
        if (connection === undefined) return
        const request = tally.request(bodyIndex)
        connection.bodyIndex = bodyIndex
        connection.send(task.bodies.hasMarkers === true ? withMarker(request, firstMarker + bodyIndex) : request.bytes)
        lateMs.push(-restMs)
      }
    }
    send()
    return (connection, answer) => {
      const { bodyIndex } = connection
      if (tally.isTaken(bodyIndex, answer)) answerMs.set(bodyIndex, monotonicMs() - dueAtMs(bodyIndex))
      idle.push(connection)
      send()
    }
  })
  const first = Math.floor(task.warmUpMs / intervalMs)
  const measured = [...answerMs.keys()].filter((bodyIndex) => bodyIndex >= first)
  return {
    ...tally.sent(startedAtMs),
    startedAtMs,
    intervalMs,
    measured,
    answerMs: percentilesOf(measured.map((bodyIndex) => answerMs.get(bodyIndex) ?? Number.NaN)),
    lateMs: percentilesOf(lateMs.slice(first)),
  }
}

function connectionsOf({ target, connectionCount, durationMs }: SendingTask) {
  // A receiver on a busy machine may lie behind by a part of a long run.
  return { url: target.url, count: connectionCount, timeMaxMs: 60_000 + 1.1 * durationMs }
}

/** Counts what was acknowledged. */
class Tally {
  readonly #requests: readonly EventRequest[]
  readonly #status: number
  readonly #counts = { bodyCount: 0, rowCount: 0, total: 0, refusedCount: 0 }
  #lastAnswerAtMs = 0

  constructor({ bodies, target, status }: SendingTask) {
    this.#requests = eventRequests(bodies, target)
    this.#status = status
  }

  request(bodyIndex: number): EventRequest {
    const request = this.#requests[bodyIndex % this.#requests.length]
    assert(request !== undefined, 'there are bodies')
    return request
  }

  /**
   * False when the body was refused for now.
   * @throws Error on an answer that nobody expects.
   */
  isTaken(bodyIndex: number, { status, body }: HttpAnswer): boolean {
    this.#lastAnswerAtMs = monotonicMs()
    if (status !== this.#status && status !== 503) throw new Error(`answered ${status}: ${body}`)
    const isTaken = status === this.#status
    const request = this.request(bodyIndex)
    this.#counts.bodyCount += isTaken ? 1 : 0
    this.#counts.rowCount += isTaken ? request.rowCount : 0
    this.#counts.total += isTaken ? request.total : 0
    this.#counts.refusedCount += isTaken ? 0 : 1
    return isTaken
  }

  sent(startedAtMs: number) {
    return { ...this.#counts, elapsedMs: this.#lastAnswerAtMs - startedAtMs }
  }
}
