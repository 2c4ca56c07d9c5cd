// The store over the ClickHouse that comes with the package `chdb`, in a process of its own.
//
// What holds here:
// - One process has one data directory. The engine locks it (`clickhouse/status`) before anything in it is touched; the
//   system drops the lock with the process, so a killed one leaves no stale lock behind.
// - Every statement runs on a session of its own, lent by a pool.
// - When the engine ends by itself it is started again (`engine-supervisor.ts`). Until what it left is mended, INSERTs and
//   readers wait; INSERTs that ran are repeated under their tokens, which stores them once, and all other statements are
//   refused with a `StoreError` of kind `stopped`.
// - A query's result goes into a file and is streamed from there. The engine's own streams restart the format every
//   65,000 rows (a JSON document for each), and plan the query on the event loop; its results in memory hold each answer
//   twice. Through the file an answer of 210 MB took a quarter of the time and none of the memory, and a query that fails
//   halfway fails before its first byte. A result of a few kilobytes is the exception: it comes sooner from memory, so
//   queries that may have one are tried there first, under a limit of their own.

import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Part } from '../../codec/arrow/part.types.ts'
import type { Logger } from '../../observe/logger.ts'
import { BoundedCache } from '../../shared/bounded-cache.ts'
import { mebibyte } from '../../shared/bytes.ts'
import { copyStatement, exchangeStatement, queryCopyStatement } from '../sql/copy-statement.ts'
import { PartStatements } from '../sql/part-statements.ts'
import { PartitionStatements } from '../sql/partition-statements.ts'
import { qualified } from '../sql/qualified.ts'
import { QuarantineStatements } from '../sql/quarantine-statements.ts'
import { ReplayStatements } from '../sql/replay-statements.ts'
import { TableStatements } from '../sql/table-statements.ts'
import { TrialStatements } from '../sql/trial-statements.ts'
import { ViewStatements } from '../sql/view-statements.ts'
import type { CommandNature, RowsNature, Statements } from '../statements.types.ts'
import type {
  AppendRequest,
  CopyRequest,
  QueryCopyRequest,
  RestartedEngine,
  RowPartition,
  SelectQuery,
  SelectStream,
  SupervisedStore,
  TablePair,
} from '../store.types.ts'
import { abortedError, isStopped, silentError, timeoutError, toStoreError } from '../store-error.ts'
import { Appends, pathsOf, slowInsertsMax } from './appends.ts'
import { ComputingStatements } from './computing-statements.ts'
import { FileSystemSync } from './data-sync.ts'
import { DefinitionFiles } from './definition-files.ts'
import type { EmbeddedStoreOptions } from './embedded-store.types.ts'
import { writeEngineConfig } from './engine-config.ts'
import { EngineDoors } from './engine-doors.ts'
import type { EngineSession } from './engine-session.types.ts'
import { FileReads } from './file-reads.ts'
import { makeAgain } from './make-again.ts'
import { OpenResults } from './open-results.ts'
import { OrphanRepairs } from './orphan-repairs.ts'
import { ParquetReads } from './parquet-reads.ts'
import { PartFiles } from './part-files.ts'
import { checkComplete } from './result-complete.ts'
import { memoryResult, openResult } from './result-file.ts'
import { ResultGrowth } from './result-growth.ts'
import {
  isSyntaxError,
  isTooLargeForMemory,
  plainSyntaxError,
  queryTreeStatement,
  type RunningSelect,
  selectStatement,
} from './select-statement.ts'
import type { Lending, SessionPool, TimeLimit } from './session-pool.ts'
import { StatementStops } from './statement-stops.ts'
import { type StoreDirectories, storeDirectories } from './store-directories.ts'

/**
 * Opens the engine on `dataDirectory`, restricted readers and all.
 *
 * @throws StartRefusal when another process has the directory open, or its path has a character that the engine takes for a
 *   pattern.
 */
