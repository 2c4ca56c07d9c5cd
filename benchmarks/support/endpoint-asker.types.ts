/** What the process of the clients is to ask. */
export interface AskingTask {
  readonly url: string
  readonly adminToken: string
  /** Paths with their query, asked in turn by each client. */
  readonly paths: readonly string[]
  readonly clientCount: number
  readonly durationMs: number
}

export interface AskingReport {
  readonly timesMs: readonly number[]
  /** Of the header Server-Timing. */
  readonly resolveMs: readonly number[]
  readonly engineMs: readonly number[]
}
