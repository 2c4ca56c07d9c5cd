/**
 * Statements of the service: changes that return no rows, and looks at the engine's own tables.
 *
 * - Short ones have sessions that nothing long may hold up, long ones others, and what computes a caller's text others again
 *   (`computing-statements.ts`).
 * - Whatever is no mere change of rows may change a definition: the files of definitions are looked after
 *   (`definition-files.ts`), and `definitionVersion` is another one afterwards, also where the statement failed, as it may have
 *   done its work before; but not where the table is a pin, on which nothing depends.
 * - What does no more when it is repeated is, once, where the engine ends meanwhile; all else is refused with a `StoreError` of
 *   kind `stopped`.
 */
import type { Logger } from '../../observe/logger.ts'
import { repeated } from '../repeated.ts'
import { qualified } from '../sql/qualified.ts'
import type { CommandNature, RowsNature, Statements } from '../statements.types.ts'
import { silentError } from '../store-error.ts'
import { ComputingStatements } from './computing-statements.ts'
import type { DefinitionFiles } from './definition-files.ts'
import type { EngineDoors } from './engine-doors.ts'
import type { EngineSession } from './engine-session.types.ts'
import type { TimeLimit } from './session-pool.ts'

interface OwnStatementsOptions {
  /** Longest run of a definition that computes something; 10 s when absent. */
  readonly definitionTimeMaxMs?: number
}

interface OwnStatementsDeps {
  readonly engine: Pick<EngineDoors, 'control' | 'definers' | 'lateError' | 'workers'>
  readonly definitions: Pick<DefinitionFiles, 'during'>
  readonly logger: Logger
}

/** Whatever is no mere change of rows. Statements that move whole partitions change rows alone. */
const definitionStatement =
  /^\s*(?!TRUNCATE|INSERT|OPTIMIZE|SYSTEM|ALTER\s+TABLE\s+\S+\s+(?:ATTACH|DROP|MOVE|REPLACE)\s+PARTITION\b)/i
/** Statements that do no more when they are repeated. */
const repeatableStatement = /^\s*(?:DROP\s+\w+\s+IF\s+EXISTS|CREATE\s+[\w ]+?\s+IF\s+NOT\s+EXISTS)\b/i
const definitionTimeMaxMsDefault = 10_000
const lookTimeMaxMs = 60_000

export class OwnStatements implements Statements {
  readonly #deps: OwnStatementsDeps
  readonly #computing: ComputingStatements
  #definitionVersion = 0

  constructor({ definitionTimeMaxMs = definitionTimeMaxMsDefault }: OwnStatementsOptions, deps: OwnStatementsDeps) {
    this.#deps = deps
    const { engine, logger } = deps
    this.#computing = new ComputingStatements(definitionTimeMaxMs, {
      engine,
      logger,
      drop: (table) => this.#drop(table),
    })
  }

  /** See `Store.definitionVersion`. */
  get definitionVersion(): number {
    return this.#definitionVersion
  }

  /** The engine was started again: what it was about to change is changed, or not. */
  onRestart(): void {
    this.#definitionVersion += 1
  }

  async command(sql: string, { computes = false, isLong = false, isAside = false }: CommandNature = {}): Promise<void> {
    if (this.#computing.takes(sql)) return
    const mayRepeat = repeatableStatement.test(sql)
    if (computes) {
      // Rows come into tables that nobody knows.
      const isTrial = mayRepeat || /^\s*INSERT\b/i.test(sql)
      await this.#computing.run(sql, (run) => this.#change(sql, () => run(sql)), isTrial)
      return
    }
    const { control, workers } = this.#deps.engine
    const pool = isLong ? workers : control
    const run = (): Promise<string> => pool.use((session) => session.run(sql))
    const change = (): Promise<string> => (mayRepeat ? repeated(run) : run())
    if (isAside) await this.#during(sql, change, isAside)
    else await this.#change(sql, change)
  }

  async rows<Row>(sql: string, { isLong = false }: RowsNature = {}): Promise<readonly Row[]> {
    const read = (session: EngineSession): Promise<string> => session.run(`${sql}\nFORMAT JSONEachRow`)
    const { control, workers } = this.#deps.engine
    const text = await repeated(() => (isLong ? workers.use(read) : control.lendWithin(read, this.#lookTime)))
    const lines = text.split('\n').filter((line) => line.length > 0)
    // The caller wrote the SELECT and names the shape of its rows.
    return lines.map((line) => JSON.parse(line) as Row)
  }

  async #change(sql: string, run: () => Promise<unknown>): Promise<void> {
    try {
      await this.#during(sql, run)
    } finally {
      if (definitionStatement.test(sql)) this.#definitionVersion += 1
    }
  }

  async #during(sql: string, run: () => Promise<unknown>, isPassing = false): Promise<void> {
    if (definitionStatement.test(sql)) {
      await this.#deps.definitions.during(sql, { run, drop: (table) => this.#drop(table), isPassing })
    } else await run()
  }

  async #drop(table: string): Promise<void> {
    const sql = `DROP TABLE IF EXISTS ${qualified(table)}`
    try {
      await repeated(() => this.#deps.engine.control.use((session) => session.run(sql)))
    } finally {
      this.#definitionVersion += 1
    }
  }

  get #lookTime(): TimeLimit {
    const reason = `it did not answer the service within ${lookTimeMaxMs / 1000} s`
    return { timeMaxMs: lookTimeMaxMs, lateError: () => this.#deps.engine.lateError(silentError(reason)) }
  }
}
