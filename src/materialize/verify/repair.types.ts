import type { MaterializedNode } from '../../catalog/pipe.types.ts'
import type { Job } from '../../jobs/jobs.types.ts'
import type { PopulateOrigin, PopulatePlan } from '../populate/populate.types.ts'

/**
 * Puts what a query gives in the place of the partitions of its view that differ from it, as jobs, while ingestion goes on.
 *
 * The source is pinned and filled as for a populate, and compared as for a verification. Then, while nothing is inserted, a table is made
 * of the partitions that are equal, of what was filled of the others, and of what has come to these meanwhile; it takes the place
 * of the target at once.
 */
export interface Repairs {
  /**
   * Judges what is asked for; nothing is done.
   *
   * @throws DATASOURCE_NOT_FOUND (404), REPAIR_REFUSED, VIEW_BEHIND (409), and states of the engine (503).
   */
  plan(node: MaterializedNode, request: RepairRequest): Promise<PopulatePlan>
  /** The job that carries it out. @throws what `Jobs.add` does. */
  add(plan: PopulatePlan, origin: Omit<PopulateOrigin, 'isPinned'>): Promise<Job>
}

export interface RepairRequest {
  /** Whether what cannot be compared is made anew too, and rows that the source has no more are given up. */
  readonly isForced: boolean
  /** Whether it only tells what differs. */
  readonly isDry: boolean
}

/** What such a job tells of itself when it knows, beside the fields of a populate. */
export interface RepairDetails {
  readonly partitionsDiffering: number
  readonly partitionsRepaired: number
  /** They differ, and say nothing: rows of the source are gone. */
  readonly partitionsSkipped: number
  readonly differing: readonly DifferingPartition[]
}

export interface DifferingPartition {
  readonly partition: string
  readonly reason: string | null
  readonly rowsExpected: number
  readonly rowsFound: number
  readonly rowsMissing: number
  readonly rowsExtra: number
  readonly rowsDifferent: number
}