export async function openEmbeddedStore(options: EmbeddedStoreOptions, logger: Logger): Promise<OpenedStore> {
  const directories = storeDirectories(options.dataDirectory)
  await mkdir(directories.root, { recursive: true, mode: 0o700 })
  const configPath = await writeEngineConfig(directories.config, options)
  const store = new EmbeddedStore(options, { ...directories, configPath }, logger)
  try {
    await store.open()
    return store
  } catch (error) {
    await store.close()
    throw error
  }
}

/** Beside the verbs, the statements that they are made of: for the adapter and its tests. */
export type OpenedStore = SupervisedStore & Statements

/** What a statement gets beyond its time limit until whoever waits for it is told. */
const stopGraceMs = 1_000
/** A query that waited for this many times the longest one may take is refused: something holds all sessions. */
const waitingTimes = 3
/** Results that have more bytes than this, as they are sent, are held in memory once a shape at most. */
const memoryResultBytesMax = mebibyte
/** Shapes of queries whose results are known to be large. */
const largeShapesMax = 10_000
const largeShapesCharactersMax = 16 * mebibyte
/** Whatever is no mere change of rows. */
const definitionStatement = /^\s*(?!TRUNCATE|INSERT|OPTIMIZE|SYSTEM)/i
/** What running queries get to end before tables are exchanged; longer ones have found their tables long ago. */
const quietTimeMaxMs = 250
/** Statements that do no more when they are repeated. */
const repeatableStatement = /^\s*(?:DROP\s+\w+\s+IF\s+EXISTS|CREATE\s+[\w ]+?\s+IF\s+NOT\s+EXISTS)\b/i
/** Restarts within ten minutes; a statement that the engine ends by costs three. */
const engineRestartsMax = 10
const definitionTimeMaxMs = 10_000
const lookTimeMaxMs = 60_000

interface AdmittedSelect extends RunningSelect {
  /** Whether nothing else runs meanwhile. */
  readonly isAlone: boolean
}

interface EngineDirectories extends StoreDirectories {
  readonly configPath: string
}

/** Where the engine ends meanwhile, what may be repeated is, once. */
async function repeated<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run()
  } catch (thrown) {
    if (!isStopped(thrown)) throw thrown
    return await run()
  }
}

class EmbeddedStore implements SupervisedStore, Statements {
  readonly tables = new TableStatements(this)
  readonly partitions = new PartitionStatements(this)
  readonly parts = new PartStatements(this)
  readonly views = new ViewStatements(this)
  readonly trials = new TrialStatements(this, this)
  readonly quarantines = new QuarantineStatements(this, this)
  readonly replays = new ReplayStatements({ statements: this, reads: this, tables: this.tables })
  readonly parquet: ParquetReads
  readonly #options: EmbeddedStoreOptions
  readonly #directories: StoreDirectories
  readonly #fileSystem: FileSystemSync
  readonly #partFiles: PartFiles
  readonly #engine: EngineDoors
  readonly #repairs: OrphanRepairs
  readonly #definitions: DefinitionFiles
  readonly #computing: ComputingStatements
  readonly #appends: Appends
  readonly #readers: SessionPool<EngineSession>
  readonly #control: SessionPool<EngineSession>
  readonly #results: OpenResults
  readonly #stops: StatementStops
  readonly #largeShapes = new BoundedCache<true>({ entriesMax: largeShapesMax, weightMax: largeShapesCharactersMax })
  readonly #mending: ((engine: RestartedEngine) => Promise<void>)[] = []
  #selectCount = 0
  #definitionVersion = 0
  #closing: Promise<void> | undefined

