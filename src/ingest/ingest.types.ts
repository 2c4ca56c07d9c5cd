import type { DataSource, DataSourceId } from '../catalog/data-source.types.ts'
import type { CsvHeader } from '../codec/csv/csv-header.ts'
import type { NewLine } from '../guess/csv-sample.ts'
import type { SampleBytes } from '../guess/sample.types.ts'
import type { TextEncoding } from '../guess/text-encoding.ts'
import type { LogState, WaitingEvents } from '../metrics/service-state.types.ts'
import type { ApiError } from '../shared/errors/errors.ts'
import type { ValueRules } from '../shared/value-rules.ts'
import type { EntryEncoding } from '../wal/wal.types.ts'
import type { EventsFreshness, EventsStatus } from './events/events.types.ts'
import type { ImportTables } from './ingest-plan.ts'
import type { ImportLedger } from './insert/import-ledger.ts'
import type { LedgerSideName, TableMark } from './insert/import-ledger.types.ts'
import type { KeptParts } from './insert/kept-parts.ts'
import type { LikenessKind, TextLikeness } from './insert/text-likeness.types.ts'
import type { ParquetFile, ParquetSource } from './parquet/parquet-file.ts'

/** What is read as text, record by record. */
export type BodyFormat = 'csv' | 'ndjson'

export type ImportFormat = BodyFormat | 'parquet'

/** Bytes as they were sent. */
export interface SentBody extends AsyncIterable<Uint8Array> {
  /** Gives up what was read and is read, and gives the bytes from `offset` on; absent or null where they are sent once. */
  readonly readFrom?: ((offset: number) => AsyncIterable<Uint8Array>) | null
}

/** A body that is to be looked at before it is imported. */
export interface BodySource {
  /** Bytes as they came; `contentEncoding` says how they are packed. */
  readonly body: SentBody
  readonly contentEncoding: string | undefined
  /** Undefined when it is not known yet. */
  readonly format: BodyFormat | undefined
  /** False looks no further than a mark of UTF-16. */
  readonly isSampled: boolean
  /** How the lines of CSV end; undefined is guessed. */
  readonly newLine: NewLine | undefined
  /** Ends the reading with its reason: a small packed body may unpack for hours. */
  readonly signal?: AbortSignal | undefined
  /** Set where columns are to be guessed: the sample is then spread over as much of the body as can be held. */
  readonly spread?: CsvRules
}

