import { diskFaultIn, diskFaultOf } from '../shared/disk-fault.ts'
import { circumstanceCodes, clickhouseCodes, serviceFaultCodes } from './engine-codes.ts'
import { cleanMessage } from './engine-message.ts'
import { type Failed, isOfParquetPages, isOfStoredData, isOfSystem } from './service-faults.ts'

/**
 * What became of a statement that gave no answer.
 *
 * - `engine`: the engine refused it or failed; `clickhouseCode` says why.
 * - `busy`: too many statements wait already; nothing was done, repeat it later.
 * - `unread`: there is no room for its result beside those that wait for their readers; the message is a clause.
 * - `aborted`: the caller's signal stopped it.
 * - `closed`: the store closes or is closed; nothing was done.
 * - `stopped`: the engine ended before it answered, and is started again; nobody knows what it did.
 * - `silent`: the engine's process gives no sign of life; the message says how long.
 * - `late`: what a definition computes takes too long; it is undone as soon as it ends.
 * - `refused`: the engine has ended by such a statement before, or could not stop it; nothing was done.
 */
export type StoreErrorKind =
  | 'engine'
  | 'busy'
  | 'unread'
  | 'aborted'
  | 'closed'
  | 'stopped'
  | 'silent'
  | 'late'
  | 'refused'

interface StoreErrorFields {
  readonly kind: StoreErrorKind
  readonly message: string
  readonly clickhouseCode?: number | undefined
  readonly areRowsStored?: boolean
  readonly isOverFill?: boolean
  readonly diskFault?: string | null
  readonly cause?: unknown
}

/** The one error that the store raises for a statement. Its message may be shown to callers: no paths, no database names. */
export class StoreError extends Error {
  override readonly name = 'StoreError'
  readonly kind: StoreErrorKind
  /** Number of the ClickHouse error, e.g. 60 for UNKNOWN_TABLE; undefined unless `kind` is `engine`. */
  readonly clickhouseCode: number | undefined
  /** Whether all rows of an append are in its table although a view behind it failed; see `AppendRequest.outlivesViews`. */
  readonly areRowsStored: boolean
  /** Whether a fill has failed by what it may make of its rows, see `FillRequest`: then nothing of it is stored. */
  readonly isOverFill: boolean
  /** Why the disk refused, where it did; read by `diskFaultOf`. */
  readonly diskFault: string | null

  constructor(fields: StoreErrorFields) {
    const { kind, message, clickhouseCode, areRowsStored = false, isOverFill = false, diskFault = null, cause } = fields
    super(message, cause === undefined ? {} : { cause })
    this.kind = kind
    this.clickhouseCode = clickhouseCode
    this.areRowsStored = areRowsStored
    this.isOverFill = isOverFill
    this.diskFault = diskFault
  }
}

/** Whether it is the service's own files, or the engine itself, that failed: whatever the statement was. */
export function isFaultOfService({ clickhouseCode, message = '' }: Failed): boolean {
  const isOfCode = clickhouseCode === undefined || serviceFaultCodes.has(clickhouseCode)
  return isOfCode || isOfSystem({ clickhouseCode, message }) || isOfStoredData(message)
}

/** Whether a definition was refused for the engine's own reasons, and would pass another time. */
export function isFaultOfEngine(error: StoreError): boolean {
  return isFaultOfService(error) || error.clickhouseCode === clickhouseCodes.memoryLimitExceeded
}

/** Whether it is the bytes of a caller's Parquet file that the engine could not make sense of: no limit, disk or view. */
export function isOfParquetFile(error: StoreError): boolean {
  if (error.kind !== 'engine' || error.diskFault !== null || isTooCostly(error) || isOfMemory(error)) return false
  return !isOfView(error) && isOfParquetPages(error)
}

/** Whether a statement took more time or memory than it may; memory that the engine lacks as a whole is no fault of its. */
export function isTooCostly({ kind, clickhouseCode, message }: StoreError): boolean {
  if (kind !== 'engine') return false
  if (clickhouseCode === clickhouseCodes.memoryLimitExceeded) return message.startsWith('Query memory limit exceeded')
  return clickhouseCode === clickhouseCodes.timeoutExceeded || clickhouseCode === clickhouseCodes.tooSlow
}

/** Whether it lacked memory, its own or the engine's. */
export function isOfMemory({ clickhouseCode }: StoreError): boolean {
  return clickhouseCode === clickhouseCodes.memoryLimitExceeded
}

/** Whether a statement needed more memory than one may take: where a caller's expressions are in it, that is their doing. */
export function isOfItsMemory(error: unknown): error is StoreError {
  return error instanceof StoreError && isTooCostly(error) && isOfMemory(error)
}

/** Whether an insert failed in a view behind its table: the engine names the view, also one whose target is gone. */
export function isOfView({ kind, message }: StoreError): boolean {
  return kind === 'engine' && /while pushing to view|\bof view\b/.test(message)
}

/**
 * The error of a fill whose query made more groups than it may: that is refused to each try, so none has stored it. Memory that it lacked
 * for its groups another try may have had, and time to read its rows too. All other errors stay what they are.
 */
