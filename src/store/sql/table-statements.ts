import type { CheckedExpression, TableDefinition } from '../../schema/expressions/checked-text.types.ts'
import { quoteName, quoteString } from '../../shared/text-escapes.ts'
import { clickhouseCodes } from '../engine-codes.ts'
import type { Statements } from '../statements.types.ts'
import { StoreError } from '../store-error.ts'
import type { DefinitionNature, LikeTable, NumberedFields, TableChange, TableState, Tables } from '../tables.types.ts'
import { workspaceDatabase } from '../workspace-database.ts'
import { qualified } from './qualified.ts'
import { rowsFor } from './rows-alias.ts'

/** `Tables` by statements that every adapter of the store can run. */
export class TableStatements implements Tables {
  readonly #statements: Statements

  constructor(statements: Statements) {
    this.#statements = statements
  }

  async create(table: string, definition: TableDefinition, nature: DefinitionNature = {}): Promise<void> {
    await this.#statements.command(`CREATE TABLE IF NOT EXISTS ${qualified(table)} ${definition}`, nature)
  }

  async recreate(table: string, definition: TableDefinition, nature: DefinitionNature = {}): Promise<void> {
    await this.drop(table)
    await this.#statements.command(`CREATE TABLE ${qualified(table)} ${definition}`, nature)
  }

  async recreateLike(table: string, { like, keeps }: LikeTable, nature: DefinitionNature = {}): Promise<void> {
    await this.drop(table)
    const definition = `AS ${qualified(like)}${likeEngines[keeps]}`
    await this.#statements.command(`CREATE TABLE ${qualified(table)} ${definition}`, nature)
  }

  async createForFields(table: string, { number, fields }: NumberedFields): Promise<void> {
    const columns = [{ name: number, engineType: 'UInt64' }, ...fields]
    const definition = columns.map(({ name, engineType }) => `${quoteName(name)} ${engineType}`).join(', ')
    const engine = `ENGINE = MergeTree ORDER BY ${quoteName(number)}`
    await this.#statements.command(`CREATE TABLE ${qualified(table)} (${definition}) ${engine}`)
  }

  async alter(table: string, changes: readonly TableChange[], nature: DefinitionNature = {}): Promise<void> {
    if (changes.length === 0) return
    // One statement: the engine makes all of it or nothing.
    await this.#statements.command(`ALTER TABLE ${qualified(table)} ${changes.map(changeText).join(', ')}`, nature)
  }

  async drop(table: string): Promise<void> {
    await this.#statements.command(`DROP TABLE IF EXISTS ${qualified(table)}`)
  }

  async truncate(table: string): Promise<void> {
    try {
      await this.#statements.command(`TRUNCATE TABLE ${qualified(table)}`)
    } catch (error) {
      // Only the engine Null says so.
      if (!(error instanceof StoreError) || error.clickhouseCode !== clickhouseCodes.notImplemented) throw error
    }
  }

  async list(names?: readonly string[]): Promise<ReadonlyMap<string, TableState>> {
    if (names?.length === 0) return new Map()
    const among = names === undefined ? '' : ` AND name IN (${names.map(quoteString).join(', ')})`
    const rows = await this.#statements.rows<TableState & { readonly name: string }>(
      `SELECT name, toString(uuid) AS uuid, ifNull(total_rows, 0) AS rowCount, ifNull(total_bytes, 0) AS byteCount
       FROM system.tables WHERE database = ${quoteString(workspaceDatabase)}${among}`,
    )
    return new Map(rows.map(({ name, ...state }) => [name, state]))
  }

  async columnType(table: string, column: string): Promise<string | null> {
    const [found] = await this.#statements.rows<{ readonly type: string }>(
      `SELECT type FROM system.columns WHERE database = ${quoteString(workspaceDatabase)}
       AND table = ${quoteString(table)} AND name = ${quoteString(column)}`,
    )
    return found?.type ?? null
  }

  async countRows(table: string, condition?: CheckedExpression): Promise<number> {
    const from = condition === undefined ? qualified(table) : rowsFor(table, condition)
    const query = `SELECT count() AS count FROM ${from}`
    // How many rows a table has the engine knows without a look at them.
    const [row] = await this.#statements.rows<{ readonly count: number }>(query, { isLong: condition !== undefined })
    return row?.count ?? 0
  }
}

const likeEngines: Readonly<Record<LikeTable['keeps'], string>> = {
  same: '',
  nothing: ' ENGINE = Null',
  everything: ` ENGINE = MergeTree ORDER BY tuple()
    SETTINGS share_nested_offsets = 0, non_replicated_deduplication_window = 10000`,
  // Merges keep the order of the rows; tokens let a piece be repeated when the engine ends; small pieces wait for no merge.
  pieces: ` ENGINE = MergeTree ORDER BY tuple() SETTINGS non_replicated_deduplication_window = 10000,
    parts_to_delay_insert = 100000, parts_to_throw_insert = 100000`,
}

function changeText(change: TableChange): string {
  switch (change.kind) {
    case 'add-column':
      return `ADD COLUMN IF NOT EXISTS ${change.column}`
    case 'add-text-column':
      return `ADD COLUMN IF NOT EXISTS ${quoteName(change.name)} Nullable(String) AFTER ${quoteName(change.after)}`
    case 'drop-column':
      return `DROP COLUMN IF EXISTS ${quoteName(change.name)}`
    case 'add-index':
      return `ADD INDEX IF NOT EXISTS ${change.index}`
    case 'drop-index':
      return `DROP INDEX IF EXISTS ${quoteName(change.name)}`
    case 'set-ttl':
      return `MODIFY TTL ${change.ttl}`
    case 'remove-ttl':
      return 'REMOVE TTL'
  }
}
