import type { Logger } from '../../observe/logger.ts'
import { quoteString } from '../../shared/text-escapes.ts'
import { within } from '../../shared/within.ts'
import type { EngineSession } from './engine-session.types.ts'
import type { SessionPool } from './session-pool.ts'

/** How often a statement is stopped once more that has not ended: the engine may not have known it yet. */
const stopIntervalMs = 50

/**
 * Stops statements by the `log_comment` that each has.
 *
 * All that are to end are stopped by one KILL QUERY: one for each of them would line up on the only session that can stop
 * others, and the sessions of those behind would stay lent for seconds when a hundred clients leave at once.
 */
export class StatementStops {
  readonly #session: SessionPool<EngineSession>
  readonly #logger: Logger
  readonly #ids = new Set<string>()
  #isStopping = false
  /** Ends the wait until the next KILL QUERY. */
  #wake: () => void = () => undefined

  constructor(session: SessionPool<EngineSession>, logger: Logger) {
    this.#session = session
    this.#logger = logger
  }

  /** Stops a statement until the function is called that this gives: when the statement has ended. */
  begin(id: string): () => void {
    this.#ids.add(id)
    this.#wake()
    void this.#stopAll()
    return () => this.#ids.delete(id)
  }

  async #stopAll(): Promise<void> {
    if (this.#isStopping) return
    this.#isStopping = true
    while (this.#ids.size > 0) {
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve
      })
      await this.#stopOnce([...this.#ids])
      await within(stopIntervalMs, woken)
    }
    this.#isStopping = false
  }

  async #stopOnce(ids: readonly string[]): Promise<void> {
    // SYNC would wait for the end of the statements on this, the only session that can stop others.
    const statement = `KILL QUERY WHERE Settings['log_comment'] IN (${ids.map(quoteString).join(', ')}) ASYNC`
    try {
      await this.#session.use((session) => session.run(statement))
    } catch (err) {
      for (const id of ids) this.#ids.delete(id)
      this.#logger.warn({ err, statements: ids }, 'Statements could not be stopped; they end by their own time limit.')
    }
  }
}
