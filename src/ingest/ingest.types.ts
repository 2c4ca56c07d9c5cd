import type { Readable } from 'node:stream'
import type { DataSource } from '../catalog/data-source.types.ts'

export type BodyFormat = 'csv' | 'ndjson'

/** One way in: every row that a client sends passes here, and is counted once. */
export interface Ingest {
  /**
   * Streams a body of any length into a data source; resolves when the engine has the last row.
   *
   * A body that fails in the middle resolves too, with `failure` set: whole parts stay, and the counts say how many rows.
   */
  importBody(request: ImportRequest): Promise<ImportOutcome>
  /** Stores a body of events as a whole or not at all, gathering small bodies into one block. */
  appendEvents(request: EventsRequest): Promise<EventsOutcome>
  /** Refuses new work, waits until what is under way is stored. */
  close(): Promise<void>
}

export interface ImportRequest {
  readonly dataSource: DataSource
  /** Bytes as they came; `contentEncoding` says how they are packed. */
  readonly body: Readable
  readonly format: BodyFormat
  readonly contentEncoding: string | undefined
  readonly importId: string
  readonly csv: { readonly delimiter: string | undefined; readonly escapeCharacter: string | undefined }
}

export interface ImportOutcome extends RowCounts {
  /** The error that ended the body early (cut connection, record too long, decompressed limit, engine error), or null. */
  readonly failure: Error | null
}

/**
 * Rows in = `storedRows` + `quarantinedRows` + `invalidLines` - `shortLines`: a CSV line with too few fields is kept in
 * quarantine and counts among the invalid lines too, as clients expect.
 */
export interface RowCounts {
  readonly storedRows: number
  readonly quarantinedRows: number
  readonly invalidLines: number
  readonly shortLines: number
}

export interface EventsRequest {
  readonly dataSource: DataSource
  /** The whole body, decompressed. */
  readonly body: Uint8Array
  /** `document` is one JSON message with any white space; `lines` is NDJSON. */
  readonly framing: 'lines' | 'document'
}

export interface EventsOutcome {
  readonly successfulRows: number
  /** Rows that did not fit, and lines that were no JSON object: both are kept in quarantine. */
  readonly quarantinedRows: number
}
