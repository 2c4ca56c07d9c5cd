import type { DataSource, DataSourceId } from '../catalog/data-source.types.ts'
import type { Pipe } from '../catalog/pipe.types.ts'
import type { EngineDefinition } from '../schema/engines/engine-definition.types.ts'
import type { RestartedEngine } from '../store/store.types.ts'
import type { TableStatistics } from '../store/tables.types.ts'
import type { QuarantineSummary, ReplayReport, ReplayRequest } from './quarantine/quarantine.types.ts'
import type {
  PlannedRowDelete,
  RowDeleteReport,
  RowDeleteRequest,
  RowDeleteRun,
} from './row-delete/row-delete.types.ts'

/** The life of a data source: catalog and tables change together, half-done work is mended at start. */
export interface DataSources {
  /** Creates the tables, then the catalog entry. Raises errors of the error table (400, 409). */
  create(request: CreateRequest): Promise<DataSource>
  /**
   * By name or id; undefined when events may create it. Raises DATASOURCE_NOT_FOUND (404) when they may not, which can be
   * said before they are read.
   */
  findForEvents(nameOrId: string): DataSource | undefined
  /**
   * By name or id; undefined when rows may create it, which a version of something there is may not. Raises
   * DATASOURCE_NOT_FOUND (404), PIPE_EXISTS (409).
   */
  findForRows(name: string): Promise<DataSource | undefined>
  /**
   * Creates a data source whose columns are inferred from its first events; callers that come meanwhile get the same one.
   * Raises DATASOURCE_NOT_FOUND (404) when events may create none, SCHEMA_UNKNOWN (400), CREATES_TOO_MANY (429), and what
   * `create` does.
   */
  createFromEvents(sample: EventsSample): Promise<DataSource>
  /** How many were so created, or begun, in the last minute. */
  createdByEvents(): number
  /** By name or id; raises DATASOURCE_NOT_FOUND (404). */
  get(nameOrId: string): DataSource
  /** The same for what is to go: a version that was never given to it is not enough. Raises DATASOURCE_NOT_FOUND (404). */
  getForDrop(nameOrId: string): DataSource
  find(nameOrId: string): DataSource | undefined
  list(): readonly DataSource[]
  /** Raises SCHEMA_INVALID (400) where `create` would. */
  checkSchema(schema: string): void
  /**
   * Refuses a definition that `create` would refuse without asking the engine, as things are now.
   *
   * Raises NAME_INVALID, SCHEMA_INVALID, ENGINE_INVALID, INDEX_INVALID (400), DATASOURCE_EXISTS, PIPE_EXISTS (409).
   */
  checkNew(definition: NewDefinition): void
  /**
   * Gives a data source another name or description; its id and its rows stay.
   *
   * Raises NAME_INVALID, CHANGE_EMPTY (400), DATASOURCE_NOT_FOUND (404), DATASOURCE_EXISTS, DATASOURCE_USED (409).
   */
  revise(nameOrId: string, revision: Revision): Promise<DataSource>
  /**
   * Changes the definition, or, `isDry`, says how it would be changed.
   *
   * Raises ALTER_REFUSED, CHANGE_EMPTY, SCHEMA_INVALID, ENGINE_INVALID, INDEX_INVALID (400), DATASOURCE_NOT_FOUND (404),
   * CHANGE_BLOCKED (503).
   */
  alter(nameOrId: string, request: AlterRequest): Promise<AlterOutcome>
  /**
   * Deletes all rows of a data source, or of a quarantine by the name of its data source with `_quarantine` behind.
   *
   * Raises DATASOURCE_NOT_FOUND (404), CHANGE_BLOCKED (503).
   */
  truncate(nameOrId: string): Promise<void>
  /**
   * Judges a delete of rows, and counts them if that is asked for. Nothing is deleted.
   *
   * Raises DELETE_CONDITION_INVALID, DELETE_UNSUPPORTED (400), DATASOURCE_NOT_FOUND (404), QUERY_TIMEOUT (408).
   */
  planRowDelete(nameOrId: string, request: RowDeleteRequest, signal: AbortSignal): Promise<PlannedRowDelete>
  /**
   * Carries out a delete, once however often it is run with the same id: of all rows that were acknowledged before the engine
   * has noted it, and of none that come later.
   *
   * Raises DELETE_CONDITION_INVALID (400), DATASOURCE_NOT_FOUND (404), DELETE_FAILED (422), CHANGE_BLOCKED (503), and the
   * reason of its signal.
   */
  deleteRows(run: RowDeleteRun): Promise<RowDeleteReport>
  /**
   * Removes the entry, then the tables. Views that read from them or write into them refuse it with DATASOURCE_USED (409),
   * or go too when it is forced.
   */
  drop(nameOrId: string, options?: { readonly isForced: boolean }): Promise<void>
  /** A data source as `create` would make it, which is not made. @throws SCHEMA_INVALID, ENGINE_INVALID (400) */
  define(request: CreateRequest): DataSource
  /**
   * Makes a data source that nobody finds until `change` has it shown by writing a pipe with a view that fills it; it is gone if that
   * fails. Who wants to create one of the name waits meanwhile. @throws what `create` and `change` do.
   */
  whileMaking<Result>(
    request: CreateRequest & { readonly id: DataSourceId },
    change: () => Promise<Result>,
  ): Promise<Result>
  /**
   * Makes one without rows anew under its id: it is shown so when `change` writes a pipe with a view that fills it, and is as it was if
   * that fails. Rows that are stored, set aside or acknowledged and on their way refuse it, with what `refusal` gives for their number.
   * Events are refused meanwhile, and imports of rows that were read for the old columns from then on.
   *
   * @throws SCHEMA_INVALID, ENGINE_INVALID (400), DATASOURCE_BUSY (409), CHANGE_BLOCKED (503), and what `change` does.
   */
  whileRemaking<Result>(request: RemakeRequest, change: () => Promise<Result>): Promise<Result>
  /** What stands in a quarantine, in groups. Raises DATASOURCE_NOT_FOUND (404), QUERY_TIMEOUT (408). */
  summarizeQuarantine(nameOrId: string, signal: AbortSignal): Promise<QuarantineSummary>
  /**
   * Stores rows of a quarantine that fit now, each exactly once, and takes those out of the quarantine.
   *
   * Raises REPLAY_INVALID, SQL_INVALID (400), DATASOURCE_NOT_FOUND (404), QUERY_TIMEOUT (408), REPLAY_INTERRUPTED (503).
   */
  replayQuarantine(nameOrId: string, request: ReplayRequest, signal: AbortSignal): Promise<ReplayReport>
  /**
   * Ends a replay that was interrupted, if there is one: its rows belong to the content of now.
   *
   * Raises DATASOURCE_NOT_FOUND (404), REPLAY_INTERRUPTED (503).
   */
  endReplay(nameOrId: string): Promise<void>
  /** Goes on with replays that an earlier process left, in the background. Events must be on their way already. */
  resume(): void
  /** Takes back what an engine that ended by itself left half done. Precondition: nobody reads or inserts. Raises `StoreError`. */
  mendAfterRestart(engine: RestartedEngine): Promise<void>
  /** Interrupted replays go on at the next start. Precondition: nobody changes anything any more. */
  close(): Promise<void>
  /**
   * The name of a data source with the engine Join that views fill out of this one, at any depth; null when there is none.
   * A promise only after definitions have changed. Raises ENGINE_FAILED (500).
   */
  joinBehind(id: DataSourceId): string | null | Promise<string | null>
  /** Names of the views that a forced drop would take along. */
  dependents(nameOrId: string): Promise<readonly string[]>
  /** The pipes that use a data source. */
  usedBy(id: DataSourceId): readonly PipeReference[]
  /** The others, which use it in some branch of a template. */
  possiblyUsedBy(id: DataSourceId): readonly PipeReference[]
  /** Rows and bytes of the landing table and the quarantine, by data source id. */
  statistics(): Promise<ReadonlyMap<string, DataSourceStatistics>>
  /** The same for one data source, which costs the same however many there are. */
  statisticsOf(id: DataSourceId): Promise<DataSourceStatistics>
}

