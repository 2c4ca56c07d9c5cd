import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '../../observe/logger.ts'
import { clickhouseCodes } from '../engine-codes.ts'
import { tablesBehind } from '../sql/table-graph.ts'
import { ViewStatements } from '../sql/view-statements.ts'
import type { Statements } from '../statements.types.ts'
import { isOfView, StoreError } from '../store-error.ts'
import { dropOrphanRecords, mayHaveOrphanRecords, type RepairedTable } from './deduplication-repair.ts'
import type { EngineSession } from './engine-session.types.ts'
import type { SessionPool } from './session-pool.ts'

interface Pools {
  readonly writers: SessionPool<EngineSession>
  readonly readers: SessionPool<EngineSession>
  readonly logger: Logger
  /** Longest run of one INSERT. */
  readonly insertTimeMaxMs: number
}

/** What running INSERTs get beyond their limit of time before their tables' deduplication records are mended. */
const insertGraceMs = 10_000
/** A record is written so shortly before its part. */
const lookAgainMs = 100
/** What running queries get to end before a table is gone for a moment. */
const quietTimeMaxMs = 250

/** When deduplication records of parts that never came to be are dropped: see `deduplication-repair.ts`. */
export class OrphanRepairs {
  readonly #statements: Statements
  readonly #pools: Pools
  #last: Promise<unknown> = Promise.resolve()

  constructor(statements: Statements, pools: Pools) {
    this.#statements = statements
    this.#pools = pools
  }

  /** Looks at all tables. Precondition: no INSERT runs and nobody reads. */
  async dropAll(): Promise<void> {
    this.#tell(await dropOrphanRecords(this.#statements))
  }

  /** Whether what an INSERT failed with may leave some; a row that is refused on purpose fails before anything is written. */
  mayBeNeeded(error: unknown): boolean {
    if (!(error instanceof StoreError) || error.kind !== 'engine') return false
    return error.clickhouseCode !== clickhouseCodes.thrownIf || isOfView(error)
  }

  /** Looks at what rows of this table come to. What fails here is done after the next failure, or at the next start. Never throws. */
  async dropBehind(table: string): Promise<void> {
    try {
      const tables = tablesBehind(await new ViewStatements(this.#statements).graph(), table)
      if (!(await mayHaveOrphanRecords(this.#statements, tables))) return
      // A block that another INSERT is about to store looks like one, and a pause of all INSERTs may last.
      await delay(lookAgainMs)
      if (!(await mayHaveOrphanRecords(this.#statements, tables))) return
      await this.inTurn(() => this.#drop(tables))
    } catch (err) {
      this.#pools.logger.error(
        { err, table },
        'Deduplication records could not be looked at after an INSERT that failed.',
      )
    }
  }

  /** Runs work that pauses readers; one at a time, as it may have to wait for what the one before it pauses. */
  async inTurn(work: () => Promise<void>): Promise<void> {
    const running = this.#last.then(work)
    this.#last = running.catch(() => undefined)
    await running
  }

  /** No INSERT runs meanwhile: its block would look like an orphan. Readers wait, as tables are gone for a moment. */
  async #drop(tables: ReadonlySet<string>): Promise<void> {
    const { writers, readers, insertTimeMaxMs } = this.#pools
    await writers.whilePaused(insertTimeMaxMs + insertGraceMs, async () => {
      if (writers.lentCount > 0) throw new Error('an INSERT does not end')
      const dropped = readers.whilePaused(quietTimeMaxMs, () => dropOrphanRecords(this.#statements, tables))
      this.#tell(await dropped)
    })
  }

  #tell(repaired: readonly RepairedTable[]): void {
    for (const { table, orphanCount } of repaired) {
      const fields = { table, orphanCount }
      this.#pools.logger.warn(
        fields,
        'Deduplication records without a part are dropped: their blocks were never stored, or all of their rows are deleted.',
      )
    }
  }
}
