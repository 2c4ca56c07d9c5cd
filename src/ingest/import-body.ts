/** One import: a body that streams in, frames to the workers, parts to the store, and counts at the end. */
import { Readable } from 'node:stream'
import { CsvBoundary } from '../codec/csv-boundary.ts'
import { type CsvDialect, csvDialect, defaultCsvDialect } from '../codec/csv-dialect.ts'
import { type CsvStart, readCsvStart } from '../codec/csv-header.ts'
import { type Frame, FrameAssembler, type FrameLimits, NdjsonBoundary } from '../codec/frame-assembler.ts'
import type { BodyCounts, ParseResult, RecordFormat } from '../codec/parse-task.types.ts'
import { guessDialect } from '../guess/csv-sample.ts'
import type { SampleBytes } from '../guess/sample.types.ts'
import { rowBytesMin, rowsAtOnceMax } from '../shared/row-weight.ts'
import type { Store } from '../store/store.types.ts'
import { whenDropped } from './append-error.ts'
import { type SpooledBody, spoolArchive } from './archive-spool.ts'
import { BlockWatch } from './block-watch.ts'
import { BlockWriter } from './block-writer.ts'
import { toImportFailure } from './disk-failure.ts'
import type { ImportOutcome, ImportRequest, OpenedBody } from './ingest.types.ts'
import { type IngestPlan, ingestPlanOf, tablesOf } from './ingest-plan.ts'
import type { MemoryBudget } from './memory-budget.ts'
import { type OpenLimits, openBody } from './opened-body.ts'
import type { ParsePool } from './parse-pool.ts'
import { partitionBoundOf } from './partition-bound.ts'
import type { PartitionLimitOptions, PartitionLimits } from './partition-limits.ts'
import { releaseMemory } from './release-memory.ts'
import type { SharedSync } from './shared-sync.ts'
import type { SpoolRoom } from './spool-room.ts'

export interface ImportOptions extends FrameLimits, OpenLimits, PartitionLimitOptions {
  readonly insertRowsMax: number
  readonly insertBytesMax: number
  readonly insertsInFlightMax: number
}

export interface ImportRooms {
  readonly pool: ParsePool
  readonly store: Store
  readonly heldBytes: MemoryBudget
  readonly archives: SpoolRoom
  readonly partitionLimits: PartitionLimits
  readonly sync: SharedSync
}

export class BodyImport {
  private readonly request: ImportRequest
  private readonly plan: IngestPlan
  private readonly rooms: ImportRooms
  private readonly options: ImportOptions
  /** Null until the beginning of the body has said how it is written. */
  private assembler: FrameAssembler | null = null
  private readonly rows: BlockWriter
  private readonly quarantine: BlockWriter
  private spooled: SpooledBody | null = null
  private dialect: CsvDialect = defaultCsvDialect
  private csvStart: CsvStart | undefined
  private readonly framesUnderWay = new Set<Promise<void>>()
  private readonly startedAtMs = Date.now()
  private frameCount = 0
  private invalidLines = 0
  private shortLines = 0
  private failure: Error | null = null

  constructor(request: ImportRequest, rooms: ImportRooms, options: ImportOptions) {
    this.request = request
    this.rooms = rooms
    this.options = options
    this.plan = ingestPlanOf(request.dataSource, request.importId, request.tables)
    const limits = {
      rowsMax: options.insertRowsMax,
      bytesMax: options.insertBytesMax,
      insertsInFlightMax: options.insertsInFlightMax,
      partitionsPerBodyMax: options.partitionsPerBodyMax,
    }
    const { table, layout } = this.plan.landing
    const partitions = {
      bound: partitionBoundOf(request.dataSource, layout),
      body: rooms.partitionLimits.bodyOf(table),
    }
    this.rows = new BlockWriter(rooms.store, this.plan.landing, limits, partitions)
    this.quarantine = new BlockWriter(rooms.store, this.plan.quarantine, limits)
  }

  async run(): Promise<ImportOutcome> {
    await this.attempt(() => this.readBody())
    // When the body broke off: the whole records before are stored, and the answer says how many.
    await this.attempt(() => this.submit(this.assembler?.flush() ?? null))
    this.assembler?.close()
    this.spooled?.close()
    await Promise.all(this.framesUnderWay)
    // The small insert first: at the end of the others it would run alone.
    await Promise.all([this.attempt(() => this.quarantine.finish()), this.attempt(() => this.rows.finish())])
    const { storedRows } = this.rows
    const quarantinedRows = this.quarantine.storedRows
    // A replace syncs what it exchanges.
    const isToSync = this.request.tables === undefined && storedRows + quarantinedRows > 0
    if (isToSync) await this.attempt(() => this.rooms.sync.run())
    return {
      storedRows,
      quarantinedRows,
      invalidLines: this.invalidLines,
      shortLines: this.shortLines,
      failure: await this.told({ storedRows, quarantinedRows }),
    }
  }

