import { Session } from 'chdb'

/**
 * One connection to the engine that lives in this process: the engine's own process, and no other.
 *
 * What a statement had written when it failed stays with the engine, and comes out in front of the output of the next
 * one on the same connection. So after a failure the connection is emptied before anything else runs on it.
 */
export class ChdbSession {
  readonly #session: Session
  #mayHoldOutput = false

  /**
   * Opens the engine, or joins the open one when it serves the same directory. Synchronous, 100 ms or more for the first
   * session of a process.
   */
  constructor(directory: string, configPath: string) {
    this.#session = new Session(directory, { connectionArgs: [`--config-file=${configPath}`] })
  }

  /** Runs a statement on this thread, which is for settings of the session alone. Throws what the engine says. */
  runNow(sql: string): void {
    this.#session.query(sql)
  }

  /** Runs a statement on a thread of libuv's pool and gives its output. Throws what the engine says. */
  async run(sql: string): Promise<Uint8Array> {
    try {
      // The one who failed could not empty it, as the engine was out of memory, for example.
      if (this.#mayHoldOutput) await this.#empty()
      return (await this.#session.queryAsync(sql)).bytes()
    } catch (thrown) {
      this.#mayHoldOutput = true
      // Whether it succeeds is asked before the next statement.
      await this.#empty().catch(() => undefined)
      throw thrown
    }
  }

  close(): void {
    this.#session.close()
  }

  async #empty(): Promise<void> {
    for (;;) {
      const { length } = (await this.#session.queryAsync('SELECT 1 FORMAT Null')).bytes()
      if (length === 0) break
    }
    this.#mayHoldOutput = false
  }
}
