import type { EngineOptions } from './engine-config.ts'
import type { SelectLimits } from './select-statement.ts'

export interface EmbeddedStoreOptions extends EngineOptions, SelectLimits {
  /** INSERTs that may run at once. */
  readonly insertsInFlightMax: number
  /** Readers' queries that may run at once. */
  readonly selectsInFlightMax: number
  /** Statements of our own that may run at once. */
  readonly statementsInFlightMax: number
  /** The service's data directory; the engine's own is `clickhouse` in it. Made when it is missing. */
  readonly dataDirectory: string
  /** Statements of each kind (inserts, queries, our own) that may wait for their turn. */
  readonly waitingMax: number
  /** Partitions that one block of a copy may be of. */
  readonly copyPartitionsMax: number
  /** Results larger than a few kilobytes that may lie on disk unread, and hold a file descriptor each. */
  readonly openResultsMax: number
  /** Bytes of results in memory that their readers have not taken yet, all together, but for those of a few kilobytes. */
  readonly heldResultBytesMax: number
  /** Time that running statements get when the store closes; they are stopped then. */
  readonly closeTimeMaxMs: number
  /** How often within ten minutes an engine that ended is started again; 10 when absent. */
  readonly engineRestartsMax?: number
}
