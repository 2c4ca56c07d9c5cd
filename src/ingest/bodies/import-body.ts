/** One import: a body that streams in, frames to the workers, parts to the store, and counts at the end. */
import { CsvBoundary } from '../../codec/csv/csv-boundary.ts'
import { type CsvDialect, csvDialect, defaultCsvDialect } from '../../codec/csv/csv-dialect.ts'
import { type CsvStart, readCsvStart } from '../../codec/csv/csv-header.ts'
import { type Frame, FrameAssembler, type FrameLimits, NdjsonBoundary } from '../../codec/frame-assembler.ts'
import type { BodyCounts, ParseResult, ParseTask } from '../../codec/parse-task.types.ts'
import { guessDialect } from '../../guess/csv-sample.ts'
import { rowMistake } from '../../guess/row-mistake.ts'
import type { SampleBytes } from '../../guess/sample.types.ts'
import { rowBytesMin, rowsAtOnceMax } from '../../schema/columns/row-weight.ts'
import { assert } from '../../shared/assert.ts'
import { type ApiError, errors } from '../../shared/errors/errors.ts'
import type { Store } from '../../store/store.types.ts'
import { toImportFailure } from '../disk-failure.ts'
import type { CsvRules, ImportOutcome, ImportRequest, OpenedBody } from '../ingest.types.ts'
import { type IngestPlan, ingestPlanOf, tablesOf } from '../ingest-plan.ts'
import { whenDropped } from '../insert/append-error.ts'
import type { BlockWriter } from '../insert/block-writer.ts'
import { doubtWarnings } from '../insert/doubtful-rows.ts'
import { noCounts, type PlaceCounts } from '../insert/import-ledger.types.ts'
import type { PartitionLimits } from '../insert/partition-limits.ts'
import type { PlaceRange } from '../insert/range-set.ts'
import type { RefusedBlocks } from '../insert/refused-block.ts'
import type { SharedSync } from '../insert/shared-sync.ts'
import type { MemoryBudget } from '../memory-budget.ts'
import type { ParsePool } from '../parse/parse-pool.ts'
import { releaseMemory } from '../parse/release-memory.ts'
import type { SpoolBudget } from '../unpack/spool-budget.ts'
import { type SpooledBody, spoolArchive } from '../unpack/spooled-zip.ts'
import { BlockWatch } from './block-watch.ts'
import { type BodyWriterOptions, openBodyWriters } from './body-writers.ts'
import { partialHeaderWarning, unclearHeader } from './csv-header-words.ts'
import { csvWarnings } from './csv-warnings.ts'
import { type OpenLimits, openBody } from './opened-body.ts'
import { type PlacedFrame, PlacedFrames } from './placed-frames.ts'

export interface ImportOptions extends FrameLimits, OpenLimits, BodyWriterOptions {}

export interface ImportDeps {
  readonly pool: ParsePool
  readonly store: Store
  readonly heldBytes: MemoryBudget
  readonly archives: SpoolBudget
  readonly partitionLimits: PartitionLimits
  readonly sync: SharedSync
}

/** More than the first line of most bodies. */
const headBytes = 4_096

/** What is stored of a body that is gone on with is not requested again from here on; less takes no longer than a request. */
const passedBytesMin = 1024 * 1024

/** Frames after which rows set aside are inserted where what is stored is noted: else a kill repeats the parsing of all before. */
const framesBetweenFlushes = 16

type FrameFormat = Pick<ParseTask, 'record' | 'start'>

/** What is known of a frame beside its bytes. */
interface FrameMarks {
  readonly watch: BlockWatch | undefined
  readonly range: PlaceRange
}

export class BodyImport {
  readonly #request: ImportRequest
  readonly #plan: IngestPlan
  readonly #deps: ImportDeps
  readonly #options: ImportOptions
  /** Null until the beginning of the body has said how it is written. */
  #frames: PlacedFrames | null = null
  readonly #rows: BlockWriter
  readonly #quarantine: BlockWriter
  readonly #refused: RefusedBlocks
  #spooled: SpooledBody | null = null
  #dialect: CsvDialect = defaultCsvDialect
  #csvStart: CsvStart | undefined
  readonly #framesUnderWay = new Set<Promise<void>>()
  readonly #startedAtMs = Date.now()
  #frameCount = 0
  #byteCount = 0
  #invalidLines = 0
  #shortLines = 0
  #failure: Error | null = null
  /** Why nothing of the body is taken; known before any of it is stored. */
  #refusal: ApiError | null = null
  readonly #warnings: string[] = []
  /** The first bytes, for what is told of a body of which nothing fits. */
  #head: Buffer | null = null

