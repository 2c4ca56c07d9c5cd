import type { SenderRequest } from './body-sender.types.ts'
import type { Percentiles } from './statistics.ts'

/** Bodies that are made before the clock starts and sent in turn, again and again. */
export interface BodiesPlan {
  readonly rowsPerBody: number
  readonly bodyCount: number
  readonly seed: number
  /** Each event gets the number of its body, counted over all that were sent; not in packed bodies. */
  readonly hasMarkers: boolean
  /** Whether bodies are sent as gzip. */
  readonly isPacked?: boolean
}

export interface EventsTarget extends SenderRequest {
  /** The answer that says that the events were taken. 503 refuses them; any other ends the run. */
  readonly status: number
}

interface SendingTask {
  readonly target: EventsTarget
  readonly plan: BodiesPlan
  readonly connectionCount: number
  readonly durationMs: number
}

/** Each connection sends its next body when the one before is answered, until the time is over. */
export interface ClosedTask extends SendingTask {
  readonly kind: 'closed'
}

/** Bodies are due at even intervals, whatever the answers do; one that finds no free connection goes out later. */
export interface OpenTask extends SendingTask {
  readonly kind: 'open'
  readonly bodiesPerSecond: number
  /** Bodies that are due before are sent and not measured. */
  readonly warmUpMs: number
}

/** What the measuring process asks of the sender of events, one at a time. */
export type EventsTask = ClosedTask | OpenTask

export type EventsReport =
  | { readonly kind: 'closed'; readonly sent: SentEvents }
  | { readonly kind: 'open'; readonly sent: PacedEvents }
  | { readonly kind: 'failed'; readonly message: string }

export interface SentEvents {
  /** From the first byte of the first request to the last byte of the last answer. */
  readonly elapsedMs: number
  readonly bodyCount: number
  readonly rowCount: number
  /** Sum of column `n` over all acknowledged rows. */
  readonly total: number
  /** Answers 503. A connection pauses after one; a paced body is not sent again. */
  readonly refusedCount: number
  /** Processor seconds of the sender itself. */
  readonly cpuSeconds: number
}

export interface PacedEvents extends SentEvents {
  /** When body 0 was due, by the monotonic clock. Body `index` was due `index * intervalMs` later. */
  readonly startedAtMs: number
  readonly intervalMs: number
  readonly dueCount: number
  /** The first body that is measured. */
  readonly firstMeasured: number
  readonly refusedBodies: readonly number[]
  /** From the time a body was due to its answer: waiting for a connection counts (corrected for coordinated omission). */
  readonly answerMs: Percentiles
  /** From the time a body was due until it was sent. */
  readonly lateMs: Percentiles
}
