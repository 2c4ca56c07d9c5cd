import { randomUUID } from 'node:crypto'
import type { DataSource } from '../catalog/data-source.types.ts'
import type { BlockReport, ImportOutcome, ImportWatcher } from '../ingest/ingest.types.ts'
import { toldReason } from '../observe/error-fields.ts'
import type { OperationRecord, WorkRecorder } from '../observe/work-recorder.types.ts'
import type { ImportRequest } from './imports.types.ts'

interface AboutImport {
  readonly request: ImportRequest
  readonly dataSource: DataSource
  readonly importId: string
  /** By `performance.now`. */
  readonly startMs: number
}

interface ToldDeps {
  readonly workRecorder: WorkRecorder
  /** Epoch milliseconds. */
  readonly now: () => number
}

/** What one import leaves in the service data sources: a row for it, where it is no job, and one for each of its blocks. */
export class ToldImport {
  readonly #about: AboutImport
  readonly #deps: ToldDeps
  readonly #startedAtMs: number

  constructor(about: AboutImport, deps: ToldDeps) {
    this.#about = about
    this.#deps = deps
    this.#startedAtMs = deps.now() - (performance.now() - about.startMs)
  }

  /** The same watcher, with blocks told too. */
  watching(watcher: ImportWatcher | undefined): ImportWatcher | undefined {
    if (!this.#deps.workRecorder.isOn) return watcher
    const reports = new Map<number, BlockReport>()
    return {
      hasReports: watcher?.hasReports ?? false,
      onParsed: (block, report) => {
        watcher?.onParsed(block, report)
        reports.set(block, report)
      },
      onStatus: (block, status) => {
        watcher?.onStatus(block, status)
        if (status !== 'done') return
        const report = reports.get(block)
        reports.delete(block)
        if (report !== undefined) this.#tellBlock(report)
      },
    }
  }

  end({ failure, storedRows, quarantinedRows, byteCount }: ImportOutcome): void {
    const error = failure === null ? null : toldReason(failure)
    const counts = { rows: storedRows, quarantinedRows, readBytes: byteCount ?? 0 }
    this.#tell({ error, ...counts })
  }

  fail(thrown: unknown): void {
    this.#tell({ error: toldReason(thrown) })
  }

  #tell(ending: Pick<OperationRecord, 'error' | 'quarantinedRows' | 'readBytes' | 'rows'>): void {
    const { workRecorder } = this.#deps
    // That of a job is told with the end of the job: it may be tried again, go on behind a kill, or end before there is a file.
    if (!workRecorder.isOn || this.#about.request.kept !== undefined) return
    const { request, dataSource, importId, startMs } = this.#about
    const { mode, format, replaceCondition } = request.order
    workRecorder.operation({
      eventType: mode === 'replace' ? 'replace' : 'append',
      dataSource,
      startedAtMs: this.#startedAtMs,
      elapsedMs: performance.now() - startMs,
      importId,
      ...this.#origin,
      options: {
        ...(format === null ? {} : { format }),
        ...(replaceCondition === null ? {} : { replace: 'condition' }),
      },
      ...ending,
    })
  }

  #tellBlock({ parser, lines, quarantinedRows, emptyLines, byteCount, timeMs }: BlockReport): void {
    const { dataSource, importId, request } = this.#about
    this.#deps.workRecorder.block({
      atMs: this.#deps.now(),
      importId,
      source: request.kept === undefined ? 'body' : 'url',
      blockId: randomUUID(),
      status: 'done',
      dataSource,
      rows: lines,
      parser,
      quarantinedLines: quarantinedRows,
      emptyLines,
      bytes: byteCount,
      elapsedMs: timeMs,
      ...this.#origin,
    })
  }

  get #origin(): { readonly jobId: string; readonly requestId: string } {
    const { kept, caller } = this.#about.request
    const { requestId } = caller.logFields
    return { jobId: kept?.importId ?? '', requestId: typeof requestId === 'string' ? requestId : '' }
  }
}
