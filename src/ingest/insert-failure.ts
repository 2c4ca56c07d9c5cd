import { isFaultOfEngine, isOfView, StoreError } from '../store/store-error.ts'

/**
 * Why a block was not stored.
 *
 * - `view`: a materialized view behind the table failed; the table itself may have the rows already.
 * - `rows`: the table refuses the block for what is in it: some row of it is poison.
 * - `engine`: anything else, of which time or people may get the better: memory, disk, a missing table.
 * - `closed`: the store closes.
 */
export type InsertFailureKind = 'closed' | 'engine' | 'rows' | 'view'

// What the definition of the table brings about, whatever the rows are.
const structureCodes: ReadonlySet<number> = new Set([
  10, // NOT_FOUND_COLUMN_IN_BLOCK
  16, // NO_SUCH_COLUMN_IN_TABLE
  36, // BAD_ARGUMENTS
  44, // ILLEGAL_COLUMN
  47, // UNKNOWN_IDENTIFIER
  48, // NOT_IMPLEMENTED
  60, // UNKNOWN_TABLE
  62, // SYNTAX_ERROR
  81, // UNKNOWN_DATABASE
  115, // UNKNOWN_SETTING
  159, // TIMEOUT_EXCEEDED
  218, // TABLE_IS_DROPPED
  236, // ABORTED
  242, // TABLE_IS_READ_ONLY
  252, // TOO_MANY_PARTS
  394, // QUERY_WAS_CANCELLED
  473, // DEADLOCK_AVOIDED
  497, // ACCESS_DENIED
])

export function insertFailureKind(thrown: unknown): InsertFailureKind {
  if (!(thrown instanceof StoreError)) return 'engine'
  if (thrown.kind === 'closed') return 'closed'
  if (thrown.kind !== 'engine') return 'engine'
  if (isOfView(thrown)) return 'view'
  const isStructural = thrown.clickhouseCode !== undefined && structureCodes.has(thrown.clickhouseCode)
  return isStructural || isFaultOfEngine(thrown) ? 'engine' : 'rows'
}
