import type { CheckedExpression } from '../../schema/expressions/checked-text.types.ts'
import { assert } from '../../shared/assert.ts'
import { quoteString } from '../../shared/text-escapes.ts'
import { clickhouseCodes } from '../engine-codes.ts'
import type { DeletedRows, RowDeleteState, RowDeletes } from '../row-deletes.types.ts'
import type { Statements } from '../statements.types.ts'
import type { Reads } from '../store.types.ts'
import { isStopped, StoreError, toStoreError } from '../store-error.ts'
import { workspaceDatabase } from '../workspace-database.ts'
import { qualified } from './qualified.ts'
import { readRows } from './reader-rows.ts'
import { rowsFor } from './rows-alias.ts'

interface RowDeleteLimits {
  /** Expressions of a caller run in the counts of rows, so these have no more than a query. */
  readonly queryMemoryBytesMax: number
}

interface RowDeleteDeps {
  readonly statements: Statements
  readonly reads: Pick<Reads, 'select'>
}

/** Longest count of the rows of one delete, as everything has an end. */
const countTimeMaxSeconds = 3_600

/**
 * `RowDeletes` by mutations, which every adapter of the store can run.
 *
 * A mutation has a number out of the same row as the blocks of the table, and is about the parts before it. It is found again
 * by the delete's id, which stands in its text as a condition that is always true.
 */
export class RowDeleteStatements implements RowDeletes {
  readonly #limits: RowDeleteLimits
  readonly #statements: Statements
  readonly #reads: Pick<Reads, 'select'>

  constructor(limits: RowDeleteLimits, { statements, reads }: RowDeleteDeps) {
    this.#limits = limits
    this.#statements = statements
    this.#reads = reads
  }

  async countMatching(table: string, condition: CheckedExpression, signal: AbortSignal): Promise<number> {
    const count = `SELECT count() AS rowCount FROM ${rowsFor(table, condition)}`
    const [row] = await readRows<{ readonly rowCount: number | string }>(this.#reads, count, signal)
    return Number(row?.rowCount ?? 0)
  }

  async judge(table: string, condition: CheckedExpression): Promise<void> {
    await this.#count(rowsFor(table, condition))
  }

  async begin({ table, condition, id }: DeletedRows): Promise<ReadonlySet<string>> {
    await this.#statements.command(`SYSTEM STOP MERGES ${qualified(table)}`)
    const parts = await this.#partsOf(table)
    await this.#statements.command(
      `ALTER TABLE ${qualified(table)} DELETE WHERE ${condition} AND ${mark(id)} SETTINGS mutations_sync = 0`,
    )
    return parts
  }

  async countJudged({ table, condition, id }: DeletedRows, parts: ReadonlySet<string>): Promise<number | null> {
    const found = await this.#find(table, id)
    if (found === undefined) return null
    const rowCount = await this.#count(`${rowsFor(table, condition)} AND _part_data_version < ${Number(found.version)}`)
    const left = await this.#partsOf(table)
    return [...parts].every((part) => left.has(part)) ? rowCount : null
  }

  async release(table: string): Promise<void> {
    try {
      await this.#statements.command(`SYSTEM START MERGES ${qualified(table)}`)
    } catch (error) {
      // Dropped meanwhile; and an engine that is started again lets them run.
      const isGone = error instanceof StoreError && error.clickhouseCode === clickhouseCodes.unknownTable
      if (!isGone && !isStopped(error)) throw error
    }
  }

  async find({ table, id }: Pick<DeletedRows, 'id' | 'table'>): Promise<RowDeleteState | null> {
    const found = await this.#find(table, id)
    if (found === undefined) return null
    const failure = found.failure === '' ? null : toStoreError(new Error(found.failure))
    return { isDone: found.isDone === 1, failure }
  }

  async takeBack({ table, id }: Pick<DeletedRows, 'id' | 'table'>): Promise<void> {
    const found = await this.#find(table, id)
    if (found === undefined) return
    await this.#statements.command(
      `KILL MUTATION WHERE ${ofTables([table])} AND mutation_id = ${quoteString(found.name)} ASYNC`,
    )
  }

  async unfinished(tables: readonly string[]): Promise<readonly string[]> {
    if (tables.length === 0) return []
    const rows = await this.#statements.rows<{ readonly name: string }>(
      `SELECT DISTINCT table AS name FROM system.mutations WHERE ${ofTables(tables)} AND NOT is_done`,
    )
    return rows.map(({ name }) => name)
  }

  async #count(rows: string): Promise<number> {
    const [row] = await this.#statements.rows<{ readonly rowCount: number }>(
      `SELECT count() AS rowCount FROM ${rows}
       SETTINGS max_execution_time = ${countTimeMaxSeconds}, max_memory_usage = ${this.#limits.queryMemoryBytesMax}`,
      { isLong: true },
    )
    return row?.rowCount ?? 0
  }

  async #partsOf(table: string): Promise<ReadonlySet<string>> {
    const rows = await this.#statements.rows<{ readonly name: string }>(
      `SELECT name FROM system.parts WHERE active AND ${ofTables([table])}`,
    )
    return new Set(rows.map(({ name }) => name))
  }

  async #find(table: string, id: string): Promise<NotedMutation | undefined> {
    const [found] = await this.#statements.rows<NotedMutation>(
      `SELECT mutation_id AS name, is_done AS isDone, latest_fail_reason AS failure,
         arrayMax(block_numbers.number) AS version
       FROM system.mutations WHERE ${ofTables([table])} AND endsWith(trim(TRAILING ')' FROM command), ${quoteString(mark(id).slice(0, -1))})`,
    )
    return found
  }
}

interface NotedMutation {
  readonly name: string
  readonly isDone: number
  readonly failure: string
  readonly version: number | string
}

/** As the engine prints it too; what a caller wrote stands before it. */
function mark(id: string): string {
  assert(/^[\w-]+$/.test(id), 'the id of a delete needs no escapes')
  return `notEmpty('${id}')`
}

function ofTables(tables: readonly string[]): string {
  return `database = ${quoteString(workspaceDatabase)} AND table IN (${tables.map(quoteString).join(', ')})`
}
