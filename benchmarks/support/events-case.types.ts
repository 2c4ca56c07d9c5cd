import type { EventsTarget, SentEvents } from './events-sender.types.ts'
import type { Spread } from './statistics.ts'

/** Bodies of one size, sent to all receivers in the same rounds. */
export interface EventsCase {
  readonly name: string
  readonly rowsPerBody: number
  /** Different bodies that are sent in turn. */
  readonly bodyCount: number
  /** Whether bodies are sent as gzip. */
  readonly isPacked?: boolean
}

export type ReceiverName = 'millrace' | 'clickhouse' | 'fastify'

/** Who takes events: how its table is made and dropped, where bodies go, and what is stored after. */
export interface EventsReceiver {
  readonly name: ReceiverName
  readonly pid: number
  readonly target: EventsTarget
  createTable(): Promise<void>
  dropTable(): Promise<void>
  /** Null from one that stores nothing. */
  stored(): Promise<StoredEvents | null>
}

export interface StoredEvents {
  readonly rowCount: number
  /** Sum of column `n`. */
  readonly total: number
}

export interface EventsRun extends Omit<SentEvents, 'cpuSeconds'> {
  /** From the last answer until all acknowledged rows are found by a query; 0 where nothing is stored. */
  readonly storedAfterMs: number
  /** Of the receiver, until all is stored. */
  readonly cpuSeconds: number
  /** Of the receiver's main thread, until the last answer. */
  readonly mainThreadSeconds: number
  readonly senderCpuSeconds: number
}

/** One run of each receiver. */
export type EventsRound = Readonly<Record<ReceiverName, EventsRun>>

export interface EventsCaseResult {
  readonly name: string
  readonly rowsPerBody: number
  readonly connectionCount: number
  /** Without those that warm up. */
  readonly rounds: readonly EventsRound[]
  /** Requests per second of the service by those of ClickHouse in the same round. */
  readonly ratio: Spread
  /** The same, with the time until everything is stored. */
  readonly storedRatio: Spread
  /** Requests per second of the service by those of the bare route in the same round. */
  readonly share: Spread
}
