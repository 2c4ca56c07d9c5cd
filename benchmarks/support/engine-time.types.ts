/** What the process that holds the engine alone is to measure. */
export interface EngineTask {
  /** The service's data directory; no service may have it open. */
  readonly directory: string
  /** Asked in turn by each session: the SQL that the service would give to the engine. */
  readonly queries: readonly string[]
  readonly clientCount: number
  readonly durationMs: number
}

export interface EngineReport {
  readonly timesMs: readonly number[]
}