  constructor(request: ImportRequest, deps: ImportDeps, options: ImportOptions) {
    this.#request = request
    this.#deps = deps
    this.#options = options
    this.#plan = ingestPlanOf(request.dataSource, request.importId, request.tables)
    const { rows, quarantine, refused } = openBodyWriters(request, deps, options)
    this.#rows = rows
    this.#quarantine = quarantine
    this.#refused = refused
  }

  /** @throws CSV_HEADER_UNCLEAR (400) before anything is stored; later failures are the outcome's. */
  async run(): Promise<ImportOutcome> {
    await this.#attempt(() => this.#readBody())
    if (this.#failure === null || this.#request.ledger === undefined) await this.#submitRest()
    this.#frames?.close()
    this.#spooled?.close()
    await Promise.all(this.#framesUnderWay)
    await this.#finish()
    if (this.#refusal !== null) throw this.#refusal
    const { storedRows, setAsideRows, storedInvalidRows, invalidLines, shortLines } = await this.#counts()
    this.#warnings.push(...this.#refused.warnings, ...this.#doubtWarnings())
    if (storedRows === 0) this.#warnOfMistake()
    // A replace syncs what it exchanges.
    const isToSync = this.#request.tables === undefined && storedRows + setAsideRows > 0
    if (isToSync && this.#request.ledger === undefined) await this.#attempt(() => this.#deps.sync.run())
    return {
      storedRows,
      quarantinedRows: setAsideRows - storedInvalidRows,
      invalidLines,
      shortLines,
      failure: await this.#told({ storedRows, quarantinedRows: setAsideRows }),
      warnings: this.#warnings,
      byteCount: this.#byteCount,
    }
  }

  async #finish(): Promise<void> {
    const { signal, ledger, tables } = this.#request
    // What is not stored yet is read again when the import goes on, or is of a replace that does not come about.
    if (signal?.aborted === true && (ledger ?? tables) !== undefined) {
      await this.#attempt(async () => signal.throwIfAborted())
      // In this order: rows that are about to be inserted wait for those set aside around them.
      await this.#attempt(() => this.#rows.drop())
      await this.#attempt(() => this.#quarantine.drop())
      return
    }
    // The small insert first: at the end of the others it would run alone.
    await Promise.all([this.#attempt(() => this.#quarantine.finish()), this.#attempt(() => this.#rows.finish())])
  }

  /** When the body broke off: the whole records before are stored, and the answer says how many. One that is gone on with later leaves them for then. */
  async #submitRest(): Promise<void> {
    const openRecord = this.#frames?.takeOpenRecord() ?? null
    await this.#attempt(() => this.#submit(this.#frames?.flush() ?? null))
    if (openRecord === null) return
    const range = { start: 0, end: 0 }
    await this.#attempt(() => this.#submit({ frame: openRecord, range }, { start: 0, record: { kind: 'brokenOff' } }))
  }

  /** What is stored, of earlier processes too. */
  async #counts() {
    const { ledger } = this.#request
    if (ledger === undefined) {
      const { storedRows, refusedRows } = this.#rows
      const { storedRows: ownRows, storedInvalidRows } = this.#quarantine
      const lines = { invalidLines: this.#invalidLines, shortLines: this.#shortLines }
      return { storedRows, setAsideRows: ownRows + refusedRows, storedInvalidRows, ...lines }
    }
    if (this.#failure === null) await this.#attempt(async () => ledger.checkWhole())
    await this.#attempt(() => ledger.settle())
    const { quarantinedRows: setAsideRows, ...counts } = ledger.counts
    return { ...counts, setAsideRows, storedInvalidRows: 0 }
  }

  /** A replace drops what it has stored, and a ledger tells its own. */
  #doubtWarnings(): readonly string[] {
    if ((this.#request.ledger ?? this.#request.tables) !== undefined) return []
    return doubtWarnings(this.#rows.doubtfulRows + this.#quarantine.doubtfulRows)
  }

  #warnOfMistake(): void {
    const { format, dataSource } = this.#request
    const mistake = format === 'ndjson' && this.#head !== null ? rowMistake(this.#head, 'rows') : undefined
    if (mistake !== undefined) this.#warnings.push(`No row fits Data Source "${dataSource.name}": ${mistake}.`)
  }

  async #told(counts: { readonly storedRows: number; readonly quarantinedRows: number }): Promise<Error | null> {
    const { dataSource, tables } = this.#request
    const failure = whenDropped(this.#failure, dataSource.name)
    return await toImportFailure(failure, {
      store: this.#deps.store,
      tables: tables ?? tablesOf(dataSource),
      isStaged: tables !== undefined,
      startedAtMs: this.#startedAtMs,
      ...counts,
    })
  }

  async #readBody(): Promise<void> {
    const opened = await this.#open()
    const frames = this.#framesOf(opened.sample)
    this.#frames = frames
    const chunks = this.#behindStored(opened, frames) ?? opened.chunks
    for await (const chunk of chunks) {
      this.#head ??= Buffer.from(chunk.subarray(0, headBytes))
      for (const frame of frames.push(chunk)) await this.#submit(frame)
      releaseMemory(chunk)
      if (this.#failure !== null) return
      this.#request.signal?.throwIfAborted()
    }
    for (const frame of frames.end()) await this.#submit(frame)
  }

  /** Null where what is stored of a body that is gone on with is read too, and passed over. */
  #behindStored(opened: OpenedBody, frames: PlacedFrames): AsyncIterable<Uint8Array> | null {
    const { body, ledger } = this.#request
    if (ledger === undefined) return null
    const known = ledger.likeness
    ledger.follow(opened.likeness)
    const readFrom = 'readFrom' in body ? body.readFrom : null
    if (readFrom === null || readFrom === undefined || frames.storedBytes < passedBytesMin) return null
    const textOf = opened.textBehind(known)
    if (textOf === null) return null
    this.#head = Buffer.from(opened.sample.bytes.subarray(0, headBytes))
    frames.passOverStored()
    return textOf(readFrom(frames.storedBytes))
  }

  async #open(): Promise<OpenedBody> {
    const { body, contentEncoding, format, csv, signal } = this.#request
    if ('chunks' in body) return body
    const { heldBytes, archives } = this.#deps
    const { decompressedBytesMax } = this.#options
    this.#spooled = await spoolArchive({ body, contentEncoding, signal }, archives, decompressedBytesMax)
    const isSampled = format === 'csv'
    const source = { body: this.#spooled.body, contentEncoding, format, isSampled, newLine: csv.newLine }
    return await openBody(source, this.#options, heldBytes)
  }

  #framesOf(sample: SampleBytes): PlacedFrames {
    const { format, csv, ledger } = this.#request
    if (format === 'csv') this.#openCsv(sample, csv)
    const { buffers } = this.#deps.pool
    return new PlacedFrames({ ledger, buffers, createAssembler: (isContinued) => this.#createAssembler(isContinued) })
  }

  #createAssembler(isContinued: boolean): FrameAssembler {
    const boundary = this.#request.format === 'csv' ? new CsvBoundary(this.#dialect) : new NdjsonBoundary()
    const frameRowsMax = rowsAtOnceMax(this.#plan.columns)
    // Only rows of next to no bytes in a wide table can be too much for a frame; others are not counted exactly.
    const isCounted = 4 * frameRowsMax * rowBytesMin < this.#options.frameBytes
    const limits = isCounted ? { ...this.#options, frameRowsMax } : this.#options
    return new FrameAssembler({ ...limits, isContinued }, boundary, this.#deps.pool.buffers)
  }

  #openCsv(sample: SampleBytes, given: CsvRules): void {
    const { columns } = this.#request.dataSource
    const guessed = guessDialect(sample, given, this.#plan.columns.length)
    this.#dialect = csvDialect(guessed.delimiter, guessed.escapeCharacter)
    const fieldColumns = this.#request.ledger?.fieldColumns ?? null
    if (fieldColumns !== null) this.#csvStart = { fieldColumns, rowsOffset: 0, partialHeader: null }
    this.#warnings.push(...csvWarnings({ sample, dialect: guessed, given, columns }))
  }

  /** Waits for a place with the workers, not for the frame to be parsed. */
  async #submit(placed: PlacedFrame | null, given?: FrameFormat): Promise<void> {
    if (placed === null || this.#refusal !== null) return
    const { frame, range } = placed
    this.#byteCount += frame.byteCount
    const { start, record } = given ?? this.#recordFormat(placed)
    const task = {
      planKey: this.#plan.planKey,
      columns: this.#plan.columns,
      frame: frame.bytes,
      byteCount: frame.byteCount,
      start,
      bodyEnds: [frame.byteCount],
      record,
      // Both are named; the worker writes those that have rows.
      partPaths: { rows: this.#deps.store.newPartPath(), quarantine: this.#deps.store.newPartPath() },
    }
    const watch = this.#watchOf(frame)
    const { done } = await this.#deps.pool.submit(task, (result) => this.#store(result, { watch, range }), this)
    const settled = this.#attempt(() => done).finally(() => this.#framesUnderWay.delete(settled))
    this.#framesUnderWay.add(settled)
    if (this.#request.ledger !== undefined && this.#frameCount % framesBetweenFlushes === 0) this.#quarantine.flush()
  }

  #watchOf(frame: Frame): BlockWatch | undefined {
    const { watcher, format } = this.#request
    const index = this.#frameCount
    this.#frameCount += 1
    return watcher === undefined ? undefined : new BlockWatch(watcher, { index, format, dialect: this.#dialect, frame })
  }

  #recordFormat({ frame, range }: PlacedFrame): FrameFormat {
    if (this.#request.format === 'ndjson') return { start: 0, record: { kind: 'ndjson' } }
    const isFirst = range.start === 0
    if (isFirst) this.#csvStart = this.#startOf(frame)
    const { ledger } = this.#request
    if (this.#csvStart === undefined && ledger !== undefined) throw errors.IMPORT_NOT_RESUMABLE()
    assert(this.#csvStart !== undefined, 'what a body begins with is known before what follows')
    const { fieldColumns, rowsOffset } = this.#csvStart
    if (ledger !== undefined) ledger.fieldColumns = fieldColumns
    return { start: isFirst ? rowsOffset : 0, record: { kind: 'csv', dialect: this.#dialect, fieldColumns } }
  }

  #startOf(frame: Frame): CsvStart {
    const { name, columns } = this.#request.dataSource
    const start = readCsvStart(frame, this.#plan.columns, this.#dialect, this.#request.csv.header)
    const { partialHeader } = start
    if (partialHeader === null) return start
    if (!partialHeader.isByPosition) {
      this.#refusal = unclearHeader(partialHeader, { name, columns }, start.rowsOffset < frame.byteCount)
      throw this.#refusal
    }
    this.#warnings.push(partialHeaderWarning(partialHeader, { name, columns }))
    return start
  }

  async #store(result: ParseResult, { watch, range }: FrameMarks): Promise<void> {
    const { part, rowCount, quarantinePart, quarantinedRowCount, bodies } = result
    const { ledger } = this.#request
    const counts = countsOf(bodies)
    this.#invalidLines += counts.invalidLines
    this.#shortLines += counts.shortLines
    watch?.onParsed(result)
    const invalidRows = counts.invalidLines - counts.shortLines
    if (quarantinePart !== null) {
      await this.#quarantine.add(quarantinePart, quarantinedRowCount, { invalidRows, range, counts })
    } else ledger?.quarantine.noteEmpty(range, { ...noCounts, ...counts })
    if (part !== null) await this.#rows.add(part, rowCount, { watch, range })
    else ledger?.rows.noteEmpty(range, noCounts)
  }

  /** The first thing that goes wrong is the import's failure; what follows from it is not news. */
  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.#failure ??= error instanceof Error ? error : new Error(String(error))
    }
  }
}

function countsOf(bodies: readonly BodyCounts[]): Pick<PlaceCounts, 'invalidLines' | 'records' | 'shortLines'> {
  let records = 0
  let invalidLines = 0
  let shortLines = 0
  for (const { rows, quarantined, invalid, short } of bodies) {
    records += rows + quarantined
    invalidLines += invalid
    shortLines += short
  }
  return { records, invalidLines, shortLines }
}
