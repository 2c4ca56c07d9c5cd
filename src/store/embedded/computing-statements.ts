/**
 * Statements that compute what a caller wrote: definitions of tables, and the rows that they are tried with.
 *
 * The engine computes constants while it reads a definition, and cannot be stopped there. So these statements have sessions
 * of their own, and a limit of time behind which their callers are told. What a late one makes after all is dropped as soon
 * as it has ended, and until then no other statement touches its table: the engine would let it wait, and keep a session.
 */
import type { Logger } from '../../observe/logger.ts'
import { isStopped, lateDefinitionError, StoreError } from '../store-error.ts'
import { workspaceDatabase } from '../workspace-database.ts'
import { tablesNamedIn } from './definition-text.ts'
import type { EngineDoors } from './engine-doors.ts'

interface ComputingDeps {
  readonly engine: Pick<EngineDoors, 'definers' | 'lateError'>
  readonly logger: Logger
  readonly drop: (table: string) => Promise<void>
}

/** Runs the statement in a session, with all that belongs to it. */
export type RunChange = (run: (sql: string) => Promise<unknown>) => Promise<void>

interface LateStatement {
  isToDrop: boolean
}

export class ComputingStatements {
  readonly #timeMaxMs: number
  readonly #deps: ComputingDeps
  /** By the table that each holds. */
  readonly #late = new Map<string, LateStatement>()

  constructor(timeMaxMs: number, deps: ComputingDeps) {
    this.#timeMaxMs = timeMaxMs
    this.#deps = deps
  }

  /** @param mayRepeat once, where the engine ends meanwhile. @throws StoreError `late`, `busy`, and what the engine says. */
  async run(sql: string, change: RunChange, mayRepeat: boolean): Promise<void> {
    try {
      await this.#runOnce(sql, change)
    } catch (thrown) {
      if (!mayRepeat || !isStopped(thrown) || this.#late.has(tableOf(sql))) throw thrown
      await this.#runOnce(sql, change)
    }
  }

  /**
   * Whether a statement is done with, as a late one holds its table: a DROP, which comes behind that.
   *
   * @throws StoreError `busy` for any other statement on such a table.
   */
  takes(sql: string): boolean {
    const late = this.#late.size === 0 ? undefined : this.#late.get(tableOf(sql))
    if (late === undefined) return false
    if (!/^\s*DROP\s+TABLE\b/i.test(sql)) throw heldError()
    late.isToDrop = true
    return true
  }

  async #runOnce(sql: string, change: RunChange): Promise<void> {
    const { engine } = this.#deps
    let running: Promise<void> = Promise.resolve()
    const work = (session: { readonly run: (text: string) => Promise<unknown> }): Promise<void> => {
      running = change((text) => session.run(text))
      return running
    }
    const tellLate = (): StoreError => {
      this.#note(sql, running)
      return engine.lateError(lateDefinitionError(this.#timeMaxMs))
    }
    await engine.definers.lendWithin(work, { timeMaxMs: this.#timeMaxMs, lateError: tellLate })
  }

  #note(sql: string, running: Promise<void>): void {
    const table = tableOf(sql)
    const late: LateStatement = { isToDrop: /^\s*CREATE\b/i.test(sql) }
    this.#late.set(table, late)
    const end = async (): Promise<void> => {
      // Whoever waited for it has been told something else already.
      await running.catch(() => undefined)
      this.#late.delete(table)
      if (late.isToDrop) await this.#deps.drop(table)
    }
    end().catch((err: unknown) => {
      this.#deps.logger.warn(
        { err, table },
        'The table of a late definition is not dropped yet; the next start does it.',
      )
    })
  }
}

/** The first that a statement of our own names. */
function tableOf(sql: string): string {
  const [table = ''] = tablesNamedIn(sql, workspaceDatabase)
  return table
}

function heldError(): StoreError {
  return new StoreError({
    kind: 'busy',
    message: 'A definition of this table is still being computed; repeat it later',
  })
}
