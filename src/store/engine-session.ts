import { Session } from 'chdb'
import { toStoreError } from './store-error.ts'

/** One connection to the embedded engine. It runs one statement at a time: `SessionPool` lends it. */
export class EngineSession {
  readonly #session: Session

  /**
   * Opens the engine, or joins the open one when it serves the same directory. Synchronous, 100 ms or more for the first
   * session of a process.
   */
  constructor(directory: string, configPath: string) {
    this.#session = new Session(directory, { connectionArgs: [`--config-file=${configPath}`] })
  }

  /** Runs a statement while the store opens. Never later: it blocks the event loop, and with it the pool's order. */
  runNow(sql: string): void {
    try {
      this.#session.query(sql)
    } catch (thrown) {
      throw toStoreError(thrown)
    }
  }

  /** Runs a statement on a thread of libuv's pool and gives its output as text. */
  async run(sql: string): Promise<string> {
    try {
      const result = await this.#session.queryAsync(sql)
      return result.text()
    } catch (thrown) {
      throw toStoreError(thrown)
    }
  }

  /** Runs a statement on a thread of libuv's pool and gives its output as bytes, held in memory as a whole. */
  async runForBytes(sql: string): Promise<Uint8Array> {
    try {
      const result = await this.#session.queryAsync(sql)
      return result.bytes()
    } catch (thrown) {
      throw toStoreError(thrown)
    }
  }

  close(): void {
    this.#session.close()
  }
}
