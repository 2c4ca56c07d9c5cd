import { circumstanceCodes, unclearCodes } from '../../store/engine-codes.ts'
import { isOfStoredData, isOfSystem } from '../../store/service-faults.ts'
import {
  isFaultOfEngine,
  isOfView,
  isStopped,
  isTooCostly,
  mayHaveStored,
  StoreError,
} from '../../store/store-error.ts'

/**
 * Why a block was not stored.
 *
 * - `view`: a materialized view behind the table failed; the table itself may have the rows already.
 * - `costly`: the INSERT took more time or memory than it may: fewer rows may pass.
 * - `rows`: the table refuses the block for what is in it: some row of it is poison.
 * - `unclear`: an error that one row can bring about, and the engine by itself as well: that is found out by trying.
 * - `engine`: of which time or people may get the better: memory, disk, a missing table.
 * - `closed`: the store closes.
 *
 * What an expression of the definition brings about for every row is `rows` too: neither time nor anybody can change a
 * definition while its rows wait, and from the quarantine they can be replayed under a better one.
 */
export type InsertFailureKind = 'closed' | 'costly' | 'engine' | 'rows' | 'unclear' | 'view'

export function insertFailureKind(thrown: unknown): InsertFailureKind {
  if (!(thrown instanceof StoreError)) return 'engine'
  const { kind, clickhouseCode: code } = thrown
  if (kind === 'closed') return 'closed'
  if (kind !== 'engine' || code === undefined) return 'engine'
  if (isOfView(thrown)) return 'view'
  if (isTooCostly(thrown)) return 'costly'
  if (thrown.diskFault !== null || circumstanceCodes.has(code)) return 'engine'
  if (isOfSystem(thrown) || isOfStoredData(thrown.message)) return 'engine'
  if (unclearCodes.has(code)) return 'unclear'
  return isFaultOfEngine(thrown) ? 'engine' : 'rows'
}

/** Whether all rows of an INSERT that failed are in its table. */
export function areStored(thrown: unknown): boolean {
  return thrown instanceof StoreError && thrown.areRowsStored
}

/** Whether nobody knows if rows of an INSERT that had begun are stored; `isCut` says that they may be, partition by partition. */
export function isInDoubt(thrown: unknown, isCut: boolean): boolean {
  return thrown instanceof StoreError && !areStored(thrown) && mayHaveStored(thrown, isCut)
}

/** Whether it is worth while to look for rows that are refused. */
export function mayBeOfRows(thrown: unknown): boolean {
  const kind = insertFailureKind(thrown)
  return kind === 'rows' || kind === 'unclear'
}

/** Whether an import failed since the engine ended: it is started again, and takes the same blocks then. */
export function isOfStoppedEngine({ cause }: Error): boolean {
  return isStopped(cause)
}
