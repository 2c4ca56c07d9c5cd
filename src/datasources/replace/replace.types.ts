import type { DataSource } from '../../catalog/data-source.types.ts'
import type { ImportOutcome } from '../../ingest/ingest.types.ts'
import type { ImportTables } from '../../ingest/ingest-plan.ts'

/** Gives data sources another content, of which readers see all or nothing. */
export interface Replaces {
  /**
   * Replaces the content of a data source, or the rows that match a condition, and computes anew what materialized views
   * made of it, at any depth. Readers see the old content until all of the new one is there.
   *
   * A body that fails in its middle resolves with `failure` set and counts of nothing, as the old content stays.
   *
   * @throws DATASOURCE_NOT_FOUND (404), DATASOURCE_BUSY (409), REPLACE_CONDITION_INVALID, REPLACE_PARTITIONS_DIFFER (400),
   *   REPLACE_VIEW_FAILED (422), CHANGE_BLOCKED, CHANGES_TOO_MANY (503), ENGINE_FAILED (500): the old content stays.
   */
  replace(request: ReplaceRequest): Promise<ImportOutcome>
  /** Ends what an engine that ended by itself left half exchanged. Precondition: nobody reads or inserts. Raises `StoreError`. */
  mendAfterRestart(): Promise<void>
  /** Waits for what is under way, but not for ever. */
  close(timeMaxMs?: number): Promise<void>
}

export interface ReplaceRequest {
  readonly dataSource: DataSource
  /** An expression over the columns; null replaces everything. */
  readonly condition: string | null
  readonly importId: string
  /** Imports the new rows into these tables, once, when they stand. */
  readonly fill: (tables: ImportTables) => Promise<ImportOutcome>
  /** Told when the events that were acknowledged are stored, and those that come are kept for the new content. */
  readonly onHeld?: () => void
  /** Told when the last import that had begun has ended, and others are refused. */
  readonly onBegun?: () => void
  /** Aborted before the exchange, it ends the replace with its reason: the old content stays. */
  readonly signal?: AbortSignal | undefined
}
