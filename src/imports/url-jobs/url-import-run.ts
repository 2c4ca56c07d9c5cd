/**
 * One job that imports files by their URLs, from wherever it is to its end.
 *
 * What it stores outlives the process (`ImportLedger`), and so does which file it reads, how that is written, and into which
 * data source: whoever runs the job again goes on there, as long as the file is the same. A replace begins anew, since nothing of
 * it is to be seen before its end.
 */

import type { DataSource } from '../../catalog/data-source.types.ts'
import type { ImportOutcome, Ingest } from '../../ingest/ingest.types.ts'
import { ImportLedger } from '../../ingest/insert/import-ledger.ts'
import type { LedgerCounts, LedgerState } from '../../ingest/insert/import-ledger.types.ts'
import { isOfStoppedEngine } from '../../ingest/insert/insert-failure.ts'
import type { KeptParts } from '../../ingest/insert/kept-parts.ts'
import type { WorkingJob } from '../../jobs/jobs.types.ts'
import type { Logger } from '../../observe/logger.ts'
import { apiErrorOf } from '../../shared/api-error-of.ts'
import { assert } from '../../shared/assert.ts'
import { ApiError, errors } from '../../shared/errors/errors.ts'
import type { ImportProgress } from '../import-progress.ts'
import type { ImportOrder, ImportSource, Imports, KeptRows } from '../imports.types.ts'
import type { RemoteFile, RemoteFiles } from '../url/remote-file.types.ts'
import { resumedBytes, sourceOf } from './remote-source.ts'
import type { TableChanges } from './table-changes.ts'
import type { UrlImportCheckpoint, UrlImportTask } from './url-import.types.ts'
import { shownUrl, UrlImportDetails } from './url-import-details.ts'
import { type UrlImportLimitOptions, UrlImportLimits } from './url-import-limits.ts'
import { addRows, checkpointOf, noRows } from './url-import-record.ts'

export interface UrlImportDeps {
  readonly imports: Pick<Imports, 'open'>
  readonly dataSources: { find(nameOrId: string): DataSource | undefined }
  readonly remoteFiles: Pick<RemoteFiles, 'open'>
  readonly ingest: Pick<Ingest, 'settleImport' | 'sync' | 'tableMark'>
  /** Null where nothing is kept. */
  readonly kept: KeptParts | null
  readonly changes: Pick<TableChanges, 'countOf'>
  readonly logger: Logger
  readonly limits: UrlImportLimitOptions
  /** Whether others wait for a place. */
  readonly hasWaiting: () => boolean
  /** Milliseconds of a clock that is never set. */
  readonly clock: () => number
  /** Resolves after a time; rejects when the signal is aborted. */
  readonly delay: (timeMs: number, signal: AbortSignal) => Promise<unknown>
}

/** Runs of one job that fail for what passes: the engine starts anew, the disk is full, a replace holds the data source. */
const attemptsMax = 6
const firstPauseMs = 500
const progressIntervalMs = 1_000
/** What an end waits for blocks in doubt: a cancel takes no longer than two seconds. */
const settleTimeMaxMs = 700

export class UrlImportRun {
  readonly #job: WorkingJob
  readonly #task: UrlImportTask
  readonly #progress: ImportProgress
  readonly #deps: UrlImportDeps
  readonly #details: UrlImportDetails
  readonly #limits: UrlImportLimits
  /** Ends the work, by whoever ends the job, or by a limit. */
  readonly #signal: AbortSignal
  #checkpoint: UrlImportCheckpoint
  #file: RemoteFile | null = null
  #ledger: ImportLedger | null = null

  constructor(
    job: WorkingJob,
    { task, progress }: { readonly task: UrlImportTask; readonly progress: ImportProgress },
    deps: UrlImportDeps,
  ) {
    this.#job = job
    this.#task = task
    this.#progress = progress
    this.#deps = deps
    this.#checkpoint = checkpointOf(task.order.mode === 'replace' ? null : job.checkpoint)
    this.#details = new UrlImportDetails(task, deps.clock(), this.#storedBefore())
    this.#limits = new UrlImportLimits(deps.limits, deps.hasWaiting, deps.clock())
    this.#signal = AbortSignal.any([job.signal, this.#limits.signal])
  }

