import { assert } from '../../src/shared/assert.ts'
import { firstMarker, marked, type ReadyRequest } from './events-bodies.ts'
import { EventsConnection, openSockets } from './events-connection.ts'
import type { ClosedTask, EventsTask, OpenTask, PacedEvents, SentEvents } from './events-sender.types.ts'
import { EventsTally } from './events-tally.ts'
import { monotonicMs } from './monotonic-clock.ts'
import { type Percentiles, percentilesOf } from './statistics.ts'

/** A refused sender comes again after this, not after the second or more that Retry-After asks for. */
const refusedPauseMs = 100
/** Time for the last answers; a receiver on a busy machine may lie behind by a part of a long run. */
const graceMs = (durationMs: number) => 60_000 + durationMs / 10
/** From the opening of the connections to the first body that is due. */
const leadMs = 20

/** Sends the requests in turn on all connections until the time is over, and waits for the last answers. */
export async function sendInClosedLoop(task: ClosedTask, requests: readonly ReadyRequest[]): Promise<SentEvents> {
  const tally = new EventsTally(requests, task.target.status)
  const startedAtMs = monotonicMs()
  let nextBody = 0
  await withConnections(task, (connections, finish) => {
    let busyCount = connections.length
    const sendNext = (connection: EventsConnection): void => {
      if (monotonicMs() - startedAtMs >= task.durationMs) {
        busyCount -= 1
        if (busyCount === 0) finish()
        return
      }
      connection.bodyIndex = nextBody
      nextBody += 1
      connection.send(requestOf(requests, connection.bodyIndex).bytes)
    }
    for (const connection of connections) sendNext(connection)
    return (connection, answer) => {
      if (tally.count(connection.bodyIndex, answer)) sendNext(connection)
      else setTimeout(sendNext, refusedPauseMs, connection)
    }
  })
  return tally.sent(startedAtMs)
}

/**
 * Sends each body as soon as it is due and a connection is free. Timers come in steps of a millisecond, so a body may go
 * out a millisecond late; that counts as the receiver's.
 */
export async function sendInOpenLoop(task: OpenTask, requests: readonly ReadyRequest[]): Promise<PacedEvents> {
  const tally = new EventsTally(requests, task.target.status)
  const intervalMs = 1_000 / task.bodiesPerSecond
  const dueCount = Math.floor(task.durationMs / intervalMs)
  const startedAtMs = monotonicMs() + leadMs
  const dueAtMs = (bodyIndex: number) => startedAtMs + bodyIndex * intervalMs
  const answerMs = new Float64Array(dueCount).fill(Number.NaN)
  const lateMs = new Float64Array(dueCount)
  const refusedBodies: number[] = []
  await withConnections(task, (connections, finish) => {
    const idle = [...connections]
    let nextBody = 0
    let timer: NodeJS.Timeout | undefined
    const pump = (): void => {
      for (;;) {
        if (nextBody === dueCount) {
          if (idle.length === connections.length) finish()
          return
        }
        const now = monotonicMs()
        const restMs = dueAtMs(nextBody) - now
        if (restMs > 0) {
          clearTimeout(timer)
          timer = setTimeout(pump, restMs)
          return
        }
        // Whoever was free for the longest goes first, so that no connection rests until the receiver closes it.
        const connection = idle.shift()
        if (connection === undefined) return
        const request = requestOf(requests, nextBody)
        connection.bodyIndex = nextBody
        connection.send(task.plan.hasMarkers ? marked(request, firstMarker + nextBody) : request.bytes)
        lateMs[nextBody] = -restMs
        nextBody += 1
      }
    }
    pump()
    return (connection, answer) => {
      const { bodyIndex } = connection
      if (tally.count(bodyIndex, answer)) answerMs[bodyIndex] = monotonicMs() - dueAtMs(bodyIndex)
      else refusedBodies.push(bodyIndex)
      idle.push(connection)
      pump()
    }
  })
  const firstMeasured = Math.floor(task.warmUpMs / intervalMs)
  const measured = (values: Float64Array): Percentiles =>
    percentilesOf(values.subarray(firstMeasured).filter((value) => !Number.isNaN(value)))
  return {
    ...tally.sent(startedAtMs),
    startedAtMs,
    intervalMs,
    dueCount,
    firstMeasured,
    refusedBodies,
    answerMs: measured(answerMs),
    lateMs: measured(lateMs),
  }
}

type OnAnswer = ConstructorParameters<typeof EventsConnection>[1]['onAnswer']

/** Resolves when `begin`'s `finish` was called; rejects when a connection fails, an answer is wrong or the time is over. */
async function withConnections(
  { target, connectionCount, durationMs }: EventsTask,
  begin: (connections: readonly EventsConnection[], finish: () => void) => OnAnswer,
): Promise<void> {
  const sockets = await openSockets(target.url, connectionCount)
  const opened: EventsConnection[] = []
  let timer: NodeJS.Timeout | undefined
  try {
    await new Promise<void>((resolve, reject) => {
      timer = setTimeout(
        () => reject(new Error('the last answers did not come in time')),
        durationMs + graceMs(durationMs),
      )
      let onAnswer: OnAnswer | undefined
      const listeners = {
        onAnswer: (...answered: Parameters<OnAnswer>) => onAnswer?.(...answered),
        onFault: reject,
      }
      for (const socket of sockets) opened.push(new EventsConnection(socket, listeners))
      // Answers come in a later turn of the event loop than what is sent here.
      onAnswer = begin(opened, resolve)
    })
  } finally {
    clearTimeout(timer)
    for (const connection of opened) connection.close()
  }
}

function requestOf(requests: readonly ReadyRequest[], bodyIndex: number): ReadyRequest {
  const request = requests[bodyIndex % requests.length]
  assert(request !== undefined, 'a plan has bodies')
  return request
}
