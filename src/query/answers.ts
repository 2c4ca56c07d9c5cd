import { growingBlockRows } from '../schema/functions/bounded-calls.ts'
import { ApiError, type ErrorCode, errors } from '../shared/errors/errors.ts'
import type { CompiledQuery } from '../sql/compile-query.ts'
import { wrapQuery } from '../sql/own-query.ts'
import type { ReadScope } from '../sql/read-scope.types.ts'
import { type QueryLimits, toQueryError } from '../store/caller-errors.ts'
import { countingCodes, valueCodes, valuelessCodes } from '../store/engine-codes.ts'
import { isOwnText } from '../store/engine-message.ts'
import type { SelectStream, Store } from '../store/store.types.ts'
import { StoreError } from '../store/store-error.ts'
import type { Agreement } from './agreement.ts'
import { inOwnBlocks } from './answer-blocks.ts'
import { withOwnStatistics } from './answer-statistics.ts'
import { brokenFilter } from './broken-filter.ts'
import { adviceFor } from './column-advice.ts'
import type { ColumnCheck } from './column-check.ts'
import { withPlace } from './error-place.ts'
import { inUsersWords, nameable, readOf } from './message-names.ts'
import type { QueryAnswer } from './query.types.ts'
import type { ResponseCache } from './response-cache.ts'
import type { FaultAlone, Run } from './run.types.ts'
import type { WorkspaceReader } from './workspace.types.ts'

export interface AnswerOptions extends QueryLimits {
  /** Threads of a query that asks for none. */
  readonly queryThreads: number
  /** Threads that a query gets at most, whatever it asks for. */
  readonly queryThreadsMax: number
}

interface Deps {
  readonly store: Pick<Store, 'select' | 'queryTree'>
  readonly workspace: WorkspaceReader
  readonly responses: ResponseCache
  readonly agreement: Agreement
  readonly columns: ColumnCheck
}

/** What failed: without a plan, it was compiling. */
interface Failed {
  /** Whether a value of a secret may stand in what is said of it. */
  readonly hasSecrets: boolean
  readonly readScope: ReadScope
  readonly plan?: CompiledQuery
  readonly prefix?: string | undefined
  readonly isOfAuthor?: boolean
  readonly timeMaxMs?: number | undefined
}

type Answered = Pick<QueryAnswer, 'body'> & { readonly engineMs: number | null }

/** Runs plans, or finds their answers. */
export class Answers {
  readonly #options: AnswerOptions
  readonly #deps: Deps

  constructor(options: AnswerOptions, deps: Deps) {
    this.#options = options
    this.#deps = deps
  }

  /** Raises errors of the error table (400, 408, 500, 503). */
  async answer(asked: Run): Promise<Answered> {
    const run = asked.plan.isFiltered ? inOwnBlocks(asked) : asked
    const { responses } = this.#deps
    const { cacheTtlSeconds } = run
    const key = cacheTtlSeconds === null ? null : this.#keyOf(run)
    const kept = key === null ? undefined : responses.find(key)
    if (kept !== undefined) return { body: kept, engineMs: null }
    const startMs = performance.now()
    const selected = await this.#select(run)
    const translated = selected.whole === undefined ? this.#translated(selected, run) : selected
    const engineMs = performance.now() - startMs
    const body = run.plan.isFiltered ? ownStatistics(translated, run, engineMs) : translated
    const isKept = key !== null && cacheTtlSeconds !== null
    return { body: isKept ? responses.keep(key, cacheTtlSeconds * 1000, body) : body, engineMs }
  }

