// Which errors quote rows, and their words without: the log is never to have values of rows, nor are the service data sources.
import { engineErrorName } from '../shared/engine-error-name.ts'
import { untoldReasons } from '../shared/errors/definition.ts'
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
  const parts: string[] = []
  const unclosed = new Set<string>()
  let keptTo = 0
  for (let at = 0; at < text.length; at += 1) {
    const quote = text[at] ?? ''
    if ((quote !== "'" && quote !== '"') || unclosed.has(quote)) continue
    const end = closingQuote(text, at)
    // One that is not closed is no beginning, and none of its kind behind it is: without this each would be searched to the end.
    if (end < 0) unclosed.add(quote)
    if (end < 0) continue
    parts.push(text.slice(keptTo, at), "'…'")
    keptTo = end + 1
    at = end
  }
  return `${parts.join('')}${text.slice(keptTo)}`
}

/** Where the quoted text ends that begins at `start`; a backslash takes the character behind it with it. -1 where it does not end. */
function closingQuote(text: string, start: number): number {
  const quote = text.charCodeAt(start)
  for (let at = start + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === quote) return at
    if (code === backslash) at += 1
  }
  return -1
}

const backslash = 0x5c

/** The same from the first quote to the last: a value may have quotes in it, which the engine does not escape. */
export function withoutAllQuoted(text: string): string {
  return text.replace(/['"].*['"]/s, "'…'")
}

/**
 * What is kept of an error where others than its caller read it: no values of rows, and none that a caller has sent. The whole message is
 * for the caller alone, who is answered with it.
 */
export function recordedError(error: ApiError): string {
  const { code, message, quotes, withoutRows } = error
  if (quotes !== undefined && withoutRows !== undefined) {
    // Who reads it here may read everything, and is told no more.
    const reason = engineErrorName(message) || 'its answer or its job tells why'
    return withoutRows.replace(untoldReasons[quotes], () => reason)
  }
  // What ends so are words of the engine, which does not quote all values.
  const name = callersCodes.has(code) ? '' : engineErrorName(message)
  if (name !== '') return `${code} (${name})`
  return mayQuoteRows(error) ? code : withoutAllQuoted(message)
}