  /** @throws what the import failed with; what is stored is told in the details. */
  async run(): Promise<void> {
    try {
      await this.#runToEnd()
    } catch (error) {
      if (!this.#goesOn) await this.#settleLeft(AbortSignal.timeout(settleTimeMaxMs))
      this.#tellEnd()
      await this.#letGo()
      this.#job.signal.throwIfAborted()
      throw this.#limits.errorOf(this.#isReplace ? null : this.#details.counts.storedRows) ?? error
    }
  }

  /** Tells what there is of an import that an earlier process has left, and that is not gone on with. */
  async settle(): Promise<void> {
    await this.#settleLeft(this.#signal)
    if (!this.#isReplace) this.#tellCounts()
    this.#details.doubt(this.#doubtfulRows())
    this.#job.tell(this.#details.countFields())
    await this.#letGo()
  }

  /** Whoever goes on needs what is kept of blocks in doubt; nobody else does. */
  async #letGo(): Promise<void> {
    if (!this.#goesOn) await this.#deps.kept?.forgetAll(this.#job.id)
  }

  /** Whether it stops with the service or for others, and goes on later. */
  get #goesOn(): boolean {
    const { reason } = this.#job.signal
    return reason instanceof ApiError && reason.code === 'SHUTTING_DOWN'
  }

  /** Blocks in doubt are stored of what is kept of them. What is left is made anew of the file, where that can be. */
  async #settleLeft(signal: AbortSignal): Promise<void> {
    const { subject, rows, ledger: state } = this.#checkpoint
    const { kept, dataSources, ingest } = this.#deps
    const dataSource = subject === null ? undefined : dataSources.find(subject.id)
    if (kept === null || dataSource === undefined || rows === null || state === null || this.#isReplace) return
    // What this process inserts by itself is not left.
    const ledger = this.#ledger ?? this.#ledgerOf(dataSource, state)
    if (ledger.rows.left.length + ledger.quarantine.left.length === 0) return
    try {
      await ingest.settleImport({ dataSource, importId: this.#job.id, format: rows.format, ledger, kept, signal })
    } catch (err) {
      if (signal.aborted) return
      this.#deps.logger.warn({ job: this.#job.id, err }, 'Blocks in doubt of an import by URL could not be settled.')
    }
  }

  async #runToEnd(): Promise<void> {
    this.#tellCounts()
    let recordsBefore = this.#details.counts.records
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#attempt()
        return
      } catch (error) {
        this.#signal.throwIfAborted()
        // One that gets on may be interrupted again and again.
        const { records } = this.#details.counts
        if (records > recordsBefore) attempt = 1
        recordsBefore = records
        if (attempt === attemptsMax || !(isPassing(error) || this.#mayBeginAnewAfter(error))) throw error
        // The files are closed a little before the jobs.
        if (apiErrorOf(error).code !== 'SHUTTING_DOWN')
          this.#deps.logger.warn({ job: this.#job.id, attempt, err: error }, 'An import by URL is tried again.')
        await this.#deps.delay(firstPauseMs * 2 ** (attempt - 1), this.#signal)
        if (this.#isReplace) this.#checkpoint = checkpointOf(null)
      }
    }
  }

  /** The engine has forgotten the names of blocks: whether those that are in doubt are stored, nobody can tell any more. */
  #refuseAfterChange(): void {
    const { subject, ledger } = this.#checkpoint
    if (subject === null || ledger === null) return
    const changeCount = this.#deps.changes.countOf(subject.id)
    const inDoubt = [...ledger.rows.named, ...ledger.quarantine.named]
    if (inDoubt.some((block) => block.changeCount !== changeCount))
      throw errors.IMPORT_OVERTAKEN({ name: subject.name })
  }

  /**
   * A file of which nothing is counted, stored or in doubt is begun anew, whatever it is by now: no identity is expected of it, as many
   * servers tell none, and how its rows are written is found again.
   */
  #beginAnew(): void {
    if (this.#isResumed) return
    const { ledger: left } = this.#checkpoint
    // The names of blocks that were given up are not given again.
    const ledger = left === null ? null : ({ ...left, fieldColumns: null, likeness: 'open' } as const)
    this.#checkpoint = { ...this.#checkpoint, identity: null, rows: null, ledger }
    this.#ledger = null
  }

  /** A file that could not be gone on with in its middle is begun anew where nothing of the import is counted. */
  #mayBeginAnewAfter(error: unknown): boolean {
    const isChanged = error instanceof ApiError && error.code === 'REMOTE_FILE_CHANGED'
    return isChanged && (this.#isReplace || !this.#isResumed)
  }

  /** Whether rows of the file were stored or set aside before, or may be. */
  get #isResumed(): boolean {
    const { ledger } = this.#checkpoint
    const sides = ledger === null ? [] : [ledger.rows, ledger.quarantine]
    return sides.some(({ named, stored }) => named.length + stored.length > 0)
  }

  async #attempt(): Promise<void> {
    const signal = this.#signal
    await this.#settleLeft(signal)
    this.#refuseAfterChange()
    this.#beginAnew()
    const timer = setInterval(() => this.#tick(), progressIntervalMs)
    try {
      const source = await this.#openFile()
      const opened = await this.#deps.imports.open({
        order: this.#order(),
        source,
        nextSource: () => this.#nextSource(),
        nextOrder: this.#task.order,
        kept: {
          importId: this.#job.id,
          newId: this.#task.newId,
          watcher: this.#progress.watcher,
          onLoading: (rows) => this.#keep(rows),
        },
        signal,
        caller: {
          logFields: { job: this.#job.id },
          // It was judged when the job was added, and is known by its id since then.
          requireTarget: () => undefined,
          requireCreation: () => this.#requireCreation(),
        },
        watched: 'nothing',
      })
      try {
        const { outcome, warnings } = await opened.load()
        assert(outcome !== null, 'an import of files has an outcome')
        this.#end(outcome, warnings)
      } finally {
        await opened.close()
      }
    } finally {
      clearInterval(timer)
      await this.#file?.close()
      this.#file = null
    }
  }

