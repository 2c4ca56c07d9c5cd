/**
 * What became of a statement that gave no answer.
 *
 * - `engine`: the engine refused it or failed; `clickhouseCode` says why.
 * - `busy`: too many statements wait already; nothing was done, repeat it later.
 * - `aborted`: the caller's signal stopped it.
 * - `closed`: the store closes or is closed; nothing was done.
 */
export type StoreErrorKind = 'engine' | 'busy' | 'aborted' | 'closed'

interface StoreErrorFields {
  readonly kind: StoreErrorKind
  readonly message: string
  readonly clickhouseCode?: number | undefined
  readonly areRowsStored?: boolean
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

  constructor({ kind, message, clickhouseCode, areRowsStored = false, cause }: StoreErrorFields) {
    super(message, cause === undefined ? {} : { cause })
    this.kind = kind
    this.clickhouseCode = clickhouseCode
    this.areRowsStored = areRowsStored
  }
}

/** The numbers of ClickHouse errors that the rooms above tell apart. */
export const clickhouseCodes = {
  badArguments: 36,
  unknownIdentifier: 47,
  notImplemented: 48,
  unknownTable: 60,
  syntaxError: 62,
  timeoutExceeded: 159,
  memoryLimitExceeded: 241,
  queryWasCancelled: 394,
  /** FUNCTION_THROW_IF_VALUE_IS_NON_ZERO: a row is there that should not be. */
  thrownIf: 395,
  /** TOO_MANY_ROWS_OR_BYTES: the result is larger than its limit. */
  resultTooLarge: 396,
} as const

// What no wording of a statement can bring about: the engine's own faults, and files, disks and memory.
const faultCodes: ReadonlySet<number> = new Set([
  49, // LOGICAL_ERROR
  74, // CANNOT_READ_FROM_FILE_DESCRIPTOR
  75, // CANNOT_WRITE_TO_FILE_DESCRIPTOR
  76, // CANNOT_OPEN_FILE
  clickhouseCodes.memoryLimitExceeded,
  243, // NOT_ENOUGH_SPACE
  246, // CORRUPTED_DATA
  1001, // STD_EXCEPTION
  1002, // UNKNOWN_EXCEPTION
])

/** Whether a definition was refused for the engine's own reasons, and would pass another time. */
export function isFaultOfEngine({ clickhouseCode }: StoreError): boolean {
  return clickhouseCode === undefined || faultCodes.has(clickhouseCode)
}

/** Whether an insert failed in a view behind its table: the engine names the view, also one whose target is gone. */
export function isOfView({ kind, message }: StoreError): boolean {
  return kind === 'engine' && /while pushing to view|\bof view\b/.test(message)
}

/** Makes a `StoreError` of what the embedded engine threw. */
export function toStoreError(thrown: unknown): StoreError {
  if (thrown instanceof StoreError) return thrown
  const text = thrown instanceof Error ? thrown.message : String(thrown)
  return new StoreError({ kind: 'engine', message: cleanMessage(text), clickhouseCode: codeOf(text), cause: thrown })
}

/** The error of a view that the rows outlived. */
export function storedError({ kind, message, clickhouseCode, cause }: StoreError): StoreError {
  return new StoreError({ kind, message, clickhouseCode, cause, areRowsStored: true })
}

/** The error of a statement that its caller's signal stopped. */
export function timeoutError(timeMaxMs: number): StoreError {
  const message = `The statement did not end within ${timeMaxMs} ms`
  return new StoreError({ kind: 'engine', message, clickhouseCode: clickhouseCodes.timeoutExceeded })
}

export function abortedError(): StoreError {
  return new StoreError({ kind: 'aborted', message: 'The statement was stopped' })
}

function codeOf(text: string): number | undefined {
  // Nested errors begin with the code of the outermost one, which is the one that counts.
  const digits = /\bCode: (\d+)\. DB::/.exec(text)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

/**
 * The engine's message as callers may read it: without `Code: 60. DB::Exception:`, versions, our files and databases, and
 * with the error's name, `(UNKNOWN_TABLE)`, once at its end.
 */
export function cleanMessage(text: string): string {
  return (
    text
      .replace(/^(?:Query failed: )?(?:Code: \d+\. DB::\w+: )+/, '')
      .replaceAll(/ ?\(version [^()]*\)/g, '')
      .replaceAll(/:? ?\(in file\/uri [^()]*\)/g, '')
      .replaceAll(/\s*INTO OUTFILE '[^']*'/g, '')
      .replaceAll(/(?:file:\/\/)?\/[^\s'"`()]*\/(?:clickhouse|parts|results)\/[^\s'"`():,]*/g, 'a file of the service')
      .replaceAll(/`?\bws_0001`?\./g, '')
      // The query by which the engine tries a DEFAULT is none that the caller knows.
      .replaceAll(/ in scope SELECT .* FROM dummy\.dummy\b/gs, '')
      .replaceAll(/\b(\w+)_tmp_alter\d+/g, '$1')
      .replace(/(?:\.? ?(\([A-Z][A-Z0-9_]+\))\.?)(?:\s*\1\.?)*\s*$/, '. $1')
      .replace(/\.\. \(/, '. (')
      .trim()
  )
}
