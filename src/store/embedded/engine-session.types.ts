/**
 * One connection to the engine. It runs one statement at a time: `SessionPool` lends it.
 *
 * Its methods raise `StoreError`, of kind `stopped` when the engine ended before it answered.
 */
export interface EngineSession {
  /** Runs a statement and gives its output as text. */
  run(sql: string): Promise<string>
  /** Runs a statement and gives its output as bytes, held in memory as a whole. */
  runForBytes(sql: string): Promise<Uint8Array>
}

/**
 * What a session may do.
 *
 * - `control`: statements of our own.
 * - `stopper`: stops statements of the others, and must never wait behind them.
 * - `writer`: INSERTs.
 * - `reader`: queries of readers, restricted.
 * - `definer`: what callers' definitions compute, within the memory of a query.
 * - `copier`: statements of our own that take long, such as copies of tables.
 */
export type SessionRole = 'control' | 'stopper' | 'writer' | 'reader' | 'definer' | 'copier'

/** What the process of the engine is told when it opens. */
export interface OpenOrder {
  /** The engine's own directory. */
  readonly directory: string
  readonly configPath: string
  /** Of the sessions, in the order of their numbers. */
  readonly roles: readonly SessionRole[]
  readonly limits: ReaderLimits
}

/** What a session of a reader is set to. */
export interface ReaderLimits {
  readonly queryTimeMaxMs: number
  readonly queryMemoryBytesMax: number
}

/** Why the engine did not open. */
export interface EngineRefusal {
  /** Whether another process holds the engine's lock. */
  readonly isInUse: boolean
  readonly reason: string
}
