import type {
  EventsCase,
  EventsCaseResult,
  EventsReceiver,
  EventsRound,
  EventsRun,
  ReceiverName,
} from './events-case.types.ts'
import type { EventsSendingProcess } from './events-sending-process.ts'
import { cpuSeconds, mainThreadSeconds } from './process-usage.ts'
import { spreadOf } from './statistics.ts'
import { untilAllStored } from './stored-events.ts'

/** Rounds that do not count. */
const warmUpRounds = 2

export interface EventsCaseOptions {
  readonly connectionCount: number
  readonly durationMs: number
  /** Rounds that count. */
  readonly roundCount: number
  readonly seed: number
}

export interface EventsBench {
  readonly sender: EventsSendingProcess
  readonly receivers: Readonly<Record<ReceiverName, EventsReceiver>>
}

const order: readonly ReceiverName[] = ['millrace', 'clickhouse', 'fastify']

/** Measures one case: every receiver once a round, in turn, each into a new table, and what it stored verified. */
export async function measureEvents(
  bench: EventsBench,
  eventsCase: EventsCase,
  options: EventsCaseOptions,
): Promise<EventsCaseResult> {
  const rounds: EventsRound[] = []
  for (let round = -warmUpRounds; round < options.roundCount; round += 1) {
    const runs: Partial<Record<ReceiverName, EventsRun>> = {}
    // Every other round the other way round: nobody stands always behind the same neighbour, whose work may linger.
    const inTurn = round % 2 === 0 ? order : order.toReversed()
    for (const name of inTurn) {
      runs[name] = await measureRun({ sender: bench.sender, receiver: bench.receivers[name], eventsCase, options })
    }
    const { millrace, clickhouse, fastify } = runs
    if (millrace && clickhouse && fastify && round >= 0) rounds.push({ millrace, clickhouse, fastify })
  }
  const { name, rowsPerBody } = eventsCase
  const { connectionCount } = options
  return { name, rowsPerBody, connectionCount, rounds, ...ratiosOf(rounds) }
}

async function measureRun({
  sender,
  receiver,
  eventsCase,
  options,
}: {
  readonly sender: EventsSendingProcess
  readonly receiver: EventsReceiver
  readonly eventsCase: EventsCase
  readonly options: EventsCaseOptions
}): Promise<EventsRun> {
  const { rowsPerBody, bodyCount, isPacked } = eventsCase
  const { connectionCount, durationMs, seed } = options
  await receiver.createTable()
  const cpuBefore = await cpuSeconds(receiver.pid)
  const mainThreadBefore = await mainThreadSeconds(receiver.pid)
  const plan = { rowsPerBody, bodyCount, seed, hasMarkers: false, isPacked: isPacked === true }
  const { cpuSeconds: senderCpuSeconds, ...sent } = await sender.sendClosed({
    target: receiver.target,
    plan,
    connectionCount,
    durationMs,
  })
  const mainThreadAfter = await mainThreadSeconds(receiver.pid)
  const storedAfterMs = await untilAllStored(() => receiver.stored(), sent)
  const cpuAfter = await cpuSeconds(receiver.pid)
  // Merges that are still going on end with the table, so the next receiver does not run beside them.
  await receiver.dropTable()
  return {
    ...sent,
    storedAfterMs,
    senderCpuSeconds,
    cpuSeconds: cpuAfter - cpuBefore,
    mainThreadSeconds: mainThreadAfter - mainThreadBefore,
  }
}

/** Acknowledged bodies a second, by the time until the last answer. */
export function bodiesPerSecond({ bodyCount, elapsedMs }: EventsRun): number {
  return (bodyCount / elapsedMs) * 1_000
}

/** Rows a second, by the time until the last of them is found by a query. */
export function storedRowsPerSecond({ rowCount, elapsedMs, storedAfterMs }: EventsRun): number {
  return (rowCount / (elapsedMs + storedAfterMs)) * 1_000
}

function ratiosOf(rounds: readonly EventsRound[]): Pick<EventsCaseResult, 'ratio' | 'storedRatio' | 'share'> {
  const spread = (ratio: (round: EventsRound) => number) => spreadOf(rounds.map(ratio))
  return {
    ratio: spread(({ millrace, clickhouse }) => bodiesPerSecond(millrace) / bodiesPerSecond(clickhouse)),
    storedRatio: spread(({ millrace, clickhouse }) => storedRowsPerSecond(millrace) / storedRowsPerSecond(clickhouse)),
    share: spread(({ millrace, fastify }) => bodiesPerSecond(millrace) / bodiesPerSecond(fastify)),
  }
}
