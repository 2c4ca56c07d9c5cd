/**
 * Answers users' queries: admits each, and decides whether its result goes through a file (`file-selects.ts`), or stays in
 * memory, from where a few kilobytes come sooner.
 *
 * - A query without a shape, or with long constants, takes the file. One with a shape is tried in memory under a small limit,
 *   and once more through a file when the result was larger; from then on its shape takes the file at once.
 * - To the engine a constant counts once, however many rows repeat it. So a result that came into memory may have many bytes
 *   as they are sent: it is given, if all such results have room, and the next one of its shape takes the file.
 * - Nobody waits for an engine that does not come back, and nothing begins while too many results are unread. Both do not hold
 *   for what mends the tables of an engine that was started again.
 */
import type { CheckedQuery } from '../../schema/expressions/checked-text.types.ts'
import { BoundedCache } from '../../shared/bounded-cache.ts'
import { mebibyte } from '../../shared/bytes.ts'
import type { Reads, SelectQuery, SelectStream } from '../store.types.ts'
import { abortedError, toStoreError } from '../store-error.ts'
import type { EngineDoors } from './engine-doors.ts'
import { ReadMixed } from './exchanged-reads.ts'
import type { FileSelects } from './file-selects.ts'
import type { OpenResults } from './open-results.ts'
import type { ReaderStatements } from './reader-statements.ts'
import { memoryResult } from './result-file.ts'
import { isTooLargeForMemory, queryTreeStatement } from './select-statement.ts'
import type { Lending } from './session-pool.ts'

interface SelectsDeps {
  readonly engine: Pick<EngineDoors, 'admit' | 'throwIfRefusing'>
  readonly statements: Pick<ReaderStatements, 'lend' | 'queryTree' | 'select'>
  readonly files: Pick<FileSelects, 'select'>
  readonly results: Pick<OpenResults, 'hold' | 'throwIfFull'>
}

/** Results that have more bytes than this, as they are sent, are held in memory once a shape at most. */
const memoryResultBytesMax = mebibyte
/** Runs of a query in whose middle its tables are exchanged. */
const mixedTriesMax = 4
/** Shapes of queries whose results are known to be large. */
const largeShapesMax = 10_000
const largeShapesCharactersMax = 16 * mebibyte

export class Selects implements Reads {
  /** The same before readers may run, for what mends the tables of an engine that was started again. */
  readonly whilePaused: Reads = {
    select: (query) => this.#deps.engine.admit(nameOf(query), () => this.#answer(query, true)),
    queryTree: (sql, signal) => this.#queryTree(sql, { signal, passesPause: true }),
  }
  readonly #deps: SelectsDeps
  readonly #largeShapes = new BoundedCache<true>({ entriesMax: largeShapesMax, weightMax: largeShapesCharactersMax })
  #selectCount = 0

  constructor(deps: SelectsDeps) {
    this.#deps = deps
  }

  async select(query: SelectQuery): Promise<SelectStream> {
    const { engine, results } = this.#deps
    results.throwIfFull()
    engine.throwIfRefusing()
    return await engine.admit(nameOf(query), (isAlone) => this.#answer(query, isAlone))
  }

  async queryTree(sql: CheckedQuery, signal: AbortSignal, owner?: string): Promise<string> {
    this.#deps.engine.throwIfRefusing()
    return await this.#queryTree(sql, { signal, owner })
  }

  async #queryTree(sql: CheckedQuery, lending: Lending): Promise<string> {
    const { engine, statements } = this.#deps
    return await engine.admit(queryTreeStatement(sql), (isAlone) =>
      statements.queryTree(sql, isAlone, isAlone ? { ...lending, passesPause: true } : lending),
    )
  }

  /** Nothing of a result has left while its query runs, so one whose tables were exchanged meanwhile is asked again. */
  async #answer(query: SelectQuery, isAlone: boolean): Promise<SelectStream> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#answerOnce(query, isAlone)
      } catch (thrown) {
        if (!(thrown instanceof ReadMixed) || tries === mixedTriesMax) throw thrown
      }
    }
  }

  async #answerOnce(query: SelectQuery, isAlone: boolean): Promise<SelectStream> {
    const { shape, hasLongConstants = false } = query
    if (shape !== undefined && !hasLongConstants && this.#largeShapes.get(shape) === undefined) {
      const small = await this.#selectInMemory(query, shape, isAlone)
      if (small !== null) return small
      this.#noteLarge(shape)
    }
    return await this.#deps.files.select({ query, id: this.#nextId(), isAlone })
  }

  /** Null when the result is too large. */
  async #selectInMemory(query: SelectQuery, shape: string, isAlone: boolean): Promise<SelectStream | null> {
    const { statements, results } = this.#deps
    const { signal, owner } = query
    const running = { query, id: this.#nextId(), path: null, isAlone }
    try {
      const lending = { signal, passesPause: isAlone, owner }
      const bytes = await statements.lend((session) => statements.select(session, running), lending, query.timeMaxMs)
      const result = memoryResult(bytes, signal)
      if ('whole' in result) return result
      if (bytes.byteLength > memoryResultBytesMax) this.#noteLarge(shape)
      results.hold(result, bytes.byteLength)
      return result
    } catch (thrown) {
      if (signal.aborted) throw abortedError()
      if (isTooLargeForMemory(thrown)) return null
      throw toStoreError(thrown)
    }
  }

  #noteLarge(shape: string): void {
    this.#largeShapes.set(shape, true, shape.length)
  }

  #nextId(): string {
    this.#selectCount += 1
    return `select-${this.#selectCount}`
  }
}

/** What tells queries apart that the engine may end by. */
function nameOf({ shape, sql }: SelectQuery): string {
  return shape ?? sql
}
