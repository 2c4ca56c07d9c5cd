import type { TableDefinition } from '../../schema/expressions/checked-text.types.ts'
import { quoteString } from '../../shared/text-escapes.ts'
import type {
  CopiedRows,
  RecordSize,
  ReplayCell,
  ReplayChoice,
  ReplayCounts,
  ReplayExpression,
  ReplayFailureRow,
  ReplayFailuresRequest,
  Replays,
} from '../quarantines.types.ts'
import type { Statements } from '../statements.types.ts'
import type { Reads } from '../store.types.ts'
import type { Tables } from '../tables.types.ts'
import { plainReason } from './plain-reason.ts'
import { qualified } from './qualified.ts'
import { quarantineTable } from './quarantine-table.ts'
import { readRows } from './reader-rows.ts'
import { replayTables } from './replay-tables.ts'

interface ReplayLimits {
  /** Expressions of a caller run in the copy of the chosen rows, so it has no more than a query. */
  readonly queryMemoryBytesMax: number
}

interface ReplayDeps {
  readonly statements: Statements
  readonly reads: Pick<Reads, 'select'>
  readonly tables: Pick<Tables, 'drop' | 'recreate'>
}

/** `Replays` by statements that every adapter of the store can run. */
export class ReplayStatements implements Replays {
  readonly #limits: ReplayLimits
  readonly #deps: ReplayDeps

  constructor(limits: ReplayLimits, deps: ReplayDeps) {
    this.#limits = limits
    this.#deps = deps
  }

  async tryExpression(table: string, { kind, text }: ReplayExpression, signal: AbortSignal): Promise<void> {
    const source = qualified(quarantineTable(table))
    const sql = {
      condition: () => `SELECT c__row FROM ${source} WHERE (${text}) LIMIT 0`,
      fix: () => `SELECT c__row, ${fixedText(text)} FROM ${source} LIMIT 0`,
    }[kind]()
    await readRows(this.#deps.reads, sql, signal)
  }

  async countChosen(table: string, choice: ReplayChoice, signal: AbortSignal): Promise<number> {
    // An alias that a column could have would hide it from the condition.
    const sql = `SELECT count() AS __0 FROM ${chosenSource(table, choice)}`
    const [count] = await readRows<{ readonly __0: number | string }>(this.#deps.reads, sql, signal)
    return Number(count?.__0 ?? 0)
  }

  async copyChosen(table: string, choice: ReplayChoice, rowsMax: number): Promise<CopiedRows> {
    const { statements, tables } = this.#deps
    const { queryMemoryBytesMax } = this.#limits
    const { chosen, misfits } = replayTables(table)
    await this.drop(table)
    await tables.recreate(misfits, misfitsDefinition)
    await tables.recreate(chosen, chosenDefinition)
    await statements.command(
      `INSERT INTO ${qualified(chosen)} (n, row, record)
       SELECT rowNumberInAllBlocks(), c__row, ${recordOf(choice.cells)} FROM ${chosenSource(table, choice)} LIMIT ${rowsMax}
       SETTINGS async_insert = 0, max_threads = 1, max_execution_time = ${choiceTimeMaxSeconds},
         max_memory_usage = ${queryMemoryBytesMax}`,
      { isLong: true },
    )
    const copied = `(SELECT count() FROM ${qualified(chosen)})`
    const known = `(SELECT count() FROM ${qualified(quarantineTable(table))} WHERE ${isAmong('c__row', chosen)})`
    const [counts] = await statements.rows<CopiedRows>(`SELECT ${copied} AS copied, ${known} AS known`, {
      isLong: true,
    })
    return counts ?? { copied: 0, known: 0 }
  }

  async recordSizes(
    table: string,
    { from, rowsMax }: { readonly from: number; readonly rowsMax: number },
  ): Promise<readonly RecordSize[]> {
    return await this.#deps.statements.rows<RecordSize>(
      `SELECT n AS number, length(record) AS byteCount FROM ${qualified(replayTables(table).chosen)}
       WHERE n >= ${from} ORDER BY n LIMIT ${rowsMax}`,
      { isLong: true },
    )
  }

  async records(
    table: string,
    { next, end }: { readonly next: number; readonly end: number },
  ): Promise<readonly Uint8Array[]> {
    const { chosen, misfits } = replayTables(table)
    // In base 64, as their bytes need not be UTF-8.
    const rows = await this.#deps.statements.rows<{ readonly record: string }>(
      `SELECT base64Encode(record) AS record FROM ${qualified(chosen)}
       WHERE n >= ${next} AND n < ${end} AND NOT (${isAmong('row', misfits)}) ORDER BY n`,
      { isLong: true },
    )
    return rows.map(({ record }) => Buffer.from(record, 'base64'))
  }

