// The store over the ClickHouse that lives in this process.
//
// What holds here:
// - One process has one data directory. The engine locks it (`clickhouse/status`) before anything in it is touched; the
//   system drops the lock with the process, so a killed one leaves no stale lock behind.
// - Every statement runs on a thread of libuv's pool and on a session of its own, lent by a pool; the event loop never
//   waits for the engine once the store is open.
// - A query's result goes into a file and is streamed from there. The engine's own streams restart the format every
//   65,000 rows (a JSON document for each), and plan the query on the event loop; its results in memory hold each answer
//   twice. Through the file an answer of 210 MB took a quarter of the time and none of the memory, and a query that fails
//   halfway fails before its first byte. A result of a few kilobytes is the exception: it comes sooner from memory, so
//   queries that may have one are tried there first, under a limit of their own.

import { mkdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { drainPending } from 'chdb'
import type { Part } from '../codec/part.types.ts'
import type { Logger } from '../observe/logger.ts'
import { BoundedCache } from '../shared/bounded-cache.ts'
import { mebibyte } from '../shared/bytes.ts'
import { quoteString } from '../shared/text-escapes.ts'
import { appendSlices } from './append-slices.ts'
import { appendStatement } from './append-statement.ts'
import { copyStatement, exchangeStatement } from './copy-statement.ts'
import { syncFileSystemOf } from './data-sync.ts'
import { dropOrphanRecords, mayHaveOrphanRecords, type RepairedTable } from './deduplication-repair.ts'
import { writeEngineConfig } from './engine-config.ts'
import type { EngineSession } from './engine-session.ts'
import { openSessions, type SessionOptions, type Sessions } from './engine-sessions.ts'
import { PartFiles } from './part-files.ts'
import { memoryResult, type OpenResult, openResult } from './result-file.ts'
import { ResultGrowth, resultTooLargeError } from './result-growth.ts'
import {
  isSyntaxError,
  isTooLargeForMemory,
  plainSyntaxError,
  queryTreeStatement,
  type RunningSelect,
  type SelectLimits,
  selectStatement,
} from './select-statement.ts'
import { SessionPool, type TimeLimit } from './session-pool.ts'
import type {
  AppendRequest,
  CopyRequest,
  SelectQuery,
  SelectStream,
  Store,
  TablePair,
  TableStatistics,
} from './store.types.ts'
import {
  abortedError,
  clickhouseCodes,
  isOfView,
  StoreError,
  storedError,
  timeoutError,
  toStoreError,
} from './store-error.ts'
import { readTableGraph, tablesBehind } from './table-graph.ts'
import { workspaceDatabase } from './workspace-database.ts'

export interface EmbeddedStoreOptions extends SessionOptions, SelectLimits {
  /** The service's data directory; the engine's own is `clickhouse` in it. Made when it is missing. */
  readonly dataDirectory: string
  /** Statements of each kind (inserts, queries, our own) that may wait for their turn. */
  readonly waitingMax: number
  /** Results larger than a few kilobytes that may lie on disk unread, and hold a file descriptor each. */
  readonly openResultsMax: number
  /** Time that running statements get when the store closes; they are stopped then. */
  readonly closeTimeMaxMs: number
}

/**
 * Opens the engine on `dataDirectory`, restricted readers and all.
 *
 * @throws Error when another process has the directory open, or its path has a character that the engine takes for a
 *   pattern.
 */
export async function openEmbeddedStore(options: EmbeddedStoreOptions, logger: Logger): Promise<Store> {
  const directories = directoriesOf(options.dataDirectory)
  await mkdir(directories.root, { recursive: true })
  const configPath = await writeEngineConfig(directories.config, options)
  const sessions = openSessions(directories.engine, configPath, options)
  // Only now, with the lock held, is anything removed: parts and results of a process that was killed.
  for (const directory of [directories.parts, directories.results]) {
    await rm(directory, { recursive: true, force: true })
    await mkdir(directory)
  }
  const store = new EmbeddedStore(options, directories, sessions, logger)
  try {
    tellRepaired(logger, await dropOrphanRecords(store))
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}

function tellRepaired(logger: Logger, repaired: readonly RepairedTable[]): void {
  for (const { table, orphanCount } of repaired) {
    logger.warn({ table, orphanCount }, 'Deduplication records of blocks that were never stored are dropped.')
  }
}

/** A row that is refused on purpose fails before anything is written. */
function mayLeaveOrphans(error: unknown): boolean {
  if (!(error instanceof StoreError) || error.kind !== 'engine') return false
  return error.clickhouseCode !== clickhouseCodes.thrownIf || isOfView(error)
}

interface Directories {
  readonly root: string
  readonly engine: string
  readonly config: string
  readonly parts: string
  readonly results: string
}

function directoriesOf(dataDirectory: string): Directories {
  const root = resolve(dataDirectory)
  const pattern = /[*?{}]/.exec(root)?.[0]
  if (pattern !== undefined) {
    throw new Error(`the path of the data directory, ${root}, must not contain the character ${pattern}`)
  }
  const inRoot = (name: string): string => join(root, name)
  return {
    root,
    engine: inRoot('clickhouse'),
    config: inRoot('engine'),
    parts: inRoot('parts'),
    results: inRoot('results'),
  }
}

const stopIntervalMs = 50
/** What a statement gets beyond its time limit until whoever waits for it is told. */
const stopGraceMs = 1_000
/** A query that waited for this many times the longest one may take is refused: something holds all sessions. */
const waitingTimes = 3
/** Shapes of queries whose results are known to be large. */
const largeShapesMax = 10_000
const largeShapesCharactersMax = 16 * mebibyte
/** Whatever is no mere change of rows. */
const definitionStatement = /^\s*(?!TRUNCATE|INSERT|OPTIMIZE|SYSTEM)/i
/** What running queries get to end before tables are exchanged; longer ones have found their tables long ago. */
const quietTimeMaxMs = 250
/** What running INSERTs get to end before their tables' deduplication records are mended. */
const insertTimeMaxMs = 60_000

class EmbeddedStore implements Store {
  readonly #options: EmbeddedStoreOptions
  readonly #directories: Directories
  readonly #sessions: Sessions
  readonly #logger: Logger
  readonly #partFiles: PartFiles
  readonly #writers: SessionPool<EngineSession>
  readonly #readers: SessionPool<EngineSession>
  readonly #control: SessionPool<EngineSession>
  readonly #copiers: SessionPool<EngineSession>
  readonly #stoppers: SessionPool<EngineSession>
  readonly #openResults = new Set<OpenResult>()
  readonly #largeShapes = new BoundedCache<true>({ entriesMax: largeShapesMax, weightMax: largeShapesCharactersMax })
  #selectCount = 0
  #definitionVersion = 0
  #exchanging: Promise<void> = Promise.resolve()
  #closing: Promise<void> | undefined

  constructor(options: EmbeddedStoreOptions, directories: Directories, sessions: Sessions, logger: Logger) {
    this.#options = options
    this.#directories = directories
    this.#sessions = sessions
    this.#logger = logger
    this.#partFiles = new PartFiles(directories.parts, logger)
    const { waitingMax } = options
    this.#writers = new SessionPool({ purpose: 'insert', sessions: sessions.writers, waitingMax })
    const waitTimeMaxMs = waitingTimes * options.queryTimeMaxMs
    this.#readers = new SessionPool({ purpose: 'query', sessions: sessions.readers, waitingMax, waitTimeMaxMs })
    this.#control = new SessionPool({ purpose: 'control', sessions: sessions.control, waitingMax })
    this.#copiers = new SessionPool({ purpose: 'copy', sessions: sessions.copiers, waitingMax })
    // Each running query is stopped by one loop at most, and the close has one more.
    const stopsMax = sessions.readers.length + 1
    this.#stoppers = new SessionPool({ purpose: 'stop', sessions: [sessions.stopper], waitingMax: stopsMax })
  }

  /** The engine stops a statement by itself at its time limit, but for one that it cannot stop. */
  get #selectTime(): TimeLimit {
    const { queryTimeMaxMs } = this.#options
    return { timeMaxMs: queryTimeMaxMs + stopGraceMs, lateError: () => timeoutError(queryTimeMaxMs) }
  }

  get definitionVersion(): number {
    return this.#definitionVersion
  }

  async command(sql: string): Promise<void> {
    try {
      await this.#control.use((session) => session.run(sql))
    } finally {
      // One that failed may have done its work before.
      if (definitionStatement.test(sql)) this.#definitionVersion += 1
    }
  }

  async rows<Row>(sql: string): Promise<readonly Row[]> {
    const text = await this.#control.use((session) => session.run(`${sql}\nFORMAT JSONEachRow`))
    const lines = text.split('\n').filter((line) => line.length > 0)
    // The caller wrote the SELECT and names the shape of its rows.
    return lines.map((line) => JSON.parse(line) as Row)
  }

  newPartPath(): string {
    return this.#partFiles.newPath()
  }

  async discard(parts: readonly Part[]): Promise<void> {
    await this.#partFiles.remove(parts.flatMap((part) => (part instanceof Uint8Array ? [] : [part.path])))
  }

  async append(request: AppendRequest): Promise<void> {
    const written = await this.#partFiles.write(request.parts)
    try {
      await this.#appendFile(request, written.path)
    } catch (thrown) {
      if (request.outlivesViews !== true || !(thrown instanceof StoreError) || !isOfView(thrown)) throw thrown
      // The engine may have the rows in the table by the time at which a view fails, or not: the tokens are the same, so
      // afterwards they are there once in any case, and in the other views too.
      await this.#appendFile(request, written.path, true)
      throw storedError(thrown)
    } finally {
      await written.remove()
    }
  }

  async #appendFile(request: AppendRequest, path: string, passesViews = false): Promise<void> {
    try {
      await this.#writers.use(async (session) => {
        for (const slice of await appendSlices(session, request, path)) {
          await session.run(appendStatement(request, path, { ...slice, passesViews }))
        }
      })
    } catch (error) {
      // Before the error is told, as whoever hears of it may repeat the block at once.
      if (mayLeaveOrphans(error)) await this.#dropOrphansBehind(request.table)
      throw error
    }
  }

  /** What fails here is done after the next failure, or at the next start. Never throws. */
  async #dropOrphansBehind(table: string): Promise<void> {
    try {
      const tables = tablesBehind(await readTableGraph(this), table)
      if (!(await mayHaveOrphanRecords(this, tables))) return
      const repair = this.#exchanging.then(() => this.#dropOrphans(tables))
      this.#exchanging = repair.catch(() => undefined)
      await repair
    } catch (err) {
      this.#logger.error({ err, table }, 'Deduplication records could not be looked at after an INSERT that failed.')
    }
  }

  /** No INSERT runs meanwhile: its block would look like an orphan. Readers wait, as tables are gone for a moment. */
  async #dropOrphans(tables: ReadonlySet<string>): Promise<void> {
    await this.#writers.whilePaused(insertTimeMaxMs, async () => {
      if (this.#writers.lentCount > 0) throw new Error('an INSERT does not end')
      const repaired = await this.#readers.whilePaused(quietTimeMaxMs, () => dropOrphanRecords(this, tables))
      tellRepaired(this.#logger, repaired)
    })
  }

  async copy(request: CopyRequest): Promise<void> {
    await this.#copiers.use((session) => session.run(copyStatement(request, this.#options)))
  }

  async exchange(pairs: readonly TablePair[]): Promise<void> {
    // One statement exchanges one pair behind the other, so a query that begins in its middle would see a mixture.
    const exchange = this.#exchanging.then(() =>
      this.#readers.whilePaused(quietTimeMaxMs, () => this.command(exchangeStatement(pairs))),
    )
    this.#exchanging = exchange.catch(() => undefined)
    await exchange
  }

  async select(query: SelectQuery): Promise<SelectStream> {
    if (this.#openResults.size >= this.#options.openResultsMax) {
      throw new StoreError({ kind: 'busy', message: 'Too many results wait to be read; repeat it later' })
    }
    const { shape } = query
    if (shape !== undefined && this.#largeShapes.get(shape) === undefined) {
      const small = await this.#selectInMemory(query)
      if (small !== null) return small
      this.#largeShapes.set(shape, true, shape.length)
    }
    return await this.#selectThroughFile(query)
  }

  async queryTree(sql: string, signal: AbortSignal): Promise<string> {
    return await this.#readers.use(async (session) => {
      try {
        return await session.run(queryTreeStatement(sql))
      } catch (thrown) {
        throw isSyntaxError(thrown) ? await plainSyntaxError(session, sql, thrown) : thrown
      }
    }, signal)
  }

  async sync(): Promise<void> {
    if ((await syncFileSystemOf(this.#directories.engine)) === 'synced') return
    // sync(2) of the whole machine; it tells no errors, so it is only the second choice.
    await this.command('SYSTEM SYNC FILE CACHE')
  }

  async tableStatistics(): Promise<ReadonlyMap<string, TableStatistics>> {
    const rows = await this.rows<{ name: string; rowCount: number; byteCount: number }>(
      `SELECT name, ifNull(total_rows, 0) AS rowCount, ifNull(total_bytes, 0) AS byteCount
       FROM system.tables WHERE database = ${quoteString(workspaceDatabase)}`,
    )
    return new Map(rows.map(({ name, rowCount, byteCount }) => [name, { rowCount, byteCount }]))
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  /** Null when the result is too large. */
  async #selectInMemory(query: SelectQuery): Promise<SelectStream | null> {
    const running = { query, id: this.#nextSelectId(), path: null }
    try {
      const bytes = await this.#readers.lendWithin(
        (session) => this.#runSelect(session, running),
        this.#selectTime,
        query.signal,
      )
      const result = memoryResult(bytes, query.signal)
      if (!('whole' in result)) this.#keepOpen(result)
      return result
    } catch (thrown) {
      if (query.signal.aborted) throw abortedError()
      if (isTooLargeForMemory(thrown)) return null
      throw toStoreError(thrown)
    }
  }

  async #selectThroughFile(query: SelectQuery): Promise<SelectStream> {
    const id = this.#nextSelectId()
    const path = join(this.#directories.results, id)
    const growth = new ResultGrowth(path, { bytesMax: this.#options.resultBytesMax, signal: query.signal })
    let isOver = false
    try {
      const limited = { ...query, signal: growth.signal }
      const work = async (session: EngineSession): Promise<void> => {
        growth.start()
        try {
          await this.#runSelect(session, { query: limited, id, path })
        } finally {
          // One that was given up may make its file long after.
          if (isOver) await rm(path, { force: true })
        }
      }
      await this.#readers.lendWithin(work, this.#selectTime, query.signal)
      await growth.check()
      const result = await openResult(path, query.signal)
      this.#keepOpen(result)
      return result
    } catch (thrown) {
      await rm(path, { force: true })
      if (query.signal.aborted) throw abortedError()
      throw growth.isTooLarge ? resultTooLargeError(thrown) : toStoreError(thrown)
    } finally {
      isOver = true
      growth.stop()
    }
  }

  #nextSelectId(): string {
    this.#selectCount += 1
    return `select-${this.#selectCount}`
  }

  /** Gives the bytes of a result that does not go into a file. */
  async #runSelect(session: EngineSession, select: RunningSelect): Promise<Uint8Array> {
    const { query, id } = select
    if (query.signal.aborted) throw abortedError()
    let isRunning = true
    const stop = (): void => {
      void this.#stop(id, () => isRunning)
    }
    query.signal.addEventListener('abort', stop, { once: true })
    try {
      return await session.runForBytes(selectStatement(select, this.#options))
    } catch (thrown) {
      throw isSyntaxError(thrown) ? await plainSyntaxError(session, query.sql, thrown) : thrown
    } finally {
      isRunning = false
      query.signal.removeEventListener('abort', stop)
    }
  }

  /** Stops the statement with this `log_comment`, which the engine may not know yet or any more. Never throws. */
  async #stop(id: string, isRunning: () => boolean): Promise<void> {
    // SYNC would wait for the end of the statement on this, the only session that can stop others.
    const statement = `KILL QUERY WHERE Settings['log_comment'] = ${quoteString(id)} ASYNC`
    try {
      while (isRunning()) {
        await this.#stoppers.use((session) => session.run(statement))
        await delay(stopIntervalMs, undefined, { ref: false })
      }
    } catch (err) {
      this.#logger.warn({ err, statement: id }, 'A statement could not be stopped; it ends by its own time limit.')
    }
  }

  #keepOpen(result: OpenResult): void {
    this.#openResults.add(result)
    const forget = (): void => {
      this.#openResults.delete(result)
    }
    result.closed.then(forget, (err: unknown) => {
      forget()
      this.#logger.warn({ err }, 'The file of a result could not be closed.')
    })
  }

  async #close(): Promise<void> {
    const pools = [this.#writers, this.#readers, this.#control, this.#copiers]
    const idle = Promise.all(pools.map((pool) => pool.close()))
    await this.#waitOrStop(idle)
    await this.#stoppers.close()
    await Promise.all([...this.#openResults].map((result) => result.return()))
    await drainPending()
    const { control, stopper, writers, readers, copiers } = this.#sessions
    for (const session of [...control, ...writers, ...readers, ...copiers, stopper]) session.close()
    await drainPending()
  }

  /** Waits until the pools are idle; past the time limit it stops what still runs, and waits for that. */
  async #waitOrStop(idle: Promise<unknown>): Promise<void> {
    const timer = new AbortController()
    const timeLimit = delay(this.#options.closeTimeMaxMs, 'late' as const, { signal: timer.signal })
    // Aborting the timer rejects it, and that is no failure.
    const outcome = await Promise.race([idle, timeLimit.catch(() => 'late' as const)])
    timer.abort()
    if (outcome !== 'late') return
    this.#logger.warn({}, 'Statements ran for too long at the close of the store and are stopped.')
    await this.#stoppers.use((session) => session.run(`KILL QUERY WHERE 1 ASYNC`))
    await idle
  }
}