  /** What the caller is told of anything that was thrown on the way to an answer: names of its own, and no secrets. */
  failureOf(thrown: unknown, { hasSecrets, readScope, plan, prefix, isOfAuthor, timeMaxMs }: Failed): unknown {
    const workspace = nameable(this.#deps.workspace, readScope)
    if (thrown instanceof StoreError) {
      const { kind, message, clickhouseCode } = thrown
      const telling = { prefix, isOfAuthor }
      const placed =
        plan === undefined ? message : withPlace(inUsersWords(message, readOf(plan, workspace)), plan, telling)
      const shown = plan === undefined ? placed : withoutHidden({ message: placed, clickhouseCode }, plan)
      const told = hasSecrets ? withoutSecrets(shown) : shown
      // The cause has the engine's own words, and goes to the log.
      const cause = hasSecrets ? undefined : thrown
      const hint = plan !== undefined && isOfAuthor && !hasSecrets ? adviceFor(message, plan) : undefined
      const limits = { ...this.#options, ...(timeMaxMs === undefined ? {} : { queryTimeMaxMs: timeMaxMs }) }
      const failed = plan === undefined ? limits : { ...limits, sql: plan.sql, hint }
      return toQueryError(new StoreError({ kind, message: told, clickhouseCode, cause }), failed)
    }
    return hasSecrets && mayQuote(thrown) ? errors.SQL_INVALID({ reason: untoldReason }) : thrown
  }

  async #select(run: Run): Promise<SelectStream> {
    const { plan, format, prefix = '', suffix = '', timeMaxMs, watch, owner, signal } = run
    const { agreement, columns } = this.#deps
    try {
      const shape = await agreement.shapeOfAgreed(plan, signal, owner)
      await columns.check(plan, signal)
      const threads = this.#threadsOf(run)
      const hiding = plan.isFiltered ? { [statisticsSetting]: 0 } : {}
      const settings = { ...plan.settings, ...run.settings, ...hiding }
      const sql = wrapQuery(plan.sql, { before: prefix, after: suffix })
      const hasLongConstants = mayRepeatLongValues(plan)
      const told = { threads, watch, owner, signal }
      const answered = { sql, shape: `${prefix}${shape}${suffix}`, hasLongConstants, format, settings, ...told }
      return await this.#deps.store.select(timeMaxMs === undefined ? answered : { ...answered, timeMaxMs })
    } catch (thrown) {
      throw await this.#runFailureOf(thrown, run)
    }
  }

  /** The same for a plan that the engine was given: where a filter does not fit any more, that is what is told. */
  async #runFailureOf(thrown: unknown, run: Run): Promise<unknown> {
    const isOfEngine = thrown instanceof StoreError && thrown.kind === 'engine'
    const broken = isOfEngine ? await brokenFilter(run.plan, { store: this.#deps.store, signal: run.signal }) : null
    if (broken !== null) return errors.FILTER_BROKEN({ cause: thrown })
    const failed = { ...run, hasSecrets: run.rendering.hasSecrets }
    if (!run.plan.isOpaque) {
      const tellable = failed.hasSecrets && isTellable(thrown) ? await run.tryWithStandIns?.(thrown) : null
      return this.#failureAlone(tellable, run) ?? this.failureOf(thrown, failed)
    }
    const untold = this.opaqueFailureOf(thrown, failed)
    const alone = isPipeFailure(untold) ? await run.tryAlone?.() : null
    return this.#failureAlone(alone, run) ?? untold
  }

  #failureAlone(alone: FaultAlone | null | undefined, run: Run): unknown {
    if (alone === null || alone === undefined) return undefined
    const { thrown, plan, prefix } = alone
    return this.failureOf(thrown, { ...run, plan, prefix, hasSecrets: false })
  }

  /** What is told of a failure in what a reader may not know: one answer for all where rows are hidden. */
  opaqueFailureOf(thrown: unknown, failed: Failed & Pick<Run, 'plan'>): unknown {
    const told = this.failureOf(thrown, failed)
    // Limits and states tell nothing of the pipes.
    if (!(told instanceof ApiError && told.code === 'SQL_INVALID')) return told
    const { hasSecrets, plan } = failed
    const cause = hasSecrets ? undefined : thrown
    if (plan.isFiltered || !(thrown instanceof StoreError)) return errors.PIPE_FAILED({ reason: null, cause })
    // What `throwIf` says is its author's, for whoever reads.
    return isOwnText(thrown.message) ? told : errors.PIPE_FAILED({ reason: codeOf(thrown.message) || null, cause })
  }

  /** Several threads share a table by its size, hidden rows among it, and the order of rows would tell how. */
  #threadsOf({ plan, rendering: { maxThreads } }: Pick<Run, 'plan' | 'rendering'>): number {
    if (plan.isFiltered) return 1
    const { queryThreads, queryThreadsMax } = this.#options
    return Math.min(Math.max(maxThreads ?? queryThreads, 1), queryThreadsMax)
  }

