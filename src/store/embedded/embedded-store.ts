// The store over the ClickHouse that comes with the package `chdb`, in a process of its own.
//
// What holds here:
// - One process has one data directory. The engine locks it (`clickhouse/status`) before anything in it is touched; the
//   system drops the lock with the process, so a killed one leaves no stale lock behind.
// - Every statement runs on a session of its own, lent by a pool.
// - When the engine ends by itself it is started again (`engine-supervisor.ts`). Until what it left is mended, INSERTs and
//   readers wait; INSERTs that ran are repeated under their tokens, which stores them once, and all other statements are
//   refused with a `StoreError` of kind `stopped`.
// - What else holds is told where it is done: users' queries (`selects.ts`), statements of the service (`own-statements.ts`),
//   INSERTs (`appends.ts`), copies (`table-copies.ts`), reads of callers' files (`file-reads.ts`).

import { mkdir, rm } from 'node:fs/promises'
import type { Part, PartFile } from '../../codec/arrow/part.types.ts'
import type { PartExpression } from '../../codec/arrow/part-expression.ts'
import type { EngineCounts, EngineState } from '../../metrics/service-state.types.ts'
import type { Logger } from '../../observe/logger.ts'
import type { CheckedQuery } from '../../schema/expressions/checked-text.types.ts'
import { AppendGate } from '../append-gate.ts'
import { ComparisonStatements } from '../sql/comparison-statements.ts'
import { engineCounts } from '../sql/engine-counts.ts'
import { fillAppend } from '../sql/fill-append.ts'
import { PartStatements } from '../sql/part-statements.ts'
import { PartitionStatements } from '../sql/partition-statements.ts'
import { PinStatements } from '../sql/pin-statements.ts'
import { QuarantineStatements } from '../sql/quarantine-statements.ts'
import { ReplayStatements } from '../sql/replay-statements.ts'
import { RowDeleteStatements } from '../sql/row-delete-statements.ts'
import { ServiceTableStatements } from '../sql/service-table-statements.ts'
import { TableStatements } from '../sql/table-statements.ts'
import { TrialStatements } from '../sql/trial-statements.ts'
import { ViewStatements } from '../sql/view-statements.ts'
import type { CommandNature, RowsNature, Statements } from '../statements.types.ts'
import type {
  AppendKeeper,
  AppendRequest,
  CopyRequest,
  FillRequest,
  QueryCopyRequest,
  ReadersUse,
  RestartedEngine,
  RowPartition,
  SelectQuery,
  SelectStream,
  SupervisedStore,
  TablePair,
  TableRows,
} from '../store.types.ts'
import { Appends, pathsOf, slowInsertsMax } from './appends.ts'
import { FileSystemSync } from './data-sync.ts'
import { DefinitionFiles } from './definition-files.ts'
import type { EmbeddedStoreOptions } from './embedded-store.types.ts'
import { writeEngineConfig } from './engine-config.ts'
import { EngineDoors } from './engine-doors.ts'
import { ExchangedReads } from './exchanged-reads.ts'
import { FileReads } from './file-reads.ts'
import { FileSelects } from './file-selects.ts'
import { OpenResults } from './open-results.ts'
import { OrphanRepairs } from './orphan-repairs.ts'
import { OwnStatements } from './own-statements.ts'
import { ParquetReads } from './parquet-reads.ts'
import { PartFiles } from './part-files.ts'
import { processorMs } from './processor-ms.ts'
import { ReaderStatements } from './reader-statements.ts'
import { ReaderWork } from './reader-work.ts'
import { residentBytes } from './resident-bytes.ts'
import { Selects } from './selects.ts'
import { StatementStops } from './statement-stops.ts'
import { type StoreDirectories, storeDirectories } from './store-directories.ts'
import { TableCopies } from './table-copies.ts'
import { writeRows } from './written-rows.ts'

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

/** A query that waited for this many times the longest one may take is refused: something holds all sessions. */
const waitingTimes = 3
/** Restarts within ten minutes; a statement that the engine ends by costs three. */
const engineRestartsMax = 10