  private async told(counts: { readonly storedRows: number; readonly quarantinedRows: number }): Promise<Error | null> {
    const { dataSource, tables } = this.request
    const failure = whenDropped(this.failure, dataSource.name)
    return await toImportFailure(failure, {
      store: this.rooms.store,
      tables: tables ?? tablesOf(dataSource),
      isStaged: tables !== undefined,
      startedAtMs: this.startedAtMs,
      ...counts,
    })
  }

  private async readBody(): Promise<void> {
    const opened = await this.open()
    const assembler = this.assemblerFor(opened.sample)
    this.assembler = assembler
    for await (const chunk of opened.chunks) {
      const frames = assembler.push(chunk)
      releaseMemory(chunk)
      for (const frame of frames) await this.submit(frame)
      if (this.failure !== null) return
      this.request.signal?.throwIfAborted()
    }
    for (const frame of assembler.setOpenLinesAside()) await this.submit(frame)
    await this.submit(assembler.end())
  }

  private async open(): Promise<OpenedBody> {
    const { body, contentEncoding, format, csv, signal } = this.request
    if (!(body instanceof Readable)) return body
    const { heldBytes, archives } = this.rooms
    const { decompressedBytesMax } = this.options
    this.spooled = await spoolArchive({ body, contentEncoding, signal }, archives, decompressedBytesMax)
    const isSampled = format === 'csv'
    const source = { body: this.spooled.body, contentEncoding, format, isSampled, newLine: csv.newLine }
    return await openBody(source, this.options, heldBytes)
  }

  private assemblerFor(sample: SampleBytes): FrameAssembler {
    const { format, csv } = this.request
    if (format === 'csv') this.dialect = dialectFor(sample, csv, this.plan.columns.length)
    const boundary = format === 'csv' ? new CsvBoundary(this.dialect) : new NdjsonBoundary()
    const frameRowsMax = rowsAtOnceMax(this.plan.columns)
    // Only rows of next to no bytes in a wide table can be too many for a frame; others are not counted.
    const isCounted = 4 * frameRowsMax * rowBytesMin < this.options.frameBytes
    const limits = isCounted ? { ...this.options, frameRowsMax } : this.options
    return new FrameAssembler(limits, boundary, this.rooms.pool.buffers)
  }

  /** Waits for a place with the workers, not for the frame to be parsed. */
  private async submit(frame: Frame | null): Promise<void> {
    if (frame === null) return
    const { start, record } = this.recordFormat(frame)
    const task = {
      planKey: this.plan.planKey,
      columns: this.plan.columns,
      frame: frame.bytes,
      byteCount: frame.byteCount,
      start,
      bodyEnds: [frame.byteCount],
      record,
      keepsInvalidLines: false,
      // Both are named; the worker writes those that have rows.
      partPaths: { block: this.rooms.store.newPartPath(), quarantine: this.rooms.store.newPartPath() },
    }
    const watch = this.watchOf(frame)
    const { done } = await this.rooms.pool.submit(task, (result) => this.store(result, watch))
    const settled = this.attempt(() => done).finally(() => this.framesUnderWay.delete(settled))
    this.framesUnderWay.add(settled)
  }

  private watchOf(frame: Frame): BlockWatch | undefined {
    const { watcher, format } = this.request
    const index = this.frameCount
    this.frameCount += 1
    return watcher === undefined ? undefined : new BlockWatch(watcher, { index, format, dialect: this.dialect, frame })
  }

  private recordFormat(frame: Frame): { readonly start: number; readonly record: RecordFormat } {
    if (this.request.format === 'ndjson') return { start: 0, record: { kind: 'ndjson' } }
    const isFirst = this.csvStart === undefined
    this.csvStart ??= readCsvStart(frame, this.plan.columns, this.dialect, this.request.csv.header)
    const { fieldColumns, rowsOffset } = this.csvStart
    return { start: isFirst ? rowsOffset : 0, record: { kind: 'csv', dialect: this.dialect, fieldColumns } }
  }

  private async store(result: ParseResult, watch: BlockWatch | undefined): Promise<void> {
    const { block, rowCount, quarantineBlock, quarantinedRowCount, bodies } = result
    this.count(bodies)
    watch?.onParsed(result)
    if (block !== null) await this.rows.add(block, rowCount, watch)
    if (quarantineBlock !== null) await this.quarantine.add(quarantineBlock, quarantinedRowCount)
  }

  private count(bodies: readonly BodyCounts[]): void {
    for (const { invalid, short } of bodies) {
      this.invalidLines += invalid
      this.shortLines += short
    }
  }

  /** The first thing that goes wrong is the import's failure; what follows from it is not news. */
  private async attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.failure ??= error instanceof Error ? error : new Error(String(error))
    }
  }
}

function dialectFor(sample: SampleBytes, given: ImportRequest['csv'], columnCount: number): CsvDialect {
  const guessed = guessDialect(sample, given, columnCount)
  return csvDialect(guessed.delimiter, guessed.escapeCharacter)
}