  #end(outcome: ImportOutcome, warnings: readonly string[]): void {
    this.#details.warn([...warnings, ...(outcome.warnings ?? [])])
    this.#tellProgress()
    if (this.#isReplace) this.#details.count({ ...outcome, records: recordsOf(outcome) })
    if (outcome.failure !== null) throw outcome.failure
    const { before } = this.#checkpoint
    if (this.#ledger !== null) this.#details.count(addRows(before, this.#ledger.counts))
    this.#details.end()
    this.#job.tell(this.#details.fields())
    const { records, storedRows, quarantinedRows, invalidLines, shortLines } = this.#details.counts
    const { unmatchedRows = 0 } = outcome
    const accounted = storedRows + unmatchedRows + quarantinedRows + invalidLines - shortLines
    const fields = { job: this.#job.id, bytesRead: this.#details.bytesRead, rowsRead: records, storedRows }
    const counts = { ...fields, quarantinedRows, invalidLines, shortLines, unmatchedRows }
    if (accounted === records) this.#deps.logger.info(counts, 'All rows that an import by URL read are accounted for.')
    else this.#deps.logger.error(counts, 'The rows that an import by URL read are not all accounted for.')
  }

  /** As it was sent; for a data source that is known by now, rows are appended to it. */
  #order(): ImportOrder {
    const { order, newId } = this.#task
    const { subject, rows } = this.#checkpoint
    // A kill may have come between its creation and the note of it.
    const found = subject ?? (order.mode === 'replace' ? undefined : this.#deps.dataSources.find(newId)) ?? null
    if (found === null || order.mode === 'replace') return order
    if (this.#deps.dataSources.find(found.id) === undefined) throw errors.DATASOURCE_NOT_FOUND({ name: found.name })
    const written = rows === null ? {} : { csv: rows.csv, format: rows.format }
    return { ...order, ...written, mode: 'append', name: found.id }
  }

  #requireCreation(): void {
    const { order, mayCreate } = this.#task
    if (!mayCreate) throw errors.DATASOURCE_NOT_FOUND({ name: order.name ?? '' })
  }

  async #openFile(): Promise<ImportSource> {
    const { urlIndex, identity } = this.#checkpoint
    const url = this.#task.urls[urlIndex]
    assert(url !== undefined, 'a job has a URL for each of its files')
    const expected = identity === null ? {} : { expected: identity }
    // Of one that is gone on with more than its beginning is requested once it is known where.
    const isResumed = this.#isResumed
    const firstBytes = isResumed ? resumedBytes : undefined
    const file = await this.#deps.remoteFiles.open(url, { signal: this.#signal, firstBytes, ...expected })
    this.#file = file
    this.#details.begin(file, urlIndex, this.#checkpoint.before.bytes)
    await this.#save({ identity: file.identity })
    const source = sourceOf(file, { isResumed })
    if (this.#isReplace && this.#task.urls.length === 1) await refuseEmpty(source)
    return source
  }

  /** Null when all files were read. */
  async #nextSource(): Promise<ImportSource | null> {
    const { urlIndex, before } = this.#checkpoint
    if (urlIndex + 1 === this.#task.urls.length) return null
    const bytes = before.bytes + (this.#file?.receivedBytes ?? 0)
    const rows = addRows(before, this.#ledger?.counts ?? noRows)
    await this.#file?.close()
    this.#details.leave(bytes)
    this.#file = null
    this.#ledger = null
    const next = { urlIndex: urlIndex + 1, identity: null, rows: null, ledger: null, before: { ...rows, bytes } }
    await this.#save(next)
    return await this.#openFile()
  }

  /** Notes what is going to be loaded, and gives the ledger of what is stored of it. */
  async #keep({ dataSource, csv, format }: KeptRows): Promise<ImportLedger | null> {
    const subject = { kind: 'datasource', id: dataSource.id, name: dataSource.name } as const
    await this.#job.nameSubject(subject)
    await this.#save({ subject, rows: { csv, format } })
    if (this.#isReplace) return null
    this.#ledger = this.#ledgerOf(dataSource, this.#checkpoint.ledger)
    return this.#ledger
  }

  #ledgerOf(dataSource: DataSource, state: LedgerState | null): ImportLedger {
    return new ImportLedger(state, {
      prefix: `${this.#job.id}-${this.#checkpoint.urlIndex}`,
      save: (next) => this.#save({ ledger: next }),
      sync: () => this.#deps.ingest.sync(),
      changes: { name: dataSource.name, count: () => this.#deps.changes.countOf(dataSource.id) },
      tableMark: (side) => this.#deps.ingest.tableMark(dataSource, side),
      now: this.#deps.clock,
      kept: this.#deps.kept ?? undefined,
    })
  }

  async #save(changed: Partial<UrlImportCheckpoint>): Promise<void> {
    this.#checkpoint = { ...this.#checkpoint, ...changed }
    await this.#job.saveCheckpoint(this.#checkpoint)
  }

  /** What is on disk: so no kill takes back what was told. */
  #tellCounts(): void {
    const own = this.#ledger
    this.#details.count(
      own === null ? this.#storedBefore() : accounted(addRows(this.#checkpoint.before, own.keptCounts)),
    )
  }

  /** As the checkpoint has it. */
  #storedBefore(): LedgerCounts {
    const { before, ledger } = this.#checkpoint
    return accounted(addRows(before, ledger === null ? noRows : new ImportLedger(ledger, neverKept).counts))
  }