  constructor(options: EmbeddedStoreOptions, directories: EngineDirectories, logger: Logger) {
    this.#options = options
    this.#directories = directories
    this.#fileSystem = new FileSystemSync(directories.engine)
    this.#fileSystem.open()
    this.#partFiles = new PartFiles(directories.parts, logger)
    this.#results = new OpenResults(options, logger)
    const waitTimeMaxMs = waitingTimes * options.queryTimeMaxMs
    const { engine: directory, configPath } = directories
    const restartsMax = options.engineRestartsMax ?? engineRestartsMax
    this.#definitions = new DefinitionFiles(directories, logger)
    const beforeStart = () => this.#definitions.mend()
    const doors = { ...options, slowInsertsMax, directory, configPath, waitTimeMaxMs, restartsMax, beforeStart }
    this.#engine = new EngineDoors(doors, logger, () => this.#mend())
    const { writers, readers, control, stoppers } = this.#engine
    this.#stops = new StatementStops(stoppers, logger)
    this.#readers = readers
    this.#control = control
    this.#computing = new ComputingStatements(options.definitionTimeMaxMs ?? definitionTimeMaxMs, {
      engine: this.#engine,
      logger,
      drop: (table) => this.#drop(table),
    })
    this.#repairs = new OrphanRepairs(this, { writers, readers, logger, insertTimeMaxMs: options.insertTimeMaxMs })
    this.#appends = new Appends(options, { engine: this.#engine, partFiles: this.#partFiles, repairs: this.#repairs })
    const { insertTimeMaxMs: timeMaxMs, insertMemoryBytesMax: memoryBytesMax } = options
    this.parquet = new ParquetReads(new FileReads({ timeMaxMs, memoryBytesMax }, this.#engine))
  }

  /** @throws StartRefusal */
  async open(): Promise<void> {
    await this.#engine.open()
    const { parts, results } = this.#directories
    // Only now, with the lock held, is anything removed: parts and results of a process that was killed.
    for (const directory of [parts, results]) {
      await rm(directory, { recursive: true, force: true })
      await mkdir(directory)
    }
    await this.#repairs.dropAll()
  }

  /** What an engine that ended has left, before INSERTs and readers run again. */
  async #mend(): Promise<void> {
    this.#definitionVersion += 1
    await this.#repairs.dropAll()
    const engine: RestartedEngine = {
      copy: (request) => this.#copy(copyStatement(request, this.#options), { passesPause: true }),
      exchange: (pairs) => this.exchange(pairs),
      tables: this.tables,
      sync: () => this.sync(),
      queryTree: (sql: string, signal: AbortSignal) => this.#queryTree(sql, { signal, passesPause: true }),
      select: (query: SelectQuery) =>
        this.#engine.admit(query.shape ?? query.sql, () => this.#selectAdmitted(query, true)),
    }
    for (const mend of this.#mending) await mend(engine)
  }

  get unreadyReason(): string | null {
    return this.#engine.unreadyReason ?? this.#appends.unreadyReason ?? this.#engine.lateReads.unreadyReason
  }

  get failed(): Promise<Error> {
    return this.#engine.failed
  }

  onRestart(mend: (engine: RestartedEngine) => Promise<void>): void {
    this.#mending.push(mend)
  }

  /** The engine stops a statement by itself at its time limit, but for one that it cannot stop. */
  get #selectTime(): TimeLimit {
    const { queryTimeMaxMs } = this.#options
    return {
      timeMaxMs: queryTimeMaxMs + stopGraceMs,
      lateError: () => this.#engine.lateError(timeoutError(queryTimeMaxMs)),
    }
  }

  get definitionVersion(): number {
    return this.#definitionVersion
  }

  async command(sql: string, { computes = false, isLong = false }: CommandNature = {}): Promise<void> {
    if (this.#computing.takes(sql)) return
    const mayRepeat = repeatableStatement.test(sql)
    if (computes) {
      // Rows come into tables that nobody knows.
      const isTrial = mayRepeat || /^\s*INSERT\b/i.test(sql)
      await this.#computing.run(sql, (run) => this.#change(sql, () => run(sql)), isTrial)
      return
    }
    const pool = isLong ? this.#engine.workers : this.#control
    const run = (): Promise<string> => pool.use((session) => session.run(sql))
    await this.#change(sql, () => (mayRepeat ? repeated(run) : run()))
  }

  /** Runs a statement, and looks after the definitions that it changes. */
  async #change(sql: string, run: () => Promise<unknown>): Promise<void> {
    if (!definitionStatement.test(sql)) {
      await run()
      return
    }
    try {
      await this.#definitions.during(sql, { run, drop: (table) => this.#drop(table) })
    } finally {
      // One that failed may have done its work before.
      this.#definitionVersion += 1
    }
  }

  async #drop(table: string): Promise<void> {
    const sql = `DROP TABLE IF EXISTS ${qualified(table)}`
    await repeated(() => this.#control.use((session) => session.run(sql)))
  }

  async rows<Row>(sql: string, { isLong = false }: RowsNature = {}): Promise<readonly Row[]> {
    const read = (session: EngineSession): Promise<string> => session.run(`${sql}\nFORMAT JSONEachRow`)
    const { workers } = this.#engine
    const text = await repeated(() => (isLong ? workers.use(read) : this.#control.lendWithin(read, this.#lookTime)))
    const lines = text.split('\n').filter((line) => line.length > 0)
    // The caller wrote the SELECT and names the shape of its rows.
    return lines.map((line) => JSON.parse(line) as Row)
  }

  get #lookTime(): TimeLimit {
    const reason = `it did not answer the service within ${lookTimeMaxMs / 1000} s`
    return { timeMaxMs: lookTimeMaxMs, lateError: () => this.#engine.lateError(silentError(reason)) }
  }

  newPartPath(): string {
    return this.#partFiles.newPath()
  }

  async discard(parts: readonly Part[]): Promise<void> {
    await this.#partFiles.remove(pathsOf(parts))
  }

  append(request: AppendRequest): Promise<void> {
    return this.#appends.append(request)
  }

  untilAppended(tables: readonly string[]): Promise<void> {
    return this.#appends.untilAppended(tables)
  }

  partitionsByRow(request: AppendRequest, tag?: string): Promise<readonly RowPartition[]> {
    return this.#appends.partitionsByRow(request, tag)
  }

  copy(request: CopyRequest): Promise<void> {
    return this.#copy(copyStatement(request, this.#options))
  }

  copyQuery(request: QueryCopyRequest): Promise<void> {
    return this.#copy(queryCopyStatement(request, this.#options))
  }

  async #copy(statement: string, lending?: Lending): Promise<void> {
    await this.#engine.copiers.use((session) => session.run(statement), lending)
  }

  async exchange(pairs: readonly TablePair[]): Promise<void> {
    // One statement exchanges one pair behind the other, so a query that begins in its middle would see a mixture.
    await this.#repairs.inTurn(() =>
      this.#readers.whilePaused(quietTimeMaxMs, () => this.command(exchangeStatement(pairs))),
    )
  }

  async select(query: SelectQuery): Promise<SelectStream> {
    this.#results.throwIfFull()
    this.#engine.throwIfRefusing()
    return await this.#engine.admit(query.shape ?? query.sql, (isAlone) => this.#selectAdmitted(query, isAlone))
  }

  async #selectAdmitted(query: SelectQuery, isAlone: boolean): Promise<SelectStream> {
    const { shape, hasLongConstants = false } = query
    if (shape !== undefined && !hasLongConstants && this.#largeShapes.get(shape) === undefined) {
      const small = await this.#selectInMemory(query, isAlone)
      if (small !== null) return small
      this.#largeShapes.set(shape, true, shape.length)
    }
    return await this.#selectThroughFile(query, isAlone)
  }

  async queryTree(sql: string, signal: AbortSignal): Promise<string> {
    this.#engine.throwIfRefusing()
    return await this.#queryTree(sql, { signal })
  }

  async #queryTree(sql: string, lending: Lending): Promise<string> {
    const statement = queryTreeStatement(sql)
    const read = async (session: EngineSession, isAlone: boolean): Promise<string> => {
      try {
        return await this.#engine.suspects.during(session, { name: statement, isAlone }, () => session.run(statement))
      } catch (thrown) {
        throw isSyntaxError(thrown) ? await plainSyntaxError(session, sql, thrown) : thrown
      }
    }
    // Planning is what the engine can stop least.
    return await this.#engine.admit(statement, (isAlone) => {
      const { signal, passesPause = isAlone } = lending
      const lent = { passesPause, ...(signal === undefined ? {} : { signal }) }
      return this.#readers.lendWithin((session) => read(session, isAlone), this.#selectTime, lent)
    })
  }

  async sync(): Promise<void> {
    if ((await this.#fileSystem.run()) === 'synced') return
    // sync(2) of the whole machine; it tells no errors, so it is only the second choice.
    await this.command('SYSTEM SYNC FILE CACHE')
  }

  close(timeMaxMs: number = this.#options.closeTimeMaxMs): Promise<void> {
    this.#closing ??= this.#close(timeMaxMs)
    return this.#closing
  }

  /** Null when the result is too large. */
  async #selectInMemory(query: SelectQuery, isAlone: boolean): Promise<SelectStream | null> {
    const running = { query, id: this.#nextSelectId(), path: null, isAlone }
    try {
      const bytes = await this.#readers.lendWithin((session) => this.#runSelect(session, running), this.#selectTime, {
        signal: query.signal,
        passesPause: isAlone,
      })
      const result = memoryResult(bytes, query.signal)
      if ('whole' in result) return result
      // A constant counts once to the engine, and the next one of this shape may be larger still.
      const { shape } = query
      if (bytes.byteLength > memoryResultBytesMax && shape !== undefined)
        this.#largeShapes.set(shape, true, shape.length)
      this.#results.hold(result, bytes.byteLength)
      return result
    } catch (thrown) {
      if (query.signal.aborted) throw abortedError()
      if (isTooLargeForMemory(thrown)) return null
      throw toStoreError(thrown)
    }
  }

  async #selectThroughFile(query: SelectQuery, isAlone: boolean): Promise<SelectStream> {
    const id = this.#nextSelectId()
    makeAgain(this.#directories.results)
    const path = join(this.#directories.results, id)
    const share = this.#results.files.open()
    const growth = new ResultGrowth(path, { bytesMax: this.#options.resultBytesMax, signal: query.signal, share })
    const remove = async (): Promise<void> => {
      growth.stop()
      await rm(path, { force: true })
      share.release()
    }
    let isRunning = false
    let isOver = false
    try {
      const limited = { ...query, signal: growth.signal }
      const work = async (session: EngineSession): Promise<void> => {
        isRunning = true
        growth.start()
        try {
          await this.#runSelect(session, { query: limited, id, path, isAlone })
        } finally {
          isRunning = false
          // One that was given up may make its file long after, which takes its place on disk until then.
          if (isOver) await remove()
        }
      }
      await this.#readers.lendWithin(work, this.#selectTime, { signal: query.signal, passesPause: isAlone })
      await growth.check()
      growth.stop()
      await checkComplete(path)
      const result = await openResult(path, query.signal)
      result.closed.finally(share.release).catch(() => undefined)
      this.#results.keep(result)
      return result
    } catch (thrown) {
      isOver = true
      if (!isRunning) await remove()
      if (query.signal.aborted) throw abortedError()
      throw growth.refusal ?? toStoreError(thrown)
    }
  }

  #nextSelectId(): string {
    this.#selectCount += 1
    return `select-${this.#selectCount}`
  }

  /** Gives the bytes of a result that does not go into a file. */
  async #runSelect(session: EngineSession, select: AdmittedSelect): Promise<Uint8Array> {
    const { query, id, isAlone } = select
    if (query.signal.aborted) throw abortedError()
    let endStop = (): void => undefined
    const stop = (): void => {
      endStop = this.#stops.begin(id)
    }
    query.signal.addEventListener('abort', stop, { once: true })
    try {
      const statement = selectStatement(select, this.#options)
      const running = { name: query.shape ?? query.sql, isAlone }
      return await this.#engine.suspects.during(session, running, () => session.runForBytes(statement))
    } catch (thrown) {
      throw isSyntaxError(thrown) ? await plainSyntaxError(session, query.sql, thrown) : thrown
    } finally {
      endStop()
      query.signal.removeEventListener('abort', stop)
    }
  }

  async #close(timeMaxMs: number): Promise<void> {
    await this.#engine.drain(timeMaxMs, this.#options.closeTimeMaxMs)
    await this.#results.close()
    await this.#engine.close()
    this.#fileSystem.close()
  }
}