/** A body that is unpacked and in UTF-8, and whose beginning is known. */
export interface OpenedBody {
  /**
   * The first `sampleBytesMax` bytes; with `spread` up to twice as many, of several places. Gone as soon as `chunks` is
   * read.
   */
  readonly sample: SampleBytes
  /** What the body is written in, as far as its beginning tells. */
  readonly encoding: TextEncoding
  /** How its lines end. */
  readonly newLine: NewLine
  /** What the body failed with so early; reading `chunks` raises it too. */
  readonly failure: Error | null
  readonly likeness: TextLikeness
  /**
   * The text of the bytes behind a place, in the place of `chunks`, when an earlier reading has told what was known of the likeness
   * there. Null where it cannot be told without the bytes before.
   */
  textBehind(known: LikenessKind): ((bytes: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>) | null
  /** The whole body, the sample included, once. */
  readonly chunks: AsyncIterable<Uint8Array>
  /** Gives back what is held, where `chunks` will not be read to its end; may be called more than once. */
  close(): void
}

/**
 * Blocks of events that are stored and stay in the log, for a *keeper*: a view that is behind, by its id. A place is one in the log.
 */
export interface KeptEventsOfViews {
  /**
   * Keeps all blocks of a data source from the first one on that is not stored; gives its place. Precondition: no block is being
   * stored.
   */
  keep(keeper: string, dataSourceId: string): Promise<number>
  /** The same from a place on from which another keeper has kept them until now. */
  keepFrom(keeper: string, dataSourceId: string, place: number): void
  /** All that is stored of a data source lies before this place. */
  placeNow(dataSourceId: string): number
  /** Resolves when no block waits for a view that does not take it: that is set aside by then, or is about to be after some time. */
  untilPassed(dataSourceId: string): Promise<void>
  /** Where the first block that is kept for the keeper from a place on begins; null when there is none. */
  nextPlace(keeper: string, from: number): number | null
  /** The keeper needs nothing before the place any more. */
  moveTo(keeper: string, place: number): void
  letGo(keeper: string): void
  countsOf(keeper: string): { readonly blockCount: number; readonly byteCount: number }
  /** Whether something of what was kept is lost. */
  hasGaps(keeper: string): boolean
  /** Of all that is kept, in the log. */
  readonly size: { readonly bytes: number; readonly bytesMax: number }
  /**
   * Inserts the rows of the first kept block from a place on into a table with the columns of the data source, under the tokens that
   * they were stored under; gives the place behind it, or null when there is none. Raises `StoreError`, or why the log could not be
   * read.
   */
  repeatFrom(place: number, into: RepeatedInto): Promise<number | null>
}

export interface RepeatedInto {
  readonly keeper: string
  readonly dataSource: DataSource
  readonly table: string
}

/** One way in: every row that a client sends passes here, and is counted once. */
export interface Ingest {
  /**
   * Unpacks a body and looks at its beginning, so that a data source can be made for it; `importBody` takes it from there.
   *
   * @throws ENCODING_UNSUPPORTED (415); what the body itself fails with is kept in `failure`.
   */
  openBody(source: BodySource): Promise<OpenedBody>
  /**
   * Streams a body of any length into a data source; resolves when the engine has the last row.
   *
   * A body that fails in the middle resolves too, with `failure` set: whole parts stay, and the counts say how many rows.
   *
   * @throws CSV_HEADER_UNCLEAR (400) before anything is stored.
   */
  importBody(request: ImportRequest): Promise<ImportOutcome>
  /**
   * Takes a whole Parquet file and reads its metadata; `importParquet` takes it from there. Whoever opens it closes it.
   *
   * @throws BODY_CORRUPT (400), PARQUET_TOO_LARGE, DECOMPRESSED_TOO_LARGE (413), BODIES_TOO_MANY (503), and what the body
   *   fails with.
   */
  openParquet(source: ParquetSource): Promise<ParquetFile>
  /**
   * Loads a Parquet file into a data source, as `importBody` does a body.
   *
   * @throws COLUMNS_MISSING (400) before anything is stored.
   */
  importParquet(request: ParquetImportRequest): Promise<ImportOutcome>
  /**
   * Takes a body of events as a whole or not at all: it is on disk when this resolves, and stored exactly once whatever
   * happens to the process.
   */
  appendEvents(request: EventsRequest): Promise<EventsOutcome>
  /**
   * Stores rows that were set aside and fit now, and notes those that still do not in a table, all of it exactly once
   * however often it is repeated with the same block id. The data source must be of an engine that knows blocks again.
   * A view that does not take the rows is passed over.
   *
   * @throws StoreError; SHUTTING_DOWN (503).
   */
  replayRows(request: ReplayRowsRequest): Promise<ReplayRowsOutcome>
  /** What waits for a data source, and why; null when nothing ever did. */
  eventsStatus(dataSourceId: DataSourceId): EventsStatus | null
  /** Of all data sources that have events that are not stored. */
  waitingEvents(): readonly WaitingEvents[]
  logState(): LogState
  /** How far the events of a data source have come; null when none came since the start, and none were left. */
  eventsFreshness(dataSourceId: DataSourceId): EventsFreshness | null
  /** The place in the log of the newest event of all data sources; 0 when there never was one. */
  readonly logPlace: number
  /** Whether damage took what was acknowledged at a place of the log, before it was stored. */
  isLost(place: number): boolean
  /** Whether queries see all events of a data source that were acknowledged up to a place of the log, or it is gone. */
  isQueryable(events: Pick<PlaceWait, 'dataSourceId' | 'place'>): boolean
  /**
   * Resolves with true when queries see all events of a data source that were acknowledged up to a place of the log, or it is gone;
   * with false when the time is over first, when `signal` is aborted, and when the service closes. Hurries nothing. Precondition: a place
   * that is not 0.
   */
  untilQueryable(wait: PlaceWait): Promise<boolean>
  /**
   * Runs a change of a data source after which the engine knows its blocks no more: truncate, drop.
   *
   * Holds new events back, stores those that wait, writes a barrier that no later replay crosses, and runs `change`. With
   * `isFinal` the data source is going for good, and what cannot be stored goes with it; else `change` is refused then.
   *
   * @throws CHANGE_BLOCKED (503) when what waits cannot be stored; DATASOURCE_BUSY (409) while it is held, but `isFinal` waits
   *   for that; what the log refuses with; what `change` throws.
   */
  withBarrier<Result>(barrier: BarrierRequest, change: () => Promise<Result>): Promise<Result>
  /**
   * Runs a change of data sources that takes its time, and after which the engine knows their blocks no more: a replace.
   *
   * What waits is stored before, behind a barrier for each. While `change` runs, events are taken into the log and stored
   * when it has ended, and imports are refused, but for those into tables of their own.
   *
   * @throws DATASOURCE_BUSY (409) when one of them is held already, or imports into them do not end; CHANGE_BLOCKED (503)
   *   when what waits cannot be stored; what the log refuses with; what `change` throws.
   */
  withHold<Result>(
    dataSources: readonly DataSource[],
    change: () => Promise<Result>,
    hold?: HoldOptions,
  ): Promise<Result>
  /** As `withHold`, for what looks at one moment of views: the engine knows their blocks behind it as before. */
  withStill<Result>(dataSources: readonly DataSource[], look: () => Promise<Result>): Promise<Result>
  /** Whether a `withHold` of this data source runs: other changes of it are to be refused. */
  isHeld(dataSourceId: DataSourceId): boolean
  /** @throws DATASOURCE_BUSY (409) while it is held; it says for what. */
  refuseHeld(dataSource: Pick<DataSource, 'id' | 'name'>): void
  /**
   * How far the blocks of the table of the rows, or of those set aside, have come, and of all tables that views fill with them.
   */
  tableMark(dataSource: DataSource, side: LedgerSideName): Promise<TableMark>
  /**
   * Stores the blocks that an earlier process has left in doubt, as far as it has kept their parts, and notes that. Those that are still in
   * doubt then are to be made anew of the body.
   *
   * @throws IMPORT_OVERTAKEN, DATASOURCE_BUSY (409), StoreError and what it stands for; the reason of the signal.
   */
  settleImport(request: SettleRequest): Promise<void>
  /** Resolves when what imports had stored before the call outlives a power cut. Raises an error when the disk refused. */
  sync(): Promise<void>
  /** What is kept of events for views that are behind. */
  readonly keptEvents: KeptEventsOfViews
  /** Begins to store what an earlier process left in the log. The tables must stand. */
  start(): void
  /** Refuses new work, waits until what is under way is stored. */
  close(timeMaxMs?: number): Promise<void>
}

export interface ImportRequest {
  readonly dataSource: DataSource
  /** Bytes as they came, and `contentEncoding` says how they are packed; or what `openBody` made of them. */
  readonly body: OpenedBody | SentBody
  readonly format: BodyFormat
  readonly contentEncoding: string | undefined
  readonly importId: string
  readonly csv: CsvRules
  /** Where the rows go instead of into the data source's own tables. */
  readonly tables?: ImportTables
  /** Told what becomes of the blocks of the body, while they are loaded. */
  readonly watcher?: ImportWatcher | undefined
  /** Ends the import where it is: what was read is stored, and its reason, an error of the table, is the failure. */
  readonly signal?: AbortSignal | undefined
  /**
   * Keeps what is stored, for an import that outlives the process: it is gone on with by another request with the same body, and
   * a ledger of what was kept. Its outcome counts what all of them have stored. Not for tables of its own.
   */
  readonly ledger?: ImportLedger | undefined
}

type ParquetRequestFields = 'dataSource' | 'importId' | 'ledger' | 'signal' | 'tables' | 'watcher'

export interface ParquetImportRequest extends Pick<ImportRequest, ParquetRequestFields> {
  readonly file: ParquetFile
}

/** An import whose process has ended in its middle. */
export interface SettleRequest {
  readonly dataSource: DataSource
  readonly importId: string
  readonly format: ImportFormat
  /** Of what that process has left. */
  readonly ledger: ImportLedger
  readonly kept: KeptParts
  readonly signal: AbortSignal
}

/** Blocks are counted from 0, in the order in which they stand in the body. None of its methods may throw. */
export interface ImportWatcher {
  /** Whether reports are read; without, what only they tell is not counted. */
  readonly hasReports: boolean
  onStatus(block: number, status: BlockStatus): void
  onParsed(block: number, report: BlockReport): void
}

export type BlockStatus =
  | 'done'
  | 'guessing'
  | 'processing'
  | `done_inserting_chunk:${number}`
  | `inserting_chunk:${number}`

export interface BlockReport {
  readonly parser: ImportFormat
  /** Records, empty lines not among them. */
  readonly lines: number
  readonly quarantinedRows: number
  readonly invalidLines: number
  readonly emptyLines: number
  readonly byteCount: number
  readonly timeMs: number
}

/** What is known of a CSV body; undefined is guessed. */
export interface CsvRules {
  readonly delimiter: string | undefined
  readonly escapeCharacter: string | undefined
  readonly newLine?: NewLine | undefined
  /** `unknown` by default. */
  readonly header?: CsvHeader
}

export interface ImportOutcome extends RowCounts {
  /** The error that ended the body early (cut connection, record too long, decompressed limit, engine error), or null. */
  readonly failure: Error | null
  /** Sentences about what was odd and taken all the same; absent where nothing was. */
  readonly warnings?: readonly string[]
  /** Bytes of the body that were parsed, unpacked; of a Parquet file all. Absent where nobody counts. */
  readonly byteCount?: number
}

/**
 * Rows in = `storedRows` + `unmatchedRows` + `quarantinedRows` + `invalidLines` - `shortLines`, and all but the first two stand in
 * the quarantine table. Clients expect a line of which nothing can be read among the invalid ones alone, and a CSV line with
 * too few fields among both.
 */
export interface RowCounts {
  readonly storedRows: number
  readonly quarantinedRows: number
  readonly invalidLines: number
  readonly shortLines: number
  /** Good rows of a replace that its condition left out; absent without a condition. */
  readonly unmatchedRows?: number
}

export interface EventsRequest {
  readonly dataSource: DataSource
  /** The whole body, decompressed. */
  readonly body: Uint8Array
  /** The body as it was sent: what the log keeps. */
  readonly packed: { readonly bytes: Uint8Array; readonly encoding: EntryEncoding }
  /** `document` is one JSON document, an object or an array of objects, with any white space; `lines` is NDJSON. */
  readonly framing: 'lines' | 'document'
  /** True answers when the engine has the rows. */
  readonly isWaiting: boolean
  /** What the sender calls this request; a repeat of it is answered as before and changes nothing. */
  readonly idempotencyKey: string | null
  /** What they are refused with unless they are a repeat, which is answered as the first time. */
  readonly refusal?: ApiError | null
}

export interface ReplayRowsRequest {
  readonly dataSource: DataSource
  /** CSV records, each with its line feed: a cell a column, and the row's id behind them. Up to some megabytes together. */
  readonly records: readonly Uint8Array[]
  readonly blockId: string
  /** Has the columns `row UUID, columns Array(String), reasons Array(String)`, and remembers blocks. */
  readonly misfitsTable: string
  /** The same for every repeat of a block. */
  readonly rules: ValueRules
  /** Asked again and again while rows are looked for that are refused: true when the replay is to go on at the next start. */
  readonly isGivenUp: () => boolean
}

export interface ReplayRowsOutcome {
  /** Why a view did not take rows that the table has, in the engine's words; null when each did. */
  readonly viewFailure: string | null
}

export interface BarrierRequest {
  readonly dataSource: DataSource
  readonly isFinal: boolean
  /** Whether imports wait for the change and the change for them, as `withHold` has it; absent for not. */
  readonly isClosed?: boolean
  /**
   * Looked at when all that was acknowledged is stored, and nothing new is taken: what it throws leaves the data source as it is. With
   * it a final barrier gives up nothing, and is refused like others when what waits cannot be stored.
   */
  readonly condition?: () => Promise<void>
  /** See `HoldOptions`. */
  readonly keepsBlocks?: boolean
}

export interface PlaceWait {
  readonly dataSourceId: DataSourceId
  /** 0 is before all. */
  readonly place: number
  readonly timeMaxMs: number
  readonly signal: AbortSignal
}

export interface EventsOutcome {
  readonly successfulRows: number
  /** Rows that did not fit, and lines that were no JSON object: both are kept in quarantine. */
  readonly quarantinedRows: number
  /** False when the rows are on disk, and the engine will have them later. */
  readonly isStored: boolean
  /** Where in the log the rows stand: when it is stored up to there, queries see them. 0 when they do already, or there are none. */
  readonly place: number
}

/** What a data source is held for, as errors say it behind "is being". */
export type HoldReason = 'changed' | 'held for a Materialized View' | 'replaced'

export interface HoldOptions {
  /** Absent is `changed`. */
  readonly reason?: HoldReason
  /** Told when all events that are acknowledged from then on wait for the change. */
  readonly onHeld?: (() => void) | undefined
  /**
   * Whether the engine knows the blocks of before the change again behind it, unless who makes the change tells of it: views that are parked go
   * on being kept blocks for. Absent is false.
   */
  readonly keepsBlocks?: boolean
  /** Whether the change leaves all rows where they are, so that the note of the parts holds. Absent is false. */
  readonly keepsRows?: boolean
}
