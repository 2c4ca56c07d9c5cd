import { cutText } from './log-secrets.ts'
import { mayQuoteRows, withoutAllQuoted } from './quoted-rows.ts'

// Messages of the engine quote whole statements, a stack begins with the message, and each cause has both once more: without
// bounds an entry of one error took 13 kB.
const messageCharsMax = 500
const framesCharsMax = 800
const causesMax = 3
/** Of each of several errors that are told as one. */
const causesOfEachMax = 1
const fieldsMax = 16

interface LoggedError {
  readonly type: string
  readonly message: string
  readonly stack: string
  readonly aggregateErrors?: readonly unknown[]
  readonly cause?: unknown
  readonly [field: string]: unknown
}

/**
 * The field `err` of an entry: an error with its stack, its plain fields and its causes, each of them bounded, and without what it
 * may quote of rows.
 */
export function loggedError(thrown: unknown): unknown {
  return loggedWithin(thrown, causesMax)
}

function loggedWithin(thrown: unknown, depth: number): unknown {
  if (typeof thrown === 'string') return cutText(thrown, messageCharsMax)
  if (!(thrown instanceof Error)) return thrown
  const { message, stack = '', cause } = thrown
  const told = mayQuoteRows(thrown) ? withoutAllQuoted : asItIs
  const errors: readonly unknown[] = thrown instanceof AggregateError ? thrown.errors : []
  const logged: LoggedError = {
    type: thrown.constructor.name,
    message: cutText(told(message), messageCharsMax),
    stack: boundedStack(stack, message, told),
    ...plainFields(thrown),
  }
  if (depth === 0) return logged
  return {
    ...logged,
    ...(errors.length === 0
      ? {}
      : { aggregateErrors: errors.slice(0, causesMax).map((error) => loggedWithin(error, causesOfEachMax)) }),
    ...(cause === undefined ? {} : { cause: loggedWithin(cause, depth - 1) }),
  }
}

function asItIs(text: string): string {
  return text
}

/** The message in front of the frames is cut by itself, or a long one would leave none of them. */
function boundedStack(stack: string, message: string, told: (text: string) => string): string {
  const at = message === '' ? -1 : stack.indexOf(message)
  if (at < 0) return cutLines(told(stack), messageCharsMax + framesCharsMax)
  const head = cutText(told(stack.slice(0, at + message.length)), messageCharsMax)
  return `${head}${cutLines(stack.slice(at + message.length), framesCharsMax)}`
}

/** Whole lines from the beginning of a text. */
function cutLines(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text
  const end = text.lastIndexOf('\n', charsMax)
  return end > 0 ? text.slice(0, end) : cutText(text, charsMax)
}

/** Codes, paths and the like. What has a shape of its own is left out: nobody knows how large it is. */
function plainFields(error: Error): Readonly<Record<string, unknown>> {
  const fields = Object.entries(error).filter(([name, value]) => {
    const isOwn = name !== 'message' && name !== 'stack' && name !== 'cause'
    return isOwn && (value === null || ['string', 'number', 'boolean'].includes(typeof value))
  })
  return Object.fromEntries(
    fields
      .slice(0, fieldsMax)
      .map(([name, value]) => [name, typeof value === 'string' ? cutText(value, messageCharsMax) : value]),
  )
}
