import type { EngineOptions } from './engine-config.ts'
import type { SelectLimits } from './select-statement.ts'

export interface EmbeddedStoreOptions extends EngineOptions, SelectLimits {
  /** INSERTs that may run at once, but for a few that are slow. */
  readonly insertsInFlightMax: number
  /** Longest run of one INSERT of an append. */
  readonly insertTimeMaxMs: number
  /** Memory of one INSERT of an append. */
  readonly insertMemoryBytesMax: number
  /** An INSERT that takes longer gives its place to others, and goes on in one of those for the slow; 5 s when absent. */
  readonly insertSlowAfterMs?: number
  /** Readers' queries that may run at once. */
  readonly selectsInFlightMax: number
  /** Statements of our own that may run at once. */
  readonly statementsInFlightMax: number
  /** Longest run of a definition that computes something, or of the row that it is tried with; 10 s when absent. */
  readonly definitionTimeMaxMs?: number
  /** The service's data directory; the engine's own is `clickhouse` in it. Made when it is missing. */
  readonly dataDirectory: string
  /** Statements of each kind (inserts, queries, our own) that may wait for their turn. */
  readonly waitingMax: number
  /** Partitions that one block of a copy may be of. */
  readonly copyPartitionsMax: number
  /** Results larger than a few kilobytes that may lie on disk unread, and hold a file descriptor each. */
  readonly openResultsMax: number
  /** Bytes on disk of results that are written, or wait for their readers, all together; a single one may have more. */
  readonly resultFilesBytesMax: number
  /** Bytes of results in memory that their readers have not taken yet, all together, but for those of a few kilobytes. */
  readonly heldResultBytesMax: number
  /** Time that running statements get when the store closes; they are stopped then. */
  readonly closeTimeMaxMs: number
  /** How often within ten minutes an engine that ended is started again; 10 when absent. */
  readonly engineRestartsMax?: number
}
