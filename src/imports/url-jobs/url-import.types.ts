import type { DataSourceId } from '../../catalog/data-source.types.ts'
import type { CsvRules, ImportFormat } from '../../ingest/ingest.types.ts'
import type { LedgerCounts, LedgerState } from '../../ingest/insert/import-ledger.types.ts'
import type { Job, JobOwner, JobSubject } from '../../jobs/jobs.types.ts'
import type { LogFields } from '../../observe/logger.ts'
import type { Analysis, ImportOrder, Progress } from '../imports.types.ts'
import type { FileIdentity } from '../url/remote-file.types.ts'

/** Imports of files that are named by their URLs, each a job of kind `import`. */
export interface UrlImports {
  /**
   * Takes an import; its job is on disk when this resolves.
   *
   * @throws URL_INVALID, URL_REFUSED (400), JOBS_TOO_MANY (429), and what `Imports.check` does.
   */
  add(request: UrlImportRequest): Promise<Job>
  /**
   * What would be created for the file of a URL, without creating or storing anything.
   *
   * @throws BODIES_TOO_MANY (503) when as many run as may, and as `RemoteFiles.open` and `Imports.analyze` do.
   */
  analyze(url: string, order: AnalyzedOrder, signal: AbortSignal): Promise<Analysis>
  /** What became of the blocks of a job that works, or was one of the last that did; undefined for others. */
  progressOf(jobId: string): Progress | undefined
}

export type AnalyzedOrder = Pick<ImportOrder, 'csv' | 'format' | 'hasTypes' | 'schema'>

export interface UrlImportRequest {
  /** One at least; they are loaded one after the other. */
  readonly urls: readonly string[]
  readonly order: ImportOrder
  /** See `ImportCaller`. */
  readonly requireTarget: (id: DataSourceId) => void
  /** Whether the caller may create the data source, where an append lacks it. */
  readonly mayCreate: boolean
  readonly owner: JobOwner
  readonly logFields: LogFields
}

/** What a job is to do, as it is kept: sealed, since a URL may be a secret. */
export interface UrlImportTask extends Pick<UrlImportRequest, 'mayCreate' | 'order' | 'urls'> {
  /** The id of the data source, if one is created. */
  readonly newId: DataSourceId
}

/** Where a job is. A plain JSON value. */
export interface UrlImportCheckpoint {
  readonly format: 1
  /** Null until the data source is found or made. */
  readonly subject: JobSubject | null
  /** The file that is loaded, counted from 0. */
  readonly urlIndex: number
  /** Null until the server has said it. */
  readonly identity: FileIdentity | null
  /** How its rows are written; null until that is known. */
  readonly rows: { readonly csv: CsvRules; readonly format: ImportFormat } | null
  /** What is stored of it; null for nothing. */
  readonly ledger: LedgerState | null
  /** Of the files before it. */
  readonly before: LedgerCounts & { readonly bytes: number }
}
