import type { AppendGate } from '../../store/append-gate.ts'
import type { Sequence } from '../../wal/sequence.ts'
import type { NamedBlock, ParsedRows } from '../insert/block.types.ts'
import type { RecordBody } from '../parse/record-body.ts'

/** When the gathered events of a data source become a block; whichever comes first. */
export interface FlushRule {
  readonly eventsFlushRowsMax: number
  readonly eventsFlushBytesMax: number
  /** Silence after the last body. */
  readonly eventsFlushIdleMs: number
  /** Age of the first body. */
  readonly eventsFlushAgeMs: number
}

/** Bodies that were taken together and are in the log: next to each other, of one data source and one schema version. */
export interface LoggedBatch {
  readonly sequences: readonly Sequence[]
  /** When they were accepted, epoch milliseconds. */
  readonly acceptedAtMs: number
  /** Bytes that the bodies take in the log, what surrounds them included. */
  readonly loggedBytes: number
  /** Bytes that the budget holds for the batch. */
  readonly heldBytes: number
  readonly rowCount: number
  readonly quarantinedRowCount: number
  /** Small batches are parsed again when they become a block together: one part costs the engine less than many. */
  readonly content:
    | { readonly kind: 'bodies'; readonly bodies: readonly RecordBody[] }
    | { readonly kind: 'parsed'; readonly rows: ParsedRows }
}

/** Entries of the log, both ends included. */
export interface SequenceRange {
  readonly first: Sequence
  readonly last: Sequence
}

/** What the log has of a data source's events when it is opened. */
export interface RecoveredSource {
  /** Blocks that are named and not stored, oldest first. */
  readonly named: readonly NamedBlock[]
  /** Where the events lie that no block has. */
  readonly behind: SequenceRange | null
  readonly waitingRows: number
  readonly waitingBytes: number
  /** When the first of these events was accepted, and the last; null when there are none. */
  readonly acceptedMs: { readonly first: number; readonly last: number } | null
}

export type FailureKind =
  /** A materialized view does not take the rows. */
  | 'view'
  /** The engine, the disk or the log does not take them. */
  | 'engine'

/** Why the events of a data source wait. */
export interface EventsFailure {
  readonly kind: FailureKind
  /** For people: what the engine says. */
  readonly message: string
  readonly sinceMs: number
  readonly retryAtMs: number
  readonly attemptCount: number
}

/** A block that takes the engine long, and has not failed. */
export interface EventsDelay {
  /** When its INSERT began. */
  readonly sinceMs: number
  /** Why it is inserted in pieces; null while it is inserted as a whole. */
  readonly reason: string | null
}

/** How far the events of a data source have come. Times are epoch milliseconds, null for none since the start. */
export interface EventsFreshness {
  /** When the newest events were acknowledged. */
  readonly acknowledgedAtMs: number | null
  /** When the newest of those were acknowledged that queries see. */
  readonly queryableAtMs: number | null
  /** When the oldest of those were acknowledged that queries do not see yet; null when they see all. */
  readonly waitingSinceMs: number | null
}

/** What waits for a data source, as `GET /v0/datasources/<name>` shows it. */
export interface EventsStatus {
  readonly waitingRows: number
  /** Bytes in the log. */
  readonly waitingBytes: number
  readonly failure: EventsFailure | null
  readonly delay: EventsDelay | null
}

/** What events have to do with the views behind their data sources. */
export interface EventsViews {
  /** Blocks pass it while they are stored: the views change between them. */
  readonly gate: Pick<AppendGate, 'enter' | 'isClosed'>
  /**
   * A view did not take a block, and not for the first time. True when it is out of the way, so that the block may be tried again at once;
   * the blocks that it lacks are kept then. Never rejects.
   */
  readonly setAside: (dataSourceId: string, failure: unknown) => Promise<boolean>
  /** A block is about to be stored; null where that changes nothing. Rejects where it must not be stored yet. */
  readonly beforeBlock?: (dataSourceId: string) => Promise<void> | null
}