interface EngineDirectories extends StoreDirectories {
  readonly configPath: string
}

class EmbeddedStore implements SupervisedStore, Statements {
  readonly tables = new TableStatements(this)
  readonly partitions = new PartitionStatements(this)
  readonly parts = new PartStatements(this)
  readonly pins = new PinStatements(this)
  readonly comparisons: ComparisonStatements
  readonly views = new ViewStatements(this)
  readonly trials = new TrialStatements(this, this)
  readonly quarantines = new QuarantineStatements(this, this)
  readonly replays: ReplayStatements
  readonly rowDeletes: RowDeleteStatements
  readonly serviceTables = new ServiceTableStatements({
    statements: this,
    insert: (sql) => this.#engine.insertBeside(sql),
  })
  readonly parquet: ParquetReads
  readonly gate = new AppendGate()
  readonly #options: EmbeddedStoreOptions
  readonly #directories: StoreDirectories
  readonly #fileSystem: FileSystemSync
  readonly #partFiles: PartFiles
  readonly #engine: EngineDoors
  readonly #repairs: OrphanRepairs
  readonly #definitions: DefinitionFiles
  readonly #statements: OwnStatements
  readonly #appends: Appends
  readonly #copies: TableCopies
  readonly #exchangedReads = new ExchangedReads(() => performance.now())
  readonly #readerWork = new ReaderWork(() => performance.now())
  readonly #results: OpenResults
  readonly #selects: Selects
  readonly #mending: ((engine: RestartedEngine) => Promise<void>)[] = []
  #closing: Promise<void> | undefined

