// What an e-mail failed with, in words. The message of an error may repeat what was sent, and what the server says may repeat the
// password; so neither is told.

import { connectionFaultOf } from '../shared/connection-faults.ts'
import { DeliveryFailure } from './notification.types.ts'

/** What errors of nodemailer may have. */
interface MailError {
  readonly code?: unknown
  /** That of the system, where `code` is one of nodemailer. */
  readonly originalCode?: unknown
  /** The number of the server's answer. */
  readonly responseCode?: unknown
  readonly command?: unknown
  /** Of receivers that were refused one by one. */
  readonly rejectedErrors?: unknown
}

/** The failure of an error that an e-mail was not taken with. An answer of 500 or more is final (RFC 5321 §4.2.1). */
export function toEmailFailure(thrown: unknown): DeliveryFailure {
  if (thrown instanceof DeliveryFailure) return thrown
  if (!(thrown instanceof Error)) return new DeliveryFailure('unknown error', { isFinal: false })
  // Whatever the fields of an error hold, it is looked at before it is used.
  const error = thrown as Error & MailError
  const { responseCode, rejectedErrors } = error
  const answer = typeof responseCode === 'number' ? ` (answer ${responseCode})` : ''
  // Where receivers are refused for different reasons, one of them may be taken later.
  const codes = Array.isArray(rejectedErrors) ? [responseCode, ...rejectedErrors.map(codeOfAnswer)] : [responseCode]
  const isFinal = codes.every((code) => typeof code === 'number' && code >= 500)
  return new DeliveryFailure(`${reasonOf(error)}${answer}`, { isFinal })
}

function codeOfAnswer(rejected: MailError): unknown {
  return rejected.responseCode
}

function reasonOf({ code, originalCode, responseCode, command }: MailError): string {
  const isAnswered = typeof responseCode === 'number'
  switch (code) {
    case 'EAUTH':
    case 'ENOAUTH':
      return isAnswered
        ? 'the mail server refused the user or the password'
        : 'the mail server offers no way to log in that can be used'
    case 'EENVELOPE':
      return `the mail server refused ${refusedAt[String(command)] ?? 'the sender or the receivers'}`
    case 'EMESSAGE':
      return 'the mail server refused the message'
    case 'EDNS':
      return 'the host name of the mail server could not be resolved'
    case 'ETIMEDOUT':
      return 'the mail server did not answer in time (--notifications-timeout-ms)'
    case 'ECONNECTION':
    case 'EPROTOCOL':
      if (isAnswered) return 'the mail server refused the connection'
      return code === 'EPROTOCOL'
        ? 'the mail server answered no SMTP'
        : 'the mail server closed the connection too early'
    case 'ETLS':
      return 'a secure connection to the mail server could not be made (--smtp-tls)'
    case 'ESOCKET':
      return `the mail server was not reached: ${faultOf(originalCode)}`
    default:
      return `the mail server was not reached: ${faultOf(code)}`
  }
}

const refusedAt: Readonly<Record<string, string>> = {
  'MAIL FROM': 'the sender',
  'RCPT TO': 'all receivers',
  DATA: 'the message',
}

function faultOf(code: unknown): string {
  if (typeof code !== 'string') return 'the connection failed'
  return connectionFaultOf(code) ?? `the connection failed (${code})`
}
