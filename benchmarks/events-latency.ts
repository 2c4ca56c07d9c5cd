import { join } from 'node:path'
import { readOptions, withBench } from './support/bench.ts'
import { createEventsTable, eventsTable, storedEvents, untilStored } from './support/event-receivers.ts'
import { startGenerator, startService } from './support/processes.ts'
import { QueryableWatch } from './support/queryable-watch.ts'
import { report } from './support/report.ts'
import type { PacedEvents } from './support/send-events.ts'
import { createServiceClient } from './support/service-client.ts'
import { type Percentiles, percentilesOf } from './support/statistics.ts'

/**
 * How long does an event take to its answer, and until a query finds it, at a fixed rate?
 *
 * The sender is an open loop: bodies are due at even intervals whatever the service does, and the clock of each runs from
 * the time it was due, not from the time it was sent (no coordinated omission; `wrk` has no such clock). A rate of events is
 * spread over bodies, because no client sends 100,000 requests a second to one process; each body counts once.
 *
 * The answer 202 says that the events are on disk. When they can be queried is learned by a query every --poll-ms, which asks
 * for the bodies that it has not found yet; what it tells is too late by at most one interval and one query, never too early,
 * and the queries are part of the service's load. With `wait=true` the answer 200 says that a query finds the events, and
 * nobody polls. A body that is refused (503) is not sent again.
 */
const options = readOptions({
  // Events a second x events a body.
  cases: '20000x10,100000x100,20000x10-wait',
  seconds: 10,
  warmUpSeconds: 3,
  connections: 256,
  pollMs: 20,
  seed: 20_260_101,
})
interface LatencyCase {
  readonly eventsPerSecond: number
  readonly rowsPerBody: number
  readonly isWaiting: boolean
}

interface LatencyResult extends LatencyCase {
  readonly sent: PacedEvents
  readonly queryableMs: Percentiles | null
}

const results: LatencyResult[] = []
for (const name of options.cases.split(',')) results.push(await measure(caseOf(name)))
const header = ['events/s', 'a body', 'requests/s', 'from due time to', 'p50 ms', 'p99 ms', 'max ms', 'refused']
const rows = results.flatMap((result) => {
  const { sent, queryableMs, isWaiting } = result
  return [
    lineOf(result, 'sent', sent.lateMs),
    lineOf(result, isWaiting ? 'answer 200 (wait=true: stored)' : 'answer 202 (on disk)', sent.answerMs),
    ...(queryableMs === null ? [] : [lineOf(result, 'queryable', queryableMs)]),
  ]
})
const notes = `All times count from when a body was due. Queryable is told by a query every ${options.pollMs} ms, too late by at most that and the
query's own time.`
report({ header, rows, notes }, options.out, results)

function caseOf(name: string): LatencyCase {
  const [, eventsPerSecond, rowsPerBody, wait] = /^(\d+)x(\d+)(-wait)?$/.exec(name) ?? []
  if (eventsPerSecond === undefined) throw new Error(`no case ${name}: like 20000x10`)
  return {
    eventsPerSecond: Number(eventsPerSecond),
    rowsPerBody: Number(rowsPerBody),
    isWaiting: wait !== undefined,
  }
}

/** A fresh service for each case: none has to do with what the one before left to merge. */
async function measure(one: LatencyCase): Promise<LatencyResult> {
  console.log(`${JSON.stringify(one)}: ${options.seconds} s and ${options.warmUpSeconds} s to warm up`)
  return await withBench(async ({ directory, opened }) => {
    const generator = opened(startGenerator())
    const client = createServiceClient(opened(await startService({ directory: join(directory, 'service') })))
    await createEventsTable(client, ', marker UInt32', 'marker, user, ts')
    const warmUpMs = options.warmUpSeconds * 1_000
    const watch = one.isWaiting
      ? null
      : new QueryableWatch({ client, rowsPerBody: one.rowsPerBody, pollMs: options.pollMs })
    const sent = await generator.call('sendPaced', {
      target: client.eventsTarget(eventsTable, one.isWaiting),
      status: one.isWaiting ? 200 : 202,
      bodies: { rowsPerBody: one.rowsPerBody, bodyCount: 64, seed: options.seed, hasMarkers: true },
      connectionCount: options.connections,
      durationMs: options.seconds * 1_000 + warmUpMs,
      bodiesPerSecond: one.eventsPerSecond / one.rowsPerBody,
      warmUpMs,
    })
    const foundAtMs = await watch?.end(sent.bodyCount)
    await untilStored(() => storedEvents(client), sent)
    return { ...one, sent, queryableMs: foundAtMs === undefined ? null : queryable(sent, foundAtMs) }
  })
}

function queryable({ measured, startedAtMs, intervalMs }: PacedEvents, foundAtMs: ReadonlyMap<number, number>) {
  return percentilesOf(
    measured.map((bodyIndex) => {
      const foundAt = foundAtMs.get(bodyIndex)
      if (foundAt === undefined) throw new Error(`body ${bodyIndex} was acknowledged and never found`)
      return foundAt - (startedAtMs + bodyIndex * intervalMs)
    }),
  )
}

function lineOf({ eventsPerSecond, rowsPerBody, sent }: LatencyResult, what: string, times: Percentiles) {
  return [
    String(eventsPerSecond),
    String(rowsPerBody),
    String(eventsPerSecond / rowsPerBody),
    what,
    ...[times.p50, times.p99, times.max].map((value) => value.toFixed(1)),
    String(sent.refusedCount),
  ]
}
