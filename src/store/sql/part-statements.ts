import { quoteString } from '../../shared/text-escapes.ts'
import type { Statements } from '../statements.types.ts'
import type { ExpiredRows, ExpiredRowsRequest, Parts, StoredPart } from '../tables.types.ts'
import { workspaceDatabase } from '../workspace-database.ts'

/** `Parts` by statements that every adapter of the store can run. */
export class PartStatements implements Parts {
  readonly #statements: Statements

  constructor(statements: Statements) {
    this.#statements = statements
  }

  async list(): Promise<ReadonlyMap<string, readonly StoredPart[]>> {
    const rows = await this.#statements.rows<StoredPart & { readonly owner: string }>(
      `SELECT table AS owner, name, partition_id AS partition, toInt32(min_block_number) AS minBlock,
         toInt32(max_block_number) AS maxBlock, toFloat64(rows) AS rowCount, hash_of_all_files AS content
       FROM system.parts WHERE ${isInWorkspace} AND active AND rows > 0 ORDER BY table, name`,
    )
    const parts = new Map<string, StoredPart[]>()
    for (const { owner, ...part } of rows) {
      const known = parts.get(owner)
      if (known === undefined) parts.set(owner, [part])
      else known.push(part)
    }
    return parts
  }

  async broken(table: string): Promise<ReadonlySet<string>> {
    const rows = await this.#statements.rows<{ readonly name: string }>(
      `SELECT substring(name, position(name, reason) + length(reason) + 1) AS name FROM system.detached_parts
       WHERE ${isOf(table)} AND reason LIKE 'broken%'`,
    )
    return new Set(rows.map(({ name }) => name))
  }

  lastBlock(table: string): Promise<number> {
    return this.lastBlocks([table])
  }

  async lastBlocks(tables: readonly string[]): Promise<number> {
    const names = tables.map(quoteString).join(', ')
    const [row] = await this.#statements.rows<{ readonly blocks: number }>(
      `SELECT toFloat64(sum(block)) AS blocks FROM
       (SELECT max(max_block_number) AS block FROM system.parts WHERE ${isInWorkspace} AND table IN (${names}) GROUP BY table)`,
    )
    return row?.blocks ?? 0
  }

  async expiredRows({ table, afterBlock, dropsWhole }: ExpiredRowsRequest): Promise<ExpiredRows> {
    const isPast = (time: string): string => `toUnixTimestamp(${time}) BETWEEN 1 AND toUnixTimestamp(now())`
    const isWhole = isPast('delete_ttl_info_max')
    const isTouched = `${isPast('delete_ttl_info_min')} OR arrayExists(time -> ${isPast('time')}, rows_where_ttl_info.min)`
    const [found] = await this.#statements.rows<ExpiredRows>(
      `SELECT sum(if(${isWhole}, toInt64(rows), 1)) AS least,
         sum(if(${isWhole}, toInt64(rows), greatest(toInt64(rows) - (delete_ttl_info_max > delete_ttl_info_min), 1))) AS most
       FROM system.parts
       WHERE ${isOf(table)} AND level = 0 AND min_block_number > ${afterBlock} AND ${dropsWhole ? isWhole : `(${isTouched})`}`,
    )
    return found ?? { least: 0, most: 0 }
  }

  async countSince(tables: readonly string[], sinceSeconds: number): Promise<number> {
    const names = tables.map(quoteString).join(', ')
    const [found] = await this.#statements.rows<{ readonly partCount: number }>(
      `SELECT count() AS partCount FROM system.parts WHERE ${isInWorkspace} AND active
       AND rows > 0 AND table IN (${names}) AND modification_time >= toDateTime(${sinceSeconds})`,
    )
    return found?.partCount ?? 1
  }
}

const isInWorkspace = `database = ${quoteString(workspaceDatabase)}`

function isOf(table: string): string {
  return `${isInWorkspace} AND table = ${quoteString(table)}`
}