  async counts(table: string): Promise<ReplayCounts> {
    const { chosen, misfits } = replayTables(table)
    const [counts] = await this.#deps.statements.rows<ReplayCounts>(
      `SELECT (SELECT count() FROM ${qualified(chosen)}) AS chosenRows,
         (SELECT uniqExact(row) FROM ${qualified(misfits)}) AS failedRows`,
      { isLong: true },
    )
    return counts ?? { chosenRows: 0, failedRows: 0 }
  }

  async failures(table: string, request: ReplayFailuresRequest): Promise<readonly ReplayFailureRow[]> {
    const { failuresMax, samplesMax, digitsPattern } = request
    return await this.#deps.statements.rows<ReplayFailureRow>(
      `SELECT column, ${plainReason('text')} AS reason, count() AS rowCount, groupUniqArray(${samplesMax})(text) AS samples,
         argMinIf(text, length(text), match(text, ${quoteString(digitsPattern)})) AS digits
       FROM ${qualified(replayTables(table).misfits)} ARRAY JOIN columns AS column, reasons AS text
       GROUP BY column, reason ORDER BY rowCount DESC, column, reason LIMIT ${failuresMax}`,
      { isLong: true },
    )
  }

  async deleteReplayed(table: string): Promise<void> {
    const { chosen, misfits } = replayTables(table)
    await this.#deps.statements.command(
      `ALTER TABLE ${qualified(quarantineTable(table))} DELETE WHERE ${isAmong('c__row', chosen)}
       AND NOT (${isAmong('c__row', misfits)}) SETTINGS mutations_sync = 2`,
      { isLong: true },
    )
  }

  async drop(table: string): Promise<void> {
    for (const name of Object.values(replayTables(table))) await this.#deps.tables.drop(name)
  }
}

const choiceTimeMaxSeconds = 300

// Our own words, and nothing else.
const chosenDefinition = '(n UInt64, row UUID, record String) ENGINE = MergeTree ORDER BY n' as TableDefinition
const misfitsDefinition = `(row UUID, columns Array(String), reasons Array(String)) ENGINE = MergeTree ORDER BY row
  SETTINGS non_replicated_deduplication_window = 10000` as TableDefinition

function isAmong(row: string, table: string): string {
  return `${row} IN (SELECT row FROM ${qualified(table)})`
}

function chosenSource(table: string, { condition, ownCondition }: ReplayChoice): string {
  const conditions = [
    ...(condition === null ? [] : [`(${condition})`]),
    ...(ownCondition === null ? [] : [ownCondition]),
  ]
  const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`
  return `${qualified(quarantineTable(table))}${where}`
}

/** An expression that makes of a row the CSV record of its columns and its id, with a line feed. */
function recordOf(cells: readonly ReplayCell[]): string {
  const id = `concat('"', toString(c__row), '"')`
  return `concat(${[...cells.map(cellOf), id].join(", ',', ")}, '\\n')`
}

function cellOf({ value, nothing }: ReplayCell): string {
  const text = 'fix' in value ? fixedText(value.fix) : value.text
  return `ifNull(concat('"', replaceAll(${text}, '"', '""'), '"'), ${quoteString(nothing)})`
}

function fixedText(fix: string): string {
  return `CAST((${fix}), 'Nullable(String)')`
}
