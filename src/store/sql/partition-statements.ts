import type { CheckedExpression } from '../../schema/expressions/checked-text.types.ts'
import { assert } from '../../shared/assert.ts'
import { quoteString } from '../../shared/text-escapes.ts'
import type { Statements } from '../statements.types.ts'
import type { Partition, Partitions, TableMove } from '../tables.types.ts'
import { workspaceDatabase } from '../workspace-database.ts'
import { qualified } from './qualified.ts'
import { rowsAlias, rowsFor } from './rows-alias.ts'

/** `Partitions` by statements that every adapter of the store can run. */
export class PartitionStatements implements Partitions {
  readonly #statements: Statements

  constructor(statements: Statements) {
    this.#statements = statements
  }

  async list(table: string): Promise<readonly Partition[]> {
    return await this.#statements.rows<Partition>(
      `SELECT DISTINCT partition_id AS id, partition AS text FROM system.parts
       WHERE active AND database = ${quoteString(workspaceDatabase)} AND table = ${quoteString(table)} ORDER BY id`,
    )
  }

  async matching(table: string, condition: CheckedExpression): Promise<readonly string[]> {
    const rows = await this.#statements.rows<{ readonly partition: string }>(
      `SELECT DISTINCT ${rowsAlias}._partition_id AS partition FROM ${rowsFor(table, condition)}`,
      { isLong: true },
    )
    return rows.map(({ partition }) => partition)
  }

  async keyTexts(table: string, key: CheckedExpression): Promise<ReadonlySet<string>> {
    const rows = await this.#statements.rows<{ readonly name: string }>(
      `SELECT DISTINCT toString(tuple(${key})) AS name FROM ${qualified(table)}`,
    )
    return new Set(rows.map(({ name }) => name))
  }

  async drop(table: string, id: string): Promise<void> {
    await this.#statements.command(`ALTER TABLE ${qualified(table)} DROP PARTITION ID ${quoteString(id)}`)
  }

  async attach(id: string, { from, into }: TableMove): Promise<void> {
    assert(from !== into, 'partitions go from one table to another')
    const attach = `ATTACH PARTITION ID ${quoteString(id)} FROM ${qualified(from)}`
    await this.#statements.command(`ALTER TABLE ${qualified(into)} ${attach}`, { isLong: true })
  }

  async attachAll({ from, into }: TableMove): Promise<void> {
    assert(from !== into, 'partitions go from one table to another')
    const attach = `ATTACH PARTITION ALL FROM ${qualified(from)}`
    await this.#statements.command(`ALTER TABLE ${qualified(into)} ${attach}`, { isLong: true })
  }

  async attachWhole({ from, into }: TableMove): Promise<void> {
    // One part comes as a whole or not at all, whatever happens to the process.
    await this.#statements.command(`OPTIMIZE TABLE ${qualified(from)} FINAL`, { isLong: true })
    await this.attach('all', { from, into })
  }
}
