import { apiErrorOf } from '../shared/api-error-of.ts'
import type { ApiError } from '../shared/errors/errors.ts'
import { cutText } from './log-secrets.ts'
import type { LogFields } from './logger.ts'
import { mayQuoteRows, recordedError, withoutQuoted } from './quoted-rows.ts'

const reasonCharsMax = 500

/** What an entry tells of an error that was answered: not what it quotes of rows. */
export function errorFields(error: ApiError | undefined): LogFields {
  if (error === undefined) return {}
  return { code: error.code, reason: reasonOf(error) }
}

/** Why something failed, as it is kept in the service data sources. */
export function toldReason(thrown: unknown): string {
  return cutText(recordedError(apiErrorOf(thrown)), reasonCharsMax)
}

function reasonOf(error: ApiError): string {
  const reason = mayQuoteRows(error) ? withoutQuoted(error.message) : error.message
  return cutText(reason, reasonCharsMax)
}