  constructor(options: EmbeddedStoreOptions, directories: EngineDirectories, logger: Logger) {
    this.#options = options
    this.replays = new ReplayStatements(options, { statements: this, reads: this, tables: this.tables })
    this.rowDeletes = new RowDeleteStatements(options, { statements: this, reads: this })
    this.comparisons = new ComparisonStatements(options, this)
    this.#directories = directories
    this.#fileSystem = new FileSystemSync(directories.engine)
    this.#fileSystem.open()
    this.#partFiles = new PartFiles(directories.parts, logger)
    this.#results = new OpenResults(options, logger)
    const waitTimeMaxMs = waitingTimes * options.queryTimeMaxMs
    const { engine: directory, configPath } = directories
    const restartsMax = options.engineRestartsMax ?? engineRestartsMax
    const definitions = new DefinitionFiles(directories, logger)
    this.#definitions = definitions
    const beforeStart = () => definitions.mend()
    const doors = { ...options, slowInsertsMax, directory, configPath, waitTimeMaxMs, restartsMax, beforeStart }
    this.#engine = new EngineDoors(doors, logger, () => this.#mend())
    const { writers, readers, stoppers } = this.#engine
    this.#statements = new OwnStatements(options, { engine: this.#engine, definitions, logger })
    this.#selects = this.#createSelects(new StatementStops(stoppers, logger))
    this.#repairs = new OrphanRepairs(this, { writers, readers, logger, insertTimeMaxMs: options.insertTimeMaxMs })
    const { gate } = this
    const appendsDeps = { engine: this.#engine, gate, partFiles: this.#partFiles, repairs: this.#repairs }
    this.#appends = new Appends(options, appendsDeps)
    const copiesDeps = { engine: this.#engine, statements: this, repairs: this.#repairs, reads: this.#exchangedReads }
    this.#copies = new TableCopies(options, copiesDeps)
    const { insertTimeMaxMs: timeMaxMs, insertMemoryBytesMax: memoryBytesMax } = options
    this.parquet = new ParquetReads(new FileReads({ timeMaxMs, memoryBytesMax }, this.#engine))
  }

  #createSelects(stops: StatementStops): Selects {
    const results = this.#results
    const statements = new ReaderStatements(this.#options, {
      engine: this.#engine,
      stops,
      reads: this.#exchangedReads,
      work: this.#readerWork,
    })
    const files = new FileSelects({ ...this.#options, directory: this.#directories.results }, { statements, results })
    return new Selects({ engine: this.#engine, statements, files, results })
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
    this.#statements.onRestart()
    await this.#repairs.dropAll()
    const engine: RestartedEngine = {
      copy: (request) => this.#copies.copyWhilePaused(request),
      exchange: (pairs) => this.exchange(pairs),
      tables: this.tables,
      views: this.views,
      sync: () => this.sync(),
      queryTree: (sql, signal) => this.#selects.whilePaused.queryTree(sql, signal),
      select: (query) => this.#selects.whilePaused.select(query),
    }
    for (const mend of this.#mending) await mend(engine)
  }

  get unreadyReason(): string | null {
    return this.#engine.unreadyReason ?? this.#appends.unreadyReason ?? this.#engine.lateReads.unreadyReason
  }

  get failed(): Promise<Error> {
    return this.#engine.failed
  }

  engineState(): EngineState {
    const { pid, endCount: restartCount, sessionStates: sessions } = this.#engine
    return {
      isReady: this.unreadyReason === null,
      restartCount,
      residentBytes: pid === undefined ? null : residentBytes(pid),
      memoryBytesMax: this.#options.memoryBytesMax,
      sessions,
    }
  }

  readersUse(): ReadersUse {
    const { pid } = this.#engine
    const usedMs = pid === undefined ? null : processorMs(pid)
    const engine = pid === undefined || usedMs === null ? null : { pid, processorMs: usedMs }
    return { threadMs: this.#readerWork.threadMs, engine }
  }

  engineCounts(): Promise<EngineCounts | null> {
    return engineCounts(this)
  }

  onRestart(mend: (engine: RestartedEngine) => Promise<void>): void {
    this.#mending.push(mend)
  }

  get definitionVersion(): number {
    return this.#statements.definitionVersion
  }

  command(sql: string, nature?: CommandNature): Promise<void> {
    return this.#statements.command(sql, nature)
  }

  rows<Row>(sql: string, nature?: RowsNature): Promise<readonly Row[]> {
    return this.#statements.rows<Row>(sql, nature)
  }

  newPartPath(): string {
    return this.#partFiles.newPath()
  }

  async discard(parts: readonly Part[]): Promise<void> {
    await this.#partFiles.remove(pathsOf(parts))
  }

  keepBy(keeper: AppendKeeper): void {
    this.#appends.keepBy(keeper)
  }

  append(request: AppendRequest): Promise<void> {
    return this.#appends.append(request)
  }

  fill(request: FillRequest): Promise<void> {
    return this.#appends.append(fillAppend(request))
  }

  untilAppended(tables: readonly string[]): Promise<void> {
    return this.#appends.untilAppended(tables)
  }

  partitionsByRow(request: AppendRequest, tag?: PartExpression): Promise<readonly RowPartition[]> {
    return this.#appends.partitionsByRow(request, tag)
  }

  writeRows(rows: TableRows): Promise<PartFile> {
    const { insertTimeMaxMs: timeMaxMs, insertMemoryBytesMax: memoryBytesMax } = this.#options
    const limits = { timeMaxMs, memoryBytesMax }
    return writeRows(rows, { engine: this.#engine, partFiles: this.#partFiles, limits })
  }

  copy(request: CopyRequest): Promise<void> {
    return this.#copies.copy(request)
  }

  copyQuery(request: QueryCopyRequest): Promise<void> {
    return this.#copies.copyQuery(request)
  }

  exchange(pairs: readonly TablePair[]): Promise<void> {
    return this.#copies.exchange(pairs)
  }

  select(query: SelectQuery): Promise<SelectStream> {
    return this.#selects.select(query)
  }

  queryTree(sql: CheckedQuery, signal: AbortSignal, owner?: string): Promise<string> {
    return this.#selects.queryTree(sql, signal, owner)
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

  async #close(timeMaxMs: number): Promise<void> {
    await this.#engine.drain(timeMaxMs, this.#options.closeTimeMaxMs)
    await this.#results.close()
    await this.#engine.close()
    await this.#definitions.close()
    this.#fileSystem.close()
  }
}
