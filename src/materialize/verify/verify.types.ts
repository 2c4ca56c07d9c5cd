import type { MaterializedNode } from '../../catalog/pipe.types.ts'
import type { LeftOutColumn } from './comparable-columns.ts'

/**
 * Compares what views have made with what their queries give of the rows that their sources have.
 *
 * At one moment, while nothing is inserted, the parts of the source and of the target are pinned. The query over the first is filled into
 * a table beside the second, in chunks, and both are compared by the partitions of the target.
 */
export interface Verifies {
  /**
   * Compares now; the signal ends it between two steps.
   *
   * @throws DATASOURCE_NOT_FOUND (404), VERIFY_TOO_LARGE (400), VERIFY_TIMEOUT (408), DATASOURCE_BUSY (409), VERIFY_FAILED (422), and
   *   states of the engine (503).
   */
  verify(node: MaterializedNode, signal: AbortSignal): Promise<VerifyReport>
}

export interface VerifyReport {
  /** Why all of it cannot be compared, as clauses; empty where it can. Nothing was compared otherwise. */
  readonly reasons: readonly string[]
  /** Those that differ first. */
  readonly partitions: readonly VerifiedPartition[]
  readonly leftOut: readonly LeftOutColumn[]
}

/** A partition of the target. */
export interface VerifiedPartition {
  readonly id: string
  /** Its value, as the engine writes it. */
  readonly text: string
  /** Why a difference says nothing, as a clause; null where it does. */
  readonly reason: string | null
  readonly isEqual: boolean
  readonly rowsExpected: number
  readonly rowsFound: number
  readonly rowsMissing: number
  readonly rowsExtra: number
  readonly rowsDifferent: number
  /** Keys of some rows that are not the same. */
  readonly samples: readonly string[]
}
