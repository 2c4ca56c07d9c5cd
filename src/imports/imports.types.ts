import type { DataSource, DataSourceId } from '../catalog/data-source.types.ts'
import type { BodyGuess } from '../guess/body-guess.ts'
import type {
  BlockReport,
  BlockStatus,
  CsvRules,
  ImportFormat,
  ImportOutcome,
  ImportWatcher,
} from '../ingest/ingest.types.ts'
import type { ImportLedger } from '../ingest/insert/import-ledger.ts'
import type { LogFields } from '../observe/logger.ts'
import type { EngineDefinition } from '../schema/engines/engine-definition.types.ts'
import type { ApiError } from '../shared/errors/errors.ts'
import type { SourceBody } from './source-body.ts'

/** Rows on their way in: from a stream of bytes and an order to an outcome, whoever brings them. */
export interface Imports {
  /**
   * Takes one of the places for imports, before anything of its rows is held; gives what gives the place back.
   *
   * `stop` is called with the reason when the import is to end where it is.
   * @param sender what imports of one client have in common: it cannot take all places.
   * @throws BODIES_TOO_MANY (503) when there is no place, SHUTTING_DOWN (503).
   */
  enter(stop: (reason: ApiError) => void, sender: string): () => void
  /**
   * Finds or creates the data source of an import, and reads as much of its rows as that needs. What is opened is closed.
   *
   * @throws BODY_MISSING, SCHEMA_MISSING, FORMAT_UNSUPPORTED, FILE_UNSUPPORTED, JSON_DOCUMENT, SAMPLE_EMPTY, BODY_CORRUPT,
   *   APPEND_UNSUPPORTED (400), CREATION_REFUSED (403), DATASOURCE_NOT_FOUND (404), DATASOURCE_EXISTS (409), and what
   *   `DataSources.create`, `Ingest.openBody` and `Ingest.openParquet` do; nothing is created or changed then.
   */
  open(request: ImportRequest): Promise<OpenImport>
  /**
   * When the last import into a data source ended that brought rows, however it ended: epoch milliseconds; null for none since the start of
   * the service.
   */
  lastEndedAtMs(dataSourceId: DataSourceId): number | null
  /**
   * What would be created for rows, without creating or storing anything. Mostly their beginning alone is read; whoever
   * brought them closes them.
   *
   * @throws SAMPLE_EMPTY, BODY_CORRUPT, FORMAT_UNSUPPORTED, FILE_UNSUPPORTED, JSON_DOCUMENT (400), SCHEMA_INVALID (400) where the
   *   creation would be refused, and what `Ingest.openBody` and `Ingest.openParquet` do.
   */
  analyze(request: AnalysisRequest): Promise<Analysis>
  /**
   * What of an order can be refused before any of its rows is there. Gives the data source that it is for; null for one that it
   * creates.
   *
   * @throws as `open` does of the data source's name, state and schema.
   */
  check(order: ImportOrder): Promise<DataSource | null>
  /** Ends all imports that have a place, each with what it has stored; there are no new ones from then on. */
  close(): void
}

/** Rows as they come, and what their sender says of them. */
export interface ImportSource {
  readonly body: SourceBody
  /** `gzip`, `zstd`, or undefined where only the bytes say how they are packed. */
  readonly contentEncoding: string | undefined
  /** By the file's name, or the media type; for when no order says it. */
  readonly format: ImportFormat | null
  /** Whether they are a file: then their bytes may tell the format too. */
  readonly isFile: boolean
  /** By the name of a form's field, which is not to be trusted: one client calls every field `csv`. */
  readonly fieldFormat: ImportFormat | null
  /** Reads what stands behind the rows, once they are read; rejects with what is wrong with it. */
  end(): Promise<void>
}

/** What an import is to do, checked. */
export interface ImportOrder {
  readonly mode: 'create' | 'append' | 'replace'
  /** Undefined only in mode create: the service makes one. */
  readonly name: string | undefined
  /** Rows that a replace is about; null is all of them. Always null in the other modes. */
  readonly replaceCondition: string | null
  readonly schema: string | undefined
  readonly engine: EngineDefinition | null
  /** Data skipping indexes as they were sent. */
  readonly indexes: string | undefined
  readonly description: string
  /** The version under which a new data source is read; undefined for none. */
  readonly version: number | undefined
  /** Null where nobody says it: the rows may. */
  readonly format: ImportFormat | null
  readonly csv: CsvRules
  /** False makes all columns that are guessed String. */
  readonly hasTypes: boolean
}

