import type { DataSource } from '../../catalog/data-source.types.ts'

export interface RowDeleteRequest {
  readonly condition: string | undefined
  /** Whether the rows are to be counted that would be deleted now. */
  readonly isCounted: boolean
}

/** A delete that may be carried out. */
export interface PlannedRowDelete {
  readonly dataSource: DataSource
  readonly order: RowDeleteOrder
  /** Materialized views over the data source: what they have made of the rows stays. */
  readonly views: readonly StaleView[]
  /** Null when it was not asked for. */
  readonly rowCount: number | null
}

export interface StaleView {
  readonly name: string
  /** The id of the data source that it fills. */
  readonly target: string
}

/** What is to be done, as a plain JSON value. */
export interface RowDeleteOrder {
  readonly dataSourceId: string
  /** As it was when the delete was asked for. */
  readonly dataSourceName: string
  /** As it was sent. */
  readonly condition: string
  /** What the condition calls now, in epoch seconds. */
  readonly seconds: number
}

/** Where a delete is, as a plain JSON value: noted by the engine, and of so many rows if that is known. */
export interface RowDeleteCheckpoint {
  readonly rowCount: number | null
}

export interface RowDeleteRun {
  /** The same each time that the delete is run. */
  readonly id: string
  readonly order: RowDeleteOrder
  /** What was saved last; null for one that begins. */
  readonly checkpoint: RowDeleteCheckpoint | null
  /** Ends the run with its reason; what the engine has noted it carries out all the same. */
  readonly signal: AbortSignal
  /** On disk when it resolves. */
  save(checkpoint: RowDeleteCheckpoint): Promise<void>
}

export interface RowDeleteReport {
  /** Null where the service ended before they were counted. */
  readonly rowsDeleted: number | null
}
