import { Session } from 'chdb'
import { toStoreError } from './store-error.ts'

/**
 * One connection to the embedded engine. It runs one statement at a time: `SessionPool` lends it.
 *
 * What a statement had written when it failed stays with the engine, and comes out in front of the output of the next
 * one on the same connection. So after a failure the connection is emptied before anything else runs on it.
 */
export class EngineSession {
  readonly #session: Session
  #mayHoldOutput = false

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
    const result = await this.#runEmptied(sql)
    return result.text()
  }

  /** Runs a statement on a thread of libuv's pool and gives its output as bytes, held in memory as a whole. */
  async runForBytes(sql: string): Promise<Uint8Array> {
    const result = await this.#runEmptied(sql)
    return result.bytes()
  }

  close(): void {
    this.#session.close()
  }

  async #runEmptied(sql: string): ReturnType<Session['queryAsync']> {
    try {
      // The one who failed could not empty it, as the engine was out of memory, for example.
      if (this.#mayHoldOutput) await this.#empty()
      return await this.#session.queryAsync(sql)
    } catch (thrown) {
      this.#mayHoldOutput = true
      // Whether it succeeds is asked before the next statement.
      await this.#empty().catch(() => undefined)
      throw toStoreError(thrown)
    }
  }

  async #empty(): Promise<void> {
    for (;;) {
      const { length } = (await this.#session.queryAsync('SELECT 1 FORMAT Null')).bytes()
      if (length === 0) break
    }
    this.#mayHoldOutput = false
  }
}
