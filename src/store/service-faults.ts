// Whose fault a failure of the engine is, as far as its message tells: the system's, that of stored data, or a file's.

import { clickhouseCodes, libraryCodes, serviceFaultCodes } from './engine-codes.ts'

/** What a failure tells of itself. */
export interface Failed {
  readonly clickhouseCode: number | undefined
  readonly message?: string
}

/** Whether the engine tells an error of the system, as it does at the very end, behind whatever else the message quotes. */
export function isOfSystem({ clickhouseCode, message = '' }: Failed): boolean {
  if (clickhouseCode === clickhouseCodes.thrownIf) return false
  return /, errno: \d+, strerror: [\w ,/-]+\.?(?:\s*\([A-Z][A-Z0-9_]+\)\.?| \(version [^()]*\))*\s*$/.test(message)
}

/**
 * Whether what the engine could not read is a part of a table. The same codes (40, 33, 32, 117) tell of states and files that a
 * caller has written; then a function, or a format, stands in the message, and no part.
 */
export function isOfStoredData(message: string): boolean {
  if (
    /^(?:Query failed: )?(?:Code: \d+\. DB::\w+: )*Checksum doesn't match: corrupted data\. Reference: /.test(message)
  )
    return true
  return / \(while reading from part .* in table /s.test(message) && !/while executing 'FUNCTION /.test(message)
}

/**
 * Whether the engine failed while it decoded a column of a Parquet file, or its metadata: it names the stage of reading and the
 * column then, whichever library it was that found the bytes wrong. Errors of the system, and a library's of memory, are not
 * the file's.
 */
export function isOfParquetPages({ clickhouseCode, message = '' }: Failed): boolean {
  if (
    clickhouseCode === undefined ||
    clickhouseCode === clickhouseCodes.thrownIf ||
    clickhouseCode === clickhouseCodes.queryWasCancelled
  )
    return false
  if (serviceFaultCodes.has(clickhouseCode) && !libraryCodes.has(clickhouseCode)) return false
  if (isOfSystem({ clickhouseCode, message }) || isOfStoredData(message)) return false
  if (libraryCodes.has(clickhouseCode) && /^std::|bad_alloc|filesystem_error|system_error/.test(message)) return false
  return / read stage: (?:ColumnData|ColumnIndexAndOffsetIndex|OffsetIndex|BloomFilter\w*|MainData|PrewhereData)\b/.test(
    message,
  )
    ? /: While executing Parquet/.test(message)
    : /^(?:apache::thrift|parquet)::.*: While executing Parquet/s.test(message)
}