  get #isReplace(): boolean {
    return this.#task.order.mode === 'replace'
  }

  /** Tells what is stored, by earlier processes too, and how many rows may be beside that: the import ends before it could know. */
  #tellEnd(): void {
    const own = this.#ledger
    if (!this.#isReplace) {
      this.#details.count(own === null ? this.#storedBefore() : accounted(addRows(this.#checkpoint.before, own.counts)))
    }
    this.#details.doubt(this.#doubtfulRows())
    this.#job.tell(this.#details.fields())
  }

  #doubtfulRows(): number {
    const { ledger: kept } = this.#checkpoint
    const ledger = this.#ledger ?? (kept === null ? null : new ImportLedger(kept, neverKept))
    return ledger?.doubtfulRows ?? 0
  }

  #tick(): void {
    this.#tellProgress()
    this.#ledger?.noteInTime().catch((err: unknown) => {
      this.#deps.logger.warn({ job: this.#job.id, err }, 'What an import by URL has stored could not be noted yet.')
    })
    const url = this.#task.urls[this.#checkpoint.urlIndex] ?? ''
    this.#limits.check(this.#file, shownUrl(url), this.#deps.clock())
  }

  #tellProgress(): void {
    if (this.#ledger !== null) this.#tellCounts()
    this.#details.tick(this.#deps.clock())
    this.#job.tell(this.#details.fields())
  }
}

/** For a ledger that only counts. */
const neverKept = {
  prefix: '',
  save: async () => undefined,
  sync: async () => undefined,
  changes: { name: '', count: () => 0 },
  tableMark: async () => ({ blocks: 0, tables: '' }),
  now: () => 0,
}

/** Of what was read, what is stored or set aside: what is read beside that is read again, or given up. */
function accounted(counts: LedgerCounts): LedgerCounts {
  const { storedRows, quarantinedRows, invalidLines, shortLines } = counts
  return { ...counts, records: storedRows + quarantinedRows + invalidLines - shortLines }
}

/** Of an outcome that nobody has counted the records of. */
function recordsOf(outcome: ImportOutcome): number {
  const { storedRows, unmatchedRows = 0, quarantinedRows, invalidLines, shortLines } = outcome
  return storedRows + unmatchedRows + quarantinedRows + invalidLines - shortLines
}

/** Whether the same may pass a little later. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false
  // A statement that is not repeated by itself ran when the engine ended: a search for rows that are refused is many.
  return error.status === 503 || error.code === 'DATASOURCE_BUSY' || isOfStoppedEngine(error)
}

/** A file that its writer has not filled yet must not empty a data source. @throws FILE_EMPTY (400). */
async function refuseEmpty({ body }: ImportSource): Promise<void> {
  const { bytes, isWhole } = await body.beginning(1)
  if (isWhole && bytes.length === 0) throw errors.FILE_EMPTY()
}
