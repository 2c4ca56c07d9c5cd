import type { ApiError } from '../shared/errors/errors.ts'
import { cutText } from './log-secrets.ts'
import type { LogFields } from './logger.ts'
import { mayQuoteRows, withoutQuoted } from './quoted-rows.ts'

const reasonCharsMax = 500

/** What an entry tells of an error that was answered: not what it quotes of rows. */
export function errorFields(error: ApiError | undefined): LogFields {
  if (error === undefined) return {}
  const reason = mayQuoteRows(error) ? withoutQuoted(error.message) : error.message
  return { code: error.code, reason: cutText(reason, reasonCharsMax) }
}