  /** Everything that the bytes of an answer follow from, but for the rows: filters and values stand in the SQL. */
  #keyOf(run: Run): string {
    const { plan, format, settings, prefix = '', suffix = '' } = run
    const { catalogVersion } = this.#deps.workspace
    const threads = this.#threadsOf(run)
    return JSON.stringify([catalogVersion, format, plan.settings, settings, threads, prefix, suffix, plan.sql])
  }

  /** The answer's bytes; an error in their middle is told in the same words as one before the first. */
  async *#translated(body: SelectStream, run: Run): AsyncGenerator<Uint8Array> {
    try {
      yield* body
    } catch (thrown) {
      throw await this.#runFailureOf(thrown, run)
    }
  }
}

function isPipeFailure(told: unknown): boolean {
  return told instanceof ApiError && told.code === 'PIPE_FAILED'
}

const statisticsSetting = 'output_format_write_statistics'

function ownStatistics(body: SelectStream, { plan, format }: Run, engineMs: number): SelectStream {
  const hasStatistics = plan.settings[statisticsSetting] !== 0
  return withOwnStatistics(body, { format, elapsedSeconds: engineMs / 1000, hasStatistics })
}

/**
 * A filter, or what a pipe computes before its filter, may fail by the values of hidden rows, and the engine quotes them. What
 * counts rows and bytes counts hidden ones.
 */
function withoutHidden(failure: Pick<StoreError, 'message' | 'clickhouseCode'>, { filters }: CompiledQuery): string {
  const { message, clickhouseCode } = failure
  if (clickhouseCode === undefined || valuelessCodes.has(clickhouseCode)) return message
  if (filters.every(({ isTotal }) => isTotal) && !(filters.length > 0 && countingCodes.has(clickhouseCode)))
    return message
  // Not even its name, which another hidden row may decide.
  return 'The query failed; the token filters rows, so no more is told of the error'
}

/** The name of the error, at the end of the engine's messages. */
function codeOf(message: string): string {
  return /\([A-Z][A-Z0-9_]+\)$/.exec(message)?.[0] ?? ''
}

function withoutSecrets(message: string): string {
  return `The query failed; it uses secrets, so no more is told of the error ${codeOf(message)}`.trimEnd()
}

const untoldReason = 'The query is refused; it uses secrets, so no more is told of why'

/** Whether it is a refusal that quotes the query: those of templates have no values, and of what a reader may not know nothing is told. */
export function mayQuote(thrown: unknown): thrown is ApiError {
  return thrown instanceof ApiError && !valuelessErrors.has(thrown.code) && quotingStatuses.has(thrown.status)
}

const valuelessErrors: ReadonlySet<ErrorCode> = new Set(['PIPE_FAILED', 'TEMPLATE_INVALID'])

const quotingStatuses: ReadonlySet<number> = new Set([400, 403, 404])

/** Whether something else than a value is wrong, so that it is wrong with stand-ins too. */
function isTellable(thrown: unknown): boolean {
  if (!(thrown instanceof StoreError)) return mayQuote(thrown)
  return thrown.kind === 'engine' && thrown.clickhouseCode !== undefined && !valueCodes.has(thrown.clickhouseCode)
}

const longLiteral = /'[^']{1024}/

/** Whether a constant of the query may be long: one that it makes, or one that stands in it. */
function mayRepeatLongValues({ sql, settings }: Pick<CompiledQuery, 'sql' | 'settings'>): boolean {
  return settings['max_block_size'] === growingBlockRows || (sql.length > 1_024 && longLiteral.test(sql))
}