export interface PipeReference {
  readonly id: string
  readonly name: string
}

export interface DataSourceRename {
  readonly id: DataSourceId
  readonly oldName: string
  readonly newName: string
  /** Whether pipes whose SQL goes by the name get the new one; else they refuse the rename. */
  readonly isForced: boolean
  /** Whether pipes that name what is to be its name may read its rows then; else they refuse the rename. */
  readonly mayPassOn: () => boolean
}

export type WriteRename<Result> = (pipes: readonly Pipe[], guard: () => void) => Promise<Result>

/** The pipes that use data sources. */
export interface PipeUsers {
  using(id: DataSourceId): readonly PipeReference[]
  /** The others, which use it in some branch of a template. */
  possiblyUsing(id: DataSourceId): readonly PipeReference[]
  /** Makes ready what `possiblyUsing` looks at, and gives others their turn: it needs no more than a moment then. */
  readNames(): Promise<void>
  /**
   * Makes a change that a rename may be part of, again where what it was planned by has changed. To be called before the turn of the
   * data source: changes of pipes wait for that turn, and this may wait for them.
   *
   * @throws CHANGES_TOO_MANY (503), and what `change` throws.
   */
  repeated<Result>(change: () => Promise<Result>): Promise<Result>
  /**
   * Has a rename written with the pipes that read the data source as they are to be, and with a guard for that moment. Precondition: it is
   * part of a change that `repeated` makes.
   *
   * @throws DATASOURCE_USED (409), and what `write` throws.
   */
  rename<Result>(rename: DataSourceRename, write: WriteRename<Result>): Promise<Result>
  /**
   * Refuses a name that pipes read something else under, as it has a version behind it. `id` is of who is to have it, null for
   * something new. Raises DATASOURCE_USED, PIPE_USED (409).
   */
  checkTaken(name: string, id: DataSourceId | null): void
  /** Refuses that a data source goes whose readers would read something else then. Raises DATASOURCE_USED (409). */
  checkFreed(dataSource: Pick<DataSource, 'id' | 'name'>): void
  /**
   * Refuses a version under which pipes would not find what they read, or would find what whoever asks may not have them read. Raises
   * READ_DENIED (403), DATASOURCE_USED (409).
   */
  checkVersion(dataSource: Pick<DataSource, 'id' | 'name'>, version: number, mayPassOn: boolean): void
}

