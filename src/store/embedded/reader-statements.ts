/**
 * Statements of readers, each in a session that it has for itself. Whether one may run at all, and beside others or alone,
 * was decided before (`EngineDoors.admit`).
 *
 * - The engine stops a statement by itself at its limit of time, but for one that it cannot stop: whoever waits is told a
 *   second later, and the session is lent until the statement has ended.
 * - A query whose signal aborts is stopped in the engine. One whose signal has aborted already does not begin.
 * - While it runs its session tells its name, in case the engine ends by it.
 * - A syntax error speaks of the caller's text alone.
 */
import type { CheckedQuery } from '../../schema/expressions/checked-text.types.ts'
import { abortedError, timeoutError } from '../store-error.ts'
import type { EngineDoors } from './engine-doors.ts'
import type { EngineSession } from './engine-session.types.ts'
import type { ExchangedReads } from './exchanged-reads.ts'
import type { ReaderWork } from './reader-work.ts'
import {
  isSyntaxError,
  plainSyntaxError,
  queryTreeStatement,
  type RunningSelect,
  type SelectLimits,
  selectStatement,
} from './select-statement.ts'
import type { Lending, TimeLimit } from './session-pool.ts'
import type { StatementStops } from './statement-stops.ts'

export interface AdmittedSelect extends RunningSelect {
  /** Whether nothing else runs meanwhile. */
  readonly isAlone: boolean
}

interface ReaderDeps {
  readonly engine: Pick<EngineDoors, 'lateError' | 'readers' | 'suspects'>
  readonly stops: Pick<StatementStops, 'begin'>
  readonly reads: Pick<ExchangedReads, 'begin'>
  readonly work: Pick<ReaderWork, 'begin'>
}

/** What a statement gets beyond its time limit until whoever waits for it is told. */
const stopGraceMs = 1_000

export class ReaderStatements {
  readonly #limits: SelectLimits
  readonly #deps: ReaderDeps

  constructor(limits: SelectLimits, deps: ReaderDeps) {
    this.#limits = limits
    this.#deps = deps
  }

  /**
   * Lends a session to one statement.
   *
   * @param timeMaxMs its longest run; that of common queries by default.
   * @throws StoreError when that is late, and what `work` and `SessionPool` throw.
   */
  async lend<Result>(
    work: (session: EngineSession) => Promise<Result>,
    lending: Lending,
    timeMaxMs = this.#limits.queryTimeMaxMs,
  ): Promise<Result> {
    return await this.#deps.engine.readers.lendWithin(work, this.#timeOf(timeMaxMs), lending)
  }

  /** Runs a query in a session that was lent. Gives the bytes of a result that does not go into a file. @throws ReadMixed, StoreError */
  async select(session: EngineSession, select: AdmittedSelect): Promise<Uint8Array> {
    const { query, id, isAlone } = select
    if (query.signal.aborted) throw abortedError()
    const { watch, threads = 1 } = query
    const { engine, reads, stops, work } = this.#deps
    const reading = reads.begin(query.sql)
    let endStop = (): void => undefined
    const stop = (): void => {
      endStop = stops.begin(id)
    }
    query.signal.addEventListener('abort', stop, { once: true })
    watch?.begin(threads)
    const endWork = work.begin(threads)
    try {
      const statement = selectStatement(select, this.#limits)
      const running = { name: query.shape ?? query.sql, isAlone }
      const bytes = await engine.suspects.during(session, running, () => session.runForBytes(statement))
      reading.check()
      return bytes
    } catch (thrown) {
      // A table that was renamed in its middle may be missing too.
      reading.check()
      throw isSyntaxError(thrown) ? await plainSyntaxError(session, query.sql, thrown) : thrown
    } finally {
      endWork()
      watch?.end(threads)
      reading.end()
      endStop()
      query.signal.removeEventListener('abort', stop)
    }
  }

  /** How the engine reads a query, in a session of its own. Planning is what the engine can stop least. Raises `StoreError`. */
  async queryTree(sql: CheckedQuery, isAlone: boolean, lending: Lending): Promise<string> {
    const statement = queryTreeStatement(sql)
    const { engine, work } = this.#deps
    const { suspects } = engine
    return await this.lend(async (session) => {
      const endWork = work.begin(1)
      try {
        return await suspects.during(session, { name: statement, isAlone }, () => session.run(statement))
      } catch (thrown) {
        throw isSyntaxError(thrown) ? await plainSyntaxError(session, sql, thrown) : thrown
      } finally {
        endWork()
      }
    }, lending)
  }

  #timeOf(timeMaxMs: number): TimeLimit {
    return {
      timeMaxMs: timeMaxMs + stopGraceMs,
      lateError: () => this.#deps.engine.lateError(timeoutError(timeMaxMs)),
    }
  }
}