export interface ImportRequest {
  readonly order: ImportOrder
  /** Null where the order itself says what to create. */
  readonly source: ImportSource | null
  /** Gives what follows behind `source` as rows of the same import, one after the other, and null at the end; absent for nothing. */
  readonly nextSource?: () => Promise<ImportSource | null>
  /** What says how these are written; absent is `order`, which may say it of an interrupted source alone. */
  readonly nextOrder?: ImportOrder
  /** Set for an import that outlives the process. */
  readonly kept?: KeptImport
  /** Ends the import where it is, with its reason, an error of the table: what is stored stays. */
  readonly signal: AbortSignal
  /** Aborted when nobody waits for the outcome any more: ends, with its reason, what may take long for the bytes that came. */
  readonly abandoned?: AbortSignal
  readonly caller: ImportCaller
  /** Whether somebody wants to hear of blocks, and of what was in them. */
  readonly watched: 'nothing' | 'statuses' | 'reports'
}

/** An import that outlives the process: whoever keeps it knows its names before anything is done, and what is stored. */
export interface KeptImport {
  readonly importId: string
  /** The id of the data source, if one is created. */
  readonly newId: DataSourceId
  readonly watcher: ImportWatcher | undefined
  /**
   * Told how the rows of a source are written, and of which data source, before they are loaded; gives the ledger of what is
   * stored of them, or null when they are to be loaded from their beginning, as those of a replace.
   */
  onLoading(rows: KeptRows): Promise<ImportLedger | null>
}

export interface KeptRows {
  readonly dataSource: DataSource
  /** As they were sent and guessed; the same rows are read in the same way by it. */
  readonly csv: CsvRules
  readonly format: ImportFormat
}

/** Whoever asked for an import, and has been judged for what its order says. */
export interface ImportCaller {
  /** What the log's entries tell of him. */
  readonly logFields: LogFields
  /** Called with the data source that gets the rows, as soon as it is found; throws when the caller may not send it any. */
  requireTarget(id: DataSourceId): void
  /** Called before anything is read where an append lacks its data source; throws when the caller may not create it. */
  requireCreation(): void
}

/** An import whose data source stands. */
export interface OpenImport {
  readonly importId: string
  readonly dataSource: DataSource
  /** Whether the data source was created for this import. */
  readonly isCreated: boolean
  /** What its name was read as before it was created: a version of something else; undefined for nothing. */
  readonly shadowed: DataSource | undefined
  readonly progress: Progress
  /**
   * Loads the rows, once. What was refused as a whole leaves nothing behind: a data source that was created for it goes too.
   *
   * @throws what `Ingest.importBody`, `Ingest.importParquet` and `Replaces.replace` do.
   */
  load(): Promise<ImportResult>
  /** Gives back what the import holds, loaded or not, and closes the body. */
  close(): Promise<void>
}

export interface ImportResult {
  /** Null when there were no rows to load. */
  readonly outcome: ImportOutcome | null
  /** Sentences about the import; those about its rows stand in the outcome. */
  readonly warnings: readonly string[]
}

/** What became of the blocks of an import so far. */
export interface Progress {
  readonly statuses: readonly BlockStatusEntry[]
  /** Of the blocks that were parsed, in the order of the body. */
  readonly reports: readonly BlockReportEntry[]
  /** Has `onStatus` told of each status from now on. */
  listen(onStatus: (entry: BlockStatusEntry) => void): void
}

export interface BlockStatusEntry {
  readonly blockId: string
  readonly status: BlockStatus
  /** Epoch milliseconds. */
  readonly atMs: number
}

export interface BlockReportEntry {
  readonly blockId: string
  readonly report: BlockReport
}

export interface AnalysisRequest extends Pick<ImportOrder, 'csv' | 'format' | 'hasTypes' | 'schema'> {
  readonly source: ImportSource
  /** What rows are of which nothing tells the format: what they look like, or what an import would take them for. */
  readonly unknownFormat: 'guessed' | 'as imported'
  readonly signal: AbortSignal
}

export interface Analysis {
  readonly guess: BodyGuess
  readonly dialect: { readonly newLine: string; readonly encoding: string }
  /** Bytes that were looked at. */
  readonly byteCount: number
}
