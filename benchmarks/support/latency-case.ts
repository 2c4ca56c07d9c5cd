import { assert } from '../../src/shared/assert.ts'
import { createEventsTable, eventsTable, storedEvents } from './events-receivers.ts'
import type { PacedEvents } from './events-sender.types.ts'
import type { EventsSendingProcess } from './events-sending-process.ts'
import { cpuSeconds } from './process-usage.ts'
import { QueryableWatch } from './queryable-watch.ts'
import { createServiceClient } from './service-client.ts'
import type { ServiceProcess } from './service-process.ts'
import { type Percentiles, percentilesOf } from './statistics.ts'
import { untilAllStored } from './stored-events.ts'

/** A fixed rate of events in bodies of one size. */
export interface LatencyCase {
  readonly eventsPerSecond: number
  readonly eventsPerBody: number
  /** Each answer waits until the events are stored. */
  readonly isWaiting: boolean
}

export interface LatencyOptions {
  readonly durationMs: number
  readonly warmUpMs: number
  readonly connectionCount: number
  readonly pollIntervalMs: number
  readonly seed: number
}

export interface LatencyResult extends LatencyCase {
  readonly bodiesPerSecond: number
  readonly bodyCount: number
  readonly refusedCount: number
  readonly answerMs: Percentiles
  /** Null when the answer itself says that the events can be queried. */
  readonly queryableMs: Percentiles | null
  /** From the time a body was due until it went out: the sender's own part, and waiting for a connection. */
  readonly lateMs: Percentiles
  readonly serviceCpuShare: number
  readonly senderCpuShare: number
}

/** Different bodies that are sent in turn. */
const bodyCount = 64
const storedTimeMaxMs = 60_000

/** Sends at the rate into a new data source, watches what can be queried, and checks that everything is there. */
export async function measureLatency(
  { service, sender }: { readonly service: ServiceProcess; readonly sender: EventsSendingProcess },
  latencyCase: LatencyCase,
  options: LatencyOptions,
): Promise<LatencyResult> {
  const { eventsPerSecond, eventsPerBody, isWaiting } = latencyCase
  const client = createServiceClient(service.url, service.adminToken)
  await createEventsTable(client, ', marker UInt32', 'marker, user, ts')
  const watch = new QueryableWatch({
    table: eventsTable,
    rowsPerBody: eventsPerBody,
    intervalMs: options.pollIntervalMs,
    sql: client.sql,
  })
  const bodiesPerSecond = eventsPerSecond / eventsPerBody
  const cpuBefore = await cpuSeconds(service.pid)
  if (!isWaiting) watch.start()
  const sent = await sender.sendPaced({
    target: { ...client.eventsRequest(eventsTable, isWaiting), status: isWaiting ? 200 : 202 },
    plan: { rowsPerBody: eventsPerBody, bodyCount, seed: options.seed, hasMarkers: true },
    connectionCount: options.connectionCount,
    durationMs: options.durationMs + options.warmUpMs,
    warmUpMs: options.warmUpMs,
    bodiesPerSecond,
  })
  if (!isWaiting) await watch.end(sent.bodyCount, storedTimeMaxMs)
  const cpuAfter = await cpuSeconds(service.pid)
  await untilAllStored(() => storedEvents(client), sent)
  await client.dropDataSource(eventsTable)
  return {
    ...latencyCase,
    bodiesPerSecond,
    bodyCount: sent.bodyCount,
    refusedCount: sent.refusedCount,
    answerMs: sent.answerMs,
    queryableMs: isWaiting ? null : queryableOf(sent, watch),
    lateMs: sent.lateMs,
    serviceCpuShare: ((cpuAfter - cpuBefore) * 1_000) / sent.elapsedMs,
    senderCpuShare: (sent.cpuSeconds * 1_000) / sent.elapsedMs,
  }
}

function queryableOf(sent: PacedEvents, watch: QueryableWatch): Percentiles {
  const refused = new Set(sent.refusedBodies)
  const latencies: number[] = []
  for (let bodyIndex = sent.firstMeasured; bodyIndex < sent.dueCount; bodyIndex += 1) {
    if (refused.has(bodyIndex)) continue
    const foundAtMs = watch.foundAt(bodyIndex)
    assert(foundAtMs !== undefined, `body ${bodyIndex} was acknowledged and never found`)
    latencies.push(foundAtMs - (sent.startedAtMs + bodyIndex * sent.intervalMs))
  }
  return percentilesOf(Float64Array.from(latencies))
}