export function toFillError(error: unknown, isFirstTry: boolean): unknown {
  if (!(error instanceof StoreError) || error.kind !== 'engine' || isOfView(error)) return error
  const { kind, message, clickhouseCode, diskFault, cause } = error
  const isLate = clickhouseCode === clickhouseCodes.timeoutExceeded && readingStep.test(message)
  const lacks = isLate || (isOfItsMemory(error) && groupingStep.test(message))
  const isOverFill = clickhouseCode === clickhouseCodes.tooManyRows || (isFirstTry && lacks)
  return isOverFill ? new StoreError({ kind, message, clickhouseCode, diskFault, cause, isOverFill }) : error
}

/** Steps behind which a query has all of its groups; it inserts nothing before. */
const groupingStep = /While executing (?:Converting|Merging)?Aggregat/
/** The same of the step before that. */
const readingStep = /While executing MergeTreeSelect/

/**
 * Whether an INSERT failed by a view alone: by its query, by the table that it fills, or by what one block may take there. Such a view may
 * wait by itself; what the disk, the memory of the whole engine or its end bring about is no fault of it.
 */
export function isOfViewAlone(error: StoreError): boolean {
  if (!isOfView(error) || error.diskFault !== null || isFaultOfService(error)) return false
  const { clickhouseCode: code = 0 } = error
  return isTooCostly(error) || !circumstanceCodes.has(code) || viewCodes.has(code)
}

/** Circumstances that are those of one view: its table or one that it reads is gone, lacks columns, or has too many parts. */
const viewCodes: ReadonlySet<number> = new Set([
  clickhouseCodes.notFoundColumnInBlock,
  16, // NO_SUCH_COLUMN_IN_TABLE
  clickhouseCodes.unknownIdentifier,
  clickhouseCodes.unknownTable,
  clickhouseCodes.tooManyParts,
])

/** Whether an INSERT was refused because its rows, or those that a view makes of them, are of too many partitions. */
export function isOfPartitions({ clickhouseCode, message }: StoreError): boolean {
  return clickhouseCode === clickhouseCodes.tooManyParts && message.includes('partitions for single INSERT block')
}

/**
 * Whether rows of an INSERT that failed may be stored all the same. They are not where the engine has refused them before it stored any: by a
 * condition over all of them, or for what is in them. The latter only without `isCut`: else the INSERT may store one partition after the other.
 */
export function mayHaveStored(failure: unknown, isCut: boolean): boolean {
  if (!(failure instanceof StoreError) || failure.kind !== 'engine') return true
  const { clickhouseCode: code } = failure
  if (code === undefined || code === clickhouseCodes.thrownIf) return code === undefined
  return isCut || circumstanceCodes.has(code) || isTooCostly(failure) || isFaultOfService(failure)
}

/** Makes a `StoreError` of what the embedded engine threw. */
export function toStoreError(thrown: unknown): StoreError {
  if (thrown instanceof StoreError) return thrown
  const text = thrown instanceof Error ? thrown.message : String(thrown)
  const clickhouseCode = codeOf(text)
  // A message that the caller could have written is no word of the disk's.
  const diskFault =
    (isFaultOfService({ clickhouseCode, message: text }) ? diskFaultIn(text) : null) ?? diskFaultOf(thrown)
  return new StoreError({ kind: 'engine', message: cleanMessage(text), clickhouseCode, diskFault, cause: thrown })
}

/** The error of a view that the rows outlived. */
export function storedError({ kind, message, clickhouseCode, diskFault, cause }: StoreError): StoreError {
  return new StoreError({ kind, message, clickhouseCode, diskFault, cause, areRowsStored: true })
}

/** The error of a statement that ran for too long. */
export function timeoutError(timeMaxMs: number): StoreError {
  const message = `The statement did not end within ${timeMaxMs} ms`
  return new StoreError({ kind: 'engine', message, clickhouseCode: clickhouseCodes.timeoutExceeded })
}

/** The error of an INSERT that the engine could not stop at its limit of time. */
export function lateInsertError(timeMaxMs: number): StoreError {
  const message = `The INSERT did not end within ${timeMaxMs} ms, and could not be stopped yet; its rows may still be stored`
  return new StoreError({ kind: 'engine', message, clickhouseCode: clickhouseCodes.timeoutExceeded })
}

/** The error of a definition that the engine did not take in time. */
export function lateDefinitionError(timeMaxMs: number): StoreError {
  return new StoreError({ kind: 'late', message: `it was not computed within ${timeMaxMs / 1000} s` })
}

/** The error of a read of a file that the engine could not stop at its limit of time. */
export function lateReadError(timeMaxMs: number): StoreError {
  const message = `The file was not read within ${timeMaxMs} ms, and reading it could not be stopped yet`
  return new StoreError({ kind: 'engine', message, clickhouseCode: clickhouseCodes.timeoutExceeded })
}

/** The error of a statement that its caller's signal stopped. */
export function abortedError(): StoreError {
  return new StoreError({ kind: 'aborted', message: 'The statement was stopped' })
}

/** The error of a statement whose engine ended. */
export function stoppedError(): StoreError {
  return new StoreError({ kind: 'stopped', message: 'The engine stopped before the statement had ended' })
}

/** The error of a statement whose engine gives no sign of life. */
export function silentError(reason: string): StoreError {
  return new StoreError({ kind: 'silent', message: reason })
}

export function isStopped(thrown: unknown): boolean {
  return thrown instanceof StoreError && thrown.kind === 'stopped'
}

function codeOf(text: string): number | undefined {
  // Nested errors begin with the code of the outermost one, which is the one that counts.
  const digits = /\bCode: (\d+)\. DB::/.exec(text)?.[1]
  return digits === undefined ? undefined : Number(digits)
}
