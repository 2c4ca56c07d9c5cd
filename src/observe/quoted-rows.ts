// Which errors quote rows, and their words without: the log is never to have values of rows, nor are the service data sources.
import { engineErrorName } from '../shared/engine-error-name.ts'
import { ApiError, type ErrorCode } from '../shared/errors/errors.ts'

/** Their words are those of the engine or of JSON's parser, which quote what they read. */
const quotingCodes: ReadonlySet<ErrorCode> = new Set([
  'BODY_CORRUPT',
  'REQUEST_INVALID',
  'ROWS_REFUSED',
  'ALTER_REFUSED',
  'REPLACE_CONDITION_FAILED',
  'REPLACE_CONDITION_INVALID',
  'DELETE_CONDITION_INVALID',
  'DELETE_FAILED',
  'VIEW_FAILED',
  'IMPORT_VIEW_FAILED',
  'INSERT_TOO_COSTLY',
  'PARQUET_TOO_COSTLY',
  'REPLACE_VIEW_FAILED',
  'VIEW_BLOCKS',
  'SQL_INVALID',
  'TEMPLATE_INVALID',
])

/** Of these the end is a caller's too, or a template's author's, who may put values of parameters there. */
const callersCodes: ReadonlySet<ErrorCode> = new Set(['BODY_CORRUPT', 'REQUEST_INVALID', 'TEMPLATE_INVALID'])

/** As the engine begins its messages, and the parser of JSON. */
const quotingWords = /\bDB::\w+: |\bis not valid JSON\b|^Unexpected .* in JSON\b/

/** Whether an error may quote rows, by what it is; what a disk refused quotes paths, and no rows. */
export function mayQuoteRows(error: Error): boolean {
  if (error instanceof ApiError) return quotingCodes.has(error.code)
  // That of the store, which nothing here may import.
  if (error.name === 'StoreError') return !('diskFault' in error) || error.diskFault === null
  return quotingWords.test(error.message)
}

/** A text without what stands in it in quotes; names that the engine tells stand in backticks, and stay. */
export function withoutQuoted(text: string): string {
  return text.replace(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"/gs, "'…'")
}

/** The same from the first quote to the last: a value may have quotes in it, which the engine does not escape. */
export function withoutAllQuoted(text: string): string {
  return text.replace(/['"].*['"]/s, "'…'")
}

/**
 * What is kept of an error where others than its caller read it: no values of rows, and none that a caller has sent. The whole message is
 * for the caller alone, who is answered with it.
 */
export function recordedError(error: ApiError): string {
  const { code, message, withoutRows } = error
  if (withoutRows !== undefined) return withoutRows
  // What ends so are words of the engine, which does not quote all values.
  const name = callersCodes.has(code) ? '' : engineErrorName(message)
  if (name !== '') return `${code} (${name})`
  return mayQuoteRows(error) ? code : withoutAllQuoted(message)
}
