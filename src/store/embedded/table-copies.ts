/**
 * Rows that go from table to table inside of the engine: copies, and tables that get each other's content.
 *
 * - Copies have sessions of their own, so that nobody else waits for one.
 * - Tables are exchanged by one statement while no reader's query begins. It exchanges one pair after the other, so a query
 *   that begins in its middle would see a mixture. Those that run get a moment to end; longer ones may be asked again
 *   (`exchanged-reads.ts`).
 * - One exchange or repair of tables runs at a time, as each pauses the readers.
 */
import { type CopyLimits, copyStatement, exchangeStatement, queryCopyStatement } from '../sql/copy-statement.ts'
import type { Statements } from '../statements.types.ts'
import type { Copies, CopyRequest, QueryCopyRequest, TablePair } from '../store.types.ts'
import type { EngineDoors } from './engine-doors.ts'
import type { ExchangedReads } from './exchanged-reads.ts'
import type { OrphanRepairs } from './orphan-repairs.ts'

interface TableCopiesDeps {
  readonly engine: Pick<EngineDoors, 'copiers' | 'readers'>
  readonly statements: Pick<Statements, 'command'>
  readonly repairs: Pick<OrphanRepairs, 'inTurn'>
  readonly reads: Pick<ExchangedReads, 'during'>
}

/** What running queries get to end before tables are exchanged. */
const quietTimeMaxMs = 250

export class TableCopies implements Copies {
  readonly #limits: CopyLimits
  readonly #deps: TableCopiesDeps

  constructor(limits: CopyLimits, deps: TableCopiesDeps) {
    this.#limits = limits
    this.#deps = deps
  }

  async copy(request: CopyRequest): Promise<void> {
    await this.#run(copyStatement(request, this.#limits), false)
  }

  /** The same before INSERTs and readers may run, for what mends the tables of an engine that was started again. */
  async copyWhilePaused(request: CopyRequest): Promise<void> {
    await this.#run(copyStatement(request, this.#limits), true)
  }

  async copyQuery(request: QueryCopyRequest): Promise<void> {
    await this.#run(queryCopyStatement(request, this.#limits), false)
  }

  async exchange(pairs: readonly TablePair[]): Promise<void> {
    const { engine, reads, repairs, statements } = this.#deps
    const exchange = () => reads.during(pairs, () => statements.command(exchangeStatement(pairs)))
    await repairs.inTurn(() => engine.readers.whilePaused(quietTimeMaxMs, exchange))
  }

  async #run(statement: string, passesPause: boolean): Promise<void> {
    await this.#deps.engine.copiers.use((session) => session.run(statement), { passesPause })
  }
}
