import process from 'node:process'
import type { Writable } from 'node:stream'
import { pino } from 'pino'
import { cutText, LogSecrets, redactedText } from './log-secrets.ts'
import { loggedError } from './logged-error.ts'

export type LogLevel = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'

/**
 * What a module writes its log to: values as fields, then the message as a sentence. Never rows, never tokens.
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
  /** Spares the making of fields that nobody writes; a logger without it writes all. */
  isLevelEnabled?(level: 'debug'): boolean
}

export type LogFields = Readonly<Record<string, unknown>>

export interface LoggerOptions {
  readonly level: LogLevel
  /** Takes lines of JSON, each with its line feed; stderr when undefined, which waits for its reader. */
  readonly output?: Pick<Writable, 'write'> | { write(line: string): void }
  readonly secrets?: LogSecrets
}

/** A logger that writes one line of JSON an entry and keeps tokens out of it. */
export function createLogger({ level, output = process.stderr, secrets = new LogSecrets() }: LoggerOptions): Logger {
  return pino(
    {
      level,
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: secretPaths, censor: redactedText },
      serializers: { err: loggedError },
      hooks: { streamWrite: (line) => secrets.cleanLine(bounded(line)) },
      depthLimit: 5,
      edgeLimit: 100,
    },
    { write: (line) => void output.write(line) },
  )
}

const secretKeys = ['authorization', 'token', 'adminToken', 'cookie', 'referer']
const secretPaths = secretKeys.flatMap((key) => [key, `*.${key}`])

const lineCharsMax = 16 * 1024
const beginningChars = 2_000

/** Entries have a maximum too: what is longer keeps its level, its time, and its beginning as a text. */
function bounded(line: string): string {
  if (line.length <= lineCharsMax) return line
  const { level, time, msg } = JSON.parse(line)
  const beginning = cutText(line, beginningChars)
  return `${JSON.stringify({ level, time, cutChars: line.length, beginning, msg: cutText(String(msg), beginningChars) })}\n`
}
