// What the table of errors is made into: one class, one factory a code, and the rows of docs/errors.md.

import type { LimitName } from '../limit-names.ts'
import {
  type ErrorDefinition,
  type OtherResource,
  type OwnAnswer,
  type RateFacts,
  type RowsQuoted,
  untoldReasons,
} from './definition.ts'
import { definitions } from './definitions.ts'

export type ErrorCode = keyof typeof definitions

/** The body of every answer that is an error. */
export interface ErrorBody {
  readonly error: string
  readonly documentation: string
  /** What to do next. */
  readonly hint?: string
}

interface ApiErrorFields {
  readonly code: ErrorCode
  readonly status: number
  readonly message: string
  readonly cause: unknown
  readonly limit: LimitName | undefined
  readonly rate: RateFacts | undefined
  readonly retryAfterSeconds: number | undefined
  readonly hint: string | undefined
  readonly subject: readonly string[]
  readonly withoutOthers: string | undefined
  readonly others: readonly OtherResource[] | undefined
  readonly quotes: RowsQuoted | undefined
  readonly withoutRows: string | undefined
  readonly ownBody: OwnAnswer['body'] | undefined
}

/** What a caller is told: made by `errors` alone, answered by `http` as `status` and `body`. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly code: ErrorCode
  /** The HTTP status. */
  readonly status: number
  /** Where the code is explained. */
  readonly documentation: string
  /** The limit that refused; undefined where none did. */
  readonly limit: LimitName | undefined
  /** How much of that is left, where it is one of requests in a time. */
  readonly rate: RateFacts | undefined
  /** For the header Retry-After; undefined sends none. */
  readonly retryAfterSeconds: number | undefined
  /** The names that stand for nothing, as the caller wrote them, outermost first; empty where it is about no name. */
  readonly subject: readonly string[]
  /** What to do next, as far as it is known. */
  readonly hint: string | undefined
  /** The message for whoever must not be told of other resources; undefined where it names none. */
  readonly withoutOthers: string | undefined
  /** The resources that the message names and that other one does not; undefined where they are not told apart. */
  readonly others: readonly OtherResource[] | undefined
  /** Which rows the message may quote; undefined where it quotes none. */
  readonly quotes: RowsQuoted | undefined
  /** The message for whoever must not be told of them; undefined where it quotes none. */
  readonly withoutRows: string | undefined
  readonly #ownBody: OwnAnswer['body'] | undefined

  constructor(fields: ApiErrorFields) {
    const { code, status, message, cause, retryAfterSeconds, hint, subject, ownBody } = fields
    super(message, cause === undefined ? {} : { cause })
    this.code = code
    this.status = status
    this.documentation = documentationOf(code)
    this.limit = fields.limit
    this.rate = fields.rate
    this.retryAfterSeconds = retryAfterSeconds
    this.hint = hint
    this.subject = subject
    this.withoutOthers = fields.withoutOthers
    this.others = fields.others
    this.quotes = fields.quotes
    this.withoutRows = fields.withoutRows
    this.#ownBody = ownBody
  }

  body(): ErrorBody | OwnAnswer['body'] {
    if (this.#ownBody !== undefined) return this.#ownBody
    const told = { error: this.message, documentation: this.documentation }
    return this.hint === undefined ? told : { ...told, hint: this.hint }
  }
}

interface Accompanied {
  readonly cause?: unknown
  /** What to do next, where it is known only here; goes before the hint of the definition. */
  readonly hint?: string | undefined
}

// A message without parameters leaves `Params` unknown; its factory may then be called with nothing.
type ErrorFactory<Definition> =
  Definition extends ErrorDefinition<infer Params>
    ? unknown extends Params
      ? (params?: Accompanied) => ApiError
      : (params: Params & Accompanied) => ApiError
    : never

type ErrorFactories = { readonly [Code in ErrorCode]: ErrorFactory<(typeof definitions)[Code]> }

/**
 * One factory a code: `throw errors.DATASOURCE_NOT_FOUND({ name })`. Each takes a `cause` beside its parameters, which
 * is logged and never answered, and a `hint`, which is answered in a field of its own.
 */
export const errors: ErrorFactories = createFactories()

/** The table as rows for docs/errors.md: by status, then by code. */
export const errorTable: readonly { readonly code: ErrorCode; readonly status: number; readonly when: string }[] =
  codes()
    .map((code) => ({ code, status: definitions[code].status, when: definitions[code].when }))
    .sort((one, other) => one.status - other.status || (one.code < other.code ? -1 : 1))

function createFactories(): ErrorFactories {
  const factories = codes().map((code) => {
    // The parameters' type differs by code and is checked where the factory is called, by `ErrorFactories`.
    const definition = definitions[code] as ErrorDefinition<Accompanied>
    const factory: unknown = (params: Accompanied = {}): ApiError => {
      const answer = definition.answer?.(params)
      return new ApiError({
        code,
        status: answer?.status ?? definition.status,
        message: definition.message(params),
        cause: params.cause,
        limit: definition.limit?.(params),
        rate: definition.rate?.(params),
        retryAfterSeconds: definition.retryAfterSeconds?.(params),
        hint: params.hint ?? definition.hint?.(params),
        subject: definition.subject?.(params) ?? [],
        withoutOthers: definition.withoutOthers?.(params),
        others: definition.others?.(params),
        quotes: definition.quotes,
        withoutRows: withoutRows(definition, params),
        ownBody: answer?.body,
      })
    }
    return [code, factory] as const
  })
  // Object.fromEntries forgets which key has which value; the loop above gives each code the factory of its definition.
  return Object.fromEntries(factories) as ErrorFactories
}

function withoutRows<Params>(definition: ErrorDefinition<Params>, params: Params): string | undefined {
  const { quotes, message, withoutRows: ownText } = definition
  if (quotes === undefined) return undefined
  return ownText === undefined ? message({ ...params, reason: untoldReasons[quotes] }) : ownText(params)
}

function codes(): readonly ErrorCode[] {
  // Object.keys gives plain strings; the literal above has these keys and no others.
  return Object.keys(definitions) as ErrorCode[]
}

/** What stands in front of `docs/errors.md` in links; errors are made everywhere, and a process has one address of them. */
let documentationBase = ''

/** Makes the links of all errors absolute, from now on; an empty text leaves them relative. */
export function linkErrorsTo(base: string): void {
  documentationBase = base === '' || base.endsWith('/') ? base : `${base}/`
}

function documentationOf(code: ErrorCode): string {
  return `${documentationBase}docs/errors.md#${code.toLowerCase()}`
}
