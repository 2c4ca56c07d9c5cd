import type { ApiError, ErrorCode } from '../shared/errors/errors.ts'
import { cutText } from './log-secrets.ts'
import type { LogFields } from './logger.ts'

const reasonCharsMax = 500

/** What an entry tells of an error that was answered: not what it quotes of rows. */
export function errorFields(error: ApiError | undefined): LogFields {
  if (error === undefined) return {}
  const reason = quotesRows.has(error.code) ? withoutQuoted(error.message) : error.message
  return { code: error.code, reason: cutText(reason, reasonCharsMax) }
}

/** Their words are those of the engine or of JSON's parser, which quote what they read. */
const quotesRows: ReadonlySet<ErrorCode> = new Set([
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

/** A text without what stands in it in quotes; names that the engine tells stand in backticks, and stay. */
function withoutQuoted(text: string): string {
  return text.replace(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"/gs, "'…'")
}
