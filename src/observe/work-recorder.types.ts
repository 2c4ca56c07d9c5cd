// What modules tell of their work for the service data sources. They are handed a recorder, as they are handed a log: the module that
// makes rows of it imports the store, and nobody imports that one.

/** Takes what it is told and returns at once: nothing waits for it, and nothing fails by it. */
export interface WorkRecorder {
  /** False where nothing is kept, which spares its making. */
  readonly isOn: boolean
  /** A query that a caller has asked, at its end. */
  request(record: RequestRecord): void
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
  readonly userAgent: string
  readonly readRows: number
  readonly readBytes: number
  readonly resultRows: number
}

/** For a service whose service data sources are switched off. */
export const noRecorder: WorkRecorder = { isOn: false, request: () => undefined }
