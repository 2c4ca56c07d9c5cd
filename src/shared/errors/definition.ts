import type { LimitName } from '../limit-names.ts'

/** What one code of the table of errors is made of. */
export interface ErrorDefinition<Params> {
  readonly status: number
  /** For docs/errors.md: when a caller meets it. */
  readonly when: string
  readonly message: (params: Params) => string
  /** The limit that refuses, where it is one that callers know. */
  readonly limit?: (params: Params) => LimitName | undefined
  /** How much of that limit is left, where it is one of requests in a time. */
  readonly rate?: (params: Params) => RateFacts
  /** Seconds for the header Retry-After. */
  readonly retryAfterSeconds?: (params: Params) => number
  /** What to do next, in a field of its own: clients and tests of projects compare the message. Undefined has none. */
  readonly hint?: (params: Params) => string | undefined
  /** The names that stand for nothing, outermost first: what was meant is looked for among those that there are. */
  readonly subject?: (params: Params) => readonly string[]
  /** The message for whoever must not be told of other resources; undefined where it names none. */
  readonly withoutOthers?: (params: Params) => string
  /** Which those are: whoever may know of all of them is told the message. Undefined where only who sees everything is. */
  readonly others?: (params: Params) => readonly OtherResource[] | undefined
  /** Which rows the message may quote: the words of the engine have values and names in them. Undefined quotes none. */
  readonly quotes?: RowsQuoted
  /** The message for whoever must not be told of these rows, where it is another one than with `untoldReasons` as its reason. */
  readonly withoutRows?: (params: Params) => string
  /** Status and body that take the place of those of the code; null leaves them. */
  readonly answer?: (params: Params) => OwnAnswer | null
}

/** How much is left of a limit of requests in a time. */
export interface RateFacts {
  readonly limit: LimitName
  /** Requests that a window has room for. */
  readonly max: number
  /** Null where requests that are under way at once are counted. */
  readonly windowSeconds: number | null
  readonly remaining: number
  /** Until there is more room than now. */
  readonly resetSeconds: number
}

/** A resource that a message names. */
export interface OtherResource {
  readonly kind: 'datasource' | 'pipe'
  readonly name: string
}

/**
 * - `sent`: those of the request, or of the file that it named; others than the sender may hear of them by a job.
 * - `stored`: those that the data source has.
 * - `of views`: whatever Materialized Views read, and make of the rows.
 */
export type RowsQuoted = (typeof rowsQuoted)[number]

export const rowsQuoted = ['sent', 'stored', 'of views'] as const

/** What stands for the reason where it is not told. */
export const untoldReasons: Readonly<Record<RowsQuoted, string>> = {
  sent: 'a token that may read all rows of the Data Source is told why',
  stored: 'it fails on rows that the token may not read',
  'of views': 'a token that may read everything is told why',
}

/** An answer in the words of a template's author. */
export interface OwnAnswer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

/** Gives the definition back, with the type of its parameters told by its message. */
export function define<Params>(definition: ErrorDefinition<Params>): ErrorDefinition<Params> {
  return definition
}

/** What an error has that is worth a second try. */
export interface RetryLater {
  readonly retryAfterSeconds: number
}
