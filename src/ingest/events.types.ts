import type { Sequence } from '../wal/sequence.ts'
import type { RecordBody } from './record-body.ts'

/** When the gathered events of a data source become a block; whichever comes first. */
export interface FlushRule {
  readonly eventsFlushRowsMax: number
  readonly eventsFlushBytesMax: number
  /** Silence after the last body. */
  readonly eventsFlushIdleMs: number
  /** Age of the first body. */
  readonly eventsFlushAgeMs: number
}

/** Sealed columns in memory: rows that fit, and rows set aside. */
export interface ParsedRows {
  readonly parts: readonly Uint8Array[]
  readonly rowCount: number
  readonly quarantineParts: readonly Uint8Array[]
  readonly quarantinedRowCount: number
}

/** Bodies that were taken together and are in the log: neighbours of one data source and one schema version. */
export interface LoggedBatch {
  readonly sequences: readonly Sequence[]
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

/** A block that is named in the log. */
export interface SealedBlock {
  readonly blockId: string
  readonly sequences: readonly Sequence[]
  /** Records that the engine refused, counted from 0 over the block's lines. */
  readonly setAside: readonly number[]
  /** Those among them for which it took too much time or memory. */
  readonly costly?: readonly number[]
  /** Those among them that were not tried, as others of the block took too much. */
  readonly untried?: readonly number[]
  /** Records of too many partitions, counted in the same way. */
  readonly beyond: readonly number[]
  /** True when damage took entries of it, so that what the log says of its lines counts no more: they are looked for again. */
  readonly isCutShort?: boolean
  /** Bytes that its bodies take in the log. */
  readonly loggedBytes: number
  /** When it was sealed, epoch milliseconds: the time at which its rows were set aside. */
  readonly sealedAtMs: number
}

export type FailureKind =
  /** A materialized view does not take the rows. */
  | 'view'
  /** The engine, the disk or the log does not take them. */
  | 'engine'

/** Why the events of a data source wait. */
export interface LineFailure {
  readonly kind: FailureKind
  /** For people: what the engine says. */
  readonly message: string
  readonly sinceMs: number
  readonly retryAtMs: number
  readonly attemptCount: number
}

/** A block that takes the engine long, and has not failed. */
export interface LineDelay {
  /** When its INSERT began. */
  readonly sinceMs: number
  /** Why it is inserted in pieces; null while it is inserted as a whole. */
  readonly reason: string | null
}

/** What waits for a data source, as `GET /v0/datasources/<name>` shows it. */
export interface LineStatus {
  readonly waitingRows: number
  /** Bytes in the log. */
  readonly waitingBytes: number
  readonly failure: LineFailure | null
  readonly delay: LineDelay | null
}
