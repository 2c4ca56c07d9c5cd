// What modules tell of their work for the service data sources. They are handed a recorder, as they are handed a log: the module that
// makes rows of it imports the store, and nobody imports that one.

/** Takes what it is told and returns at once: nothing waits for it, and nothing fails by it. */
export interface WorkRecorder {
  /** False where nothing is kept, which spares its making. */
  readonly isOn: boolean
  /** Rows that were dropped since the start, as there was no room for them or they could not be stored. */
  readonly droppedCount: number
  /** A query that a caller has asked, at its end. */
  request(record: RequestRecord): void
  /** What was done to a data source, or failed. */
  operation(record: OperationRecord): void
  /** A block of an import that is loaded. */
  block(record: BlockRecord): void
  /** A job that has another status. */
  job(record: JobRecord): void
  /** The size of a data source. */
  storage(record: StorageRecord): void
  /** A token that was changed. */
  token(record: TokenRecord): void
  /** A refusal by a limit. */
  limit(record: LimitRecord): void
}

/** A data source as it is told of. */
export interface RecordedSource {
  readonly id: string
  readonly name: string
}

export interface RequestRecord {
  readonly requestId: string
  /** Id and name of the pipe, or of the SQL route for both. */
  readonly pipeId: string
  readonly pipeName: string
  readonly startedAtMs: number
  readonly durationMs: number
  readonly url: string
  /** Those of the URL: what a body has leaves no trace. */
  readonly parameters: Readonly<Record<string, unknown>>
  readonly method: string
  readonly statusCode: number
  /** Null where it was answered. */
  readonly error: string | null
  readonly tokenId: string
  readonly tokenName: string
  /** Its name is what its signer wrote, and not one that the workspace keeps. */
  readonly isJwt: boolean
  readonly userAgent: string
  readonly readRows: number
  readonly readBytes: number
  readonly resultRows: number
}

export interface OperationRecord {
  /** As the hosted service calls it: `append`, `append-hfi` for events, `replace`, `create`, `delete`, `truncate`, `alter`, … */
  readonly eventType: string
  readonly dataSource: RecordedSource
  readonly startedAtMs: number
  readonly elapsedMs: number
  /** Null where it was done. */
  readonly error: string | null
  readonly rows?: number
  readonly quarantinedRows?: number
  readonly readBytes?: number
  readonly importId?: string
  readonly jobId?: string
  readonly requestId?: string
  readonly blockIds?: readonly string[]
  readonly options?: Readonly<Record<string, string>>
  readonly pipe?: RecordedSource
}

export interface BlockRecord {
  readonly atMs: number
  readonly importId: string
  readonly jobId: string
  readonly requestId: string
  /** `body` or `url`. */
  readonly source: string
  readonly blockId: string
  readonly status: string
  readonly dataSource: RecordedSource
  readonly rows: number
  readonly parser: string
  readonly quarantinedLines: number
  readonly emptyLines: number
  readonly bytes: number
  readonly elapsedMs: number
}

export interface JobRecord {
  readonly id: string
  readonly kind: string
  readonly status: string
  readonly createdAtMs: number
  readonly updatedAtMs: number
  readonly startedAtMs: number | null
  readonly subject: (RecordedSource & { readonly kind: 'datasource' | 'pipe' }) | null
  /** Without what they may quote of rows; null where it has not failed. */
  readonly error: string | null
  readonly details: Readonly<Record<string, unknown>>
}

export interface StorageRecord {
  readonly atMs: number
  readonly dataSource: RecordedSource
  readonly rows: number
  readonly bytes: number
  readonly quarantinedRows: number
  readonly quarantinedBytes: number
}

export interface TokenRecord {
  readonly atMs: number
  readonly action: string
  readonly token: RecordedSource
  /** Who changed it; without id for the service itself. */
  readonly editorId: string | null
  readonly editorName: string
  readonly changedFields: readonly string[]
  readonly scopes: readonly string[]
}

export interface LimitRecord {
  readonly atMs: number
  readonly limit: string
  readonly code: string
  readonly status: number
  readonly requestId: string
  readonly tokenId: string | null
  readonly tokenName: string | null
  readonly resource: string | null
}

/** For a service whose service data sources are switched off. */
export const noRecorder: WorkRecorder = {
  isOn: false,
  droppedCount: 0,
  request: () => undefined,
  operation: () => undefined,
  block: () => undefined,
  job: () => undefined,
  storage: () => undefined,
  token: () => undefined,
  limit: () => undefined,
}