/** What is absent stays. */
export interface Revision {
  readonly name: string | undefined
  readonly description: string | undefined
  /** Whether pipes whose SQL goes by the name get the new one. */
  readonly isForced?: boolean
  /** Whether whoever asks reads all of its rows, and so may have pipes read it under the new name. Absent is true. */
  readonly mayPassOn?: boolean
  /** The version under which it is read from now on. */
  readonly version?: number | undefined
}

/** What is undefined stays. */
export interface AlterRequest {
  /** The whole schema: the columns that there are, and new ones behind them. */
  readonly schema: string | undefined
  readonly description: string | undefined
  readonly kafkaStoreRawValue: boolean | undefined
  /** An expression; null removes it. */
  readonly ttl: string | null | undefined
  /** All indexes; null removes them. */
  readonly indexes: string | null | undefined
  readonly isDry: boolean
}

export interface AlterOutcome {
  /** In ClickHouse's words: `` ADD COLUMN `age` UInt16 ``. */
  readonly operations: readonly string[]
}

export interface EventsSample {
  readonly name: string
  /** The whole body, unpacked. */
  readonly body: Uint8Array
  readonly framing: 'document' | 'lines'
}

export interface DataSourceStatistics {
  readonly landing: TableStatistics
  readonly quarantine: TableStatistics
}

/** What is known of a data source before its rows are read: its schema may be guessed out of them. */
export interface NewDefinition extends Pick<CreateRequest, 'engine' | 'indexes' | 'name'> {
  readonly schema: string | undefined
}

export interface CreateRequest {
  /** Undefined asks for a name made by the service. */
  readonly name: string | undefined
  readonly description: string
  /** The schema string as the client sent it. */
  readonly schema: string
  /** Null takes MergeTree with the default sorting key. */
  readonly engine: EngineDefinition | null
  /** Data skipping indexes as a datafile writes them; absent for none. */
  readonly indexes?: string | undefined
  /** The version under which it is read; absent for any. */
  readonly version?: number | undefined
  /** True where nobody asked for it but rows came for it: then its name must not be a version of another one. */
  readonly isImplicit?: boolean
  readonly type: 'csv' | 'ndjson'
  /** The id that it is to have, made by `createDataSourceId`, for whoever must know it before it is there; absent for any. */
  readonly id?: DataSourceId | undefined
}

/** Its id, its description and its version are kept. */
export interface RemakeRequest extends CreateRequest {
  readonly id: DataSourceId
  readonly name: string
  readonly refusal: (rowCount: number) => Error
}
