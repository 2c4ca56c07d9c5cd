import type { Writable } from 'node:stream'
import { destination, type Logger as PinoLogger, pino, stdSerializers } from 'pino'

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

/**
 * What a room writes its log to: values as fields, then the message as a sentence. Never rows, never tokens.
 *
 * An error goes into the field `err`, which keeps its stack and its causes.
 */
export interface Logger {
  /** It worked. */
  info(fields: LogFields, message: string): void
  /** Odd, nothing lost. */
  warn(fields: LogFields, message: string): void
  /** Data lost, or a person must act. */
  error(fields: LogFields, message: string): void
  debug(fields: LogFields, message: string): void
}

export type LogFields = Readonly<Record<string, unknown>>

/** The same logger as Fastify's `loggerInstance` wants it; it is a `Logger` too. */
export type ServerLogger = PinoLogger

export interface LoggerOptions {
  readonly level: LogLevel
  /** Where the lines of JSON go; stderr when undefined, so that stdout keeps the lines for people. */
  readonly output?: Writable
}

const redactedText = '[redacted]'

/** A logger that writes one line of JSON an entry and keeps tokens out of it, also out of a request's URL. */
export function createLogger({ level, output }: LoggerOptions): ServerLogger {
  return pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: secretPaths, censor: redactedText },
      serializers: { err: stdSerializers.errWithCause, req: requestFields },
    },
    output ?? destination({ dest: 2, sync: true }),
  )
}

const secretKeys = ['authorization', 'token', 'adminToken']
const secretPaths = secretKeys.flatMap((key) => [key, `*.${key}`])

/** The request as Fastify gives it to its `req` serializer, as far as it is logged. */
interface LoggedRequest {
  readonly method: string
  readonly url: string
  readonly ip?: string
}

function requestFields({ method, url, ip }: LoggedRequest): LogFields {
  return { method, url: withoutToken(url), remoteAddress: ip }
}

/** The URL with the value of each `token` parameter blanked; a name written with percent escapes is blanked too. */
export function withoutToken(url: string): string {
  // Most have none, and this runs for each request.
  if (!mayHoldToken.test(url)) return url
  const queryOffset = url.indexOf('?')
  if (queryOffset < 0) return url
  const pairs = url
    .slice(queryOffset + 1)
    .split('&')
    .map((pair) => {
      const [name = ''] = pair.split('=', 1)
      return isTokenName(name) ? `${name}=${redactedText}` : pair
    })
  return `${url.slice(0, queryOffset)}?${pairs.join('&')}`
}

/** A percent may stand for a letter of the name. */
const mayHoldToken = /token|%/i

function isTokenName(name: string): boolean {
  // A broken escape makes URLSearchParams keep the text, where decodeURIComponent would throw.
  const [decoded] = new URLSearchParams(`${name}=`).keys()
  return decoded !== undefined && /token/i.test(decoded)
}
