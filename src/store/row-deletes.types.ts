import type { CheckedExpression } from '../schema/expressions/checked-text.types.ts'
import type { StoreError } from './store-error.ts'

/**
 * Deletes of rows by a condition. The engine notes each at once, and carries it out in the background, also when its process
 * was ended meanwhile. Names of tables are given unquoted; every verb raises `StoreError`.
 */
export interface RowDeletes {
  /** The rows for which the condition is true, read as a restricted reader does. */
  countMatching(table: string, condition: CheckedExpression, signal: AbortSignal): Promise<number>
  /** Computes the condition for each row, so that it fails before a delete where it fails for one. */
  judge(table: string, condition: CheckedExpression): Promise<void>
  /**
   * Notes a delete of the rows that are in the table by then; of those that come later it takes none. It waits, together with the
   * merges of the table, for `release`, or for the engine's next start. Gives the parts of the table by then.
   */
  begin(deleted: DeletedRows): Promise<ReadonlySet<string>>
  /**
   * How many rows it takes; null when one of these parts is gone meanwhile, as nobody knows the rows then: an engine that was started
   * again does not let the delete wait.
   */
  countJudged(deleted: DeletedRows, parts: ReadonlySet<string>): Promise<number | null>
  /** Lets merges run again, and the deletes that wait. */
  release(table: string): Promise<void>
  /** Null when the engine knows none of this id: it was never noted, or is done and forgotten behind a hundred others. */
  find(deleted: Pick<DeletedRows, 'id' | 'table'>): Promise<RowDeleteState | null>
  /** Forgets a delete: what it has not taken yet stays. */
  takeBack(deleted: Pick<DeletedRows, 'id' | 'table'>): Promise<void>
  /** Those of these tables of which rows are still to be deleted. */
  unfinished(tables: readonly string[]): Promise<readonly string[]>
}

export interface DeletedRows {
  readonly table: string
  readonly condition: CheckedExpression
  /** By which the delete is found again. */
  readonly id: string
}

export interface RowDeleteState {
  readonly isDone: boolean
  /** What the engine failed with last; it tries again by itself. Null when it did not fail. */
  readonly failure: StoreError | null
}
