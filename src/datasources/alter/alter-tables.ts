// The tables of a data source, from one definition to the next and back. Every statement may be repeated, so that what a
// kill has left half done is taken back by the same statements as what the engine has refused.

import type { DataSource } from '../../catalog/data-source.types.ts'
import { isPlainTable } from '../../ingest/insert/plain-table.ts'
import type { ColumnDefinition } from '../../schema/columns/column-definition.types.ts'
import { formatIndex } from '../../schema/definitions/index-definition.ts'
import { columnClause } from '../../schema/definitions/table-definition.ts'
import { quoteName } from '../../shared/text-escapes.ts'
import { clickhouseCodes } from '../../store/engine-codes.ts'
import { quarantineTable } from '../../store/sql/quarantine-table.ts'
import type { CommandNature, Store } from '../../store/store.types.ts'
import { StoreError } from '../../store/store-error.ts'
import { moveQuarantineTime, movesQuarantineTime } from '../quarantine/quarantine-time.ts'
import { qualified } from '../tables.ts'
import { indexDifference } from './alteration.ts'

export type AlteredTables = Pick<Store, 'command' | 'copy' | 'exchange' | 'rows' | 'sync'>

type Tables = Pick<Store, 'command'>

/** Changes both tables from `before` to `after`, which has more columns. Raises `StoreError`. */
export async function alterTables(tables: AlteredTables, before: DataSource, after: DataSource): Promise<void> {
  const added = addedColumns(before, after)
  if (movesQuarantineTime(before, after)) await moveQuarantineTime(tables, before, after)
  else await alter(tables, quarantineTable(before.id), quarantineColumns(added, before))
  const { dropped, added: addedIndexes } = indexDifference(before.indexes, after.indexes)
  // One statement: the engine makes all of it or nothing.
  const commands = [
    ...added.map((column) => `ADD COLUMN IF NOT EXISTS ${columnClause(column)}`),
    ...dropped.map(({ name }) => `DROP INDEX IF EXISTS ${quoteName(name)}`),
    ...addedIndexes.map((index) => `ADD INDEX IF NOT EXISTS ${formatIndex(index)}`),
    ...ttlCommands(before, after),
  ]
  await alter(tables, before.id, commands, { computes: !isPlainTable(after) })
}

/** Brings tables that are as `pending` says, or on their way there, back to `before`. Raises `StoreError`. */
export async function takeBackTables(tables: AlteredTables, pending: DataSource, before: DataSource): Promise<void> {
  // The TTL first: it may speak of the columns that go.
  for (const command of ttlCommands(pending, before)) await takeBackTtl(tables, before, command)
  const { dropped, added } = indexDifference(pending.indexes, before.indexes)
  const columns = addedColumns(before, pending).map(({ name }) => `DROP COLUMN IF EXISTS ${quoteName(name)}`)
  await alter(tables, before.id, [
    ...dropped.map(({ name }) => `DROP INDEX IF EXISTS ${quoteName(name)}`),
    ...added.map((index) => `ADD INDEX IF NOT EXISTS ${formatIndex(index)}`),
    ...columns,
  ])
  if (movesQuarantineTime(before, pending)) await moveQuarantineTime(tables, pending, before)
  else await alter(tables, quarantineTable(before.id), columns)
}

async function alter(tables: Tables, table: string, commands: readonly string[], nature?: CommandNature) {
  if (commands.length > 0) await tables.command(`ALTER TABLE ${qualified(table)} ${commands.join(', ')}`, nature)
}

function addedColumns(before: DataSource, after: DataSource): readonly ColumnDefinition[] {
  return after.columns.slice(before.columns.length)
}

/** Behind the data source's other columns and before those of the quarantine itself, as if they had always been there. */
function quarantineColumns(added: readonly ColumnDefinition[], before: DataSource): readonly string[] {
  const names = [...before.columns, ...added].map(({ name }) => name)
  return added.map(({ name }, position) => {
    const previous = names[before.columns.length + position - 1] ?? ''
    return `ADD COLUMN IF NOT EXISTS ${quoteName(name)} Nullable(String) AFTER ${quoteName(previous)}`
  })
}

function ttlCommands(from: DataSource, to: DataSource): readonly string[] {
  const ttl = to.engine.options['ttl']
  if (from.engine.options['ttl'] === ttl) return []
  return [ttl === undefined ? 'REMOVE TTL' : `MODIFY TTL ${ttl}`]
}

/** The engine refuses to remove a TTL that is not there, which is so when the change never came to it. */
async function takeBackTtl(tables: Tables, { id }: DataSource, command: string): Promise<void> {
  try {
    await alter(tables, id, [command])
  } catch (error) {
    const isGone = error instanceof StoreError && error.clickhouseCode === clickhouseCodes.badArguments
    if (!isGone || command !== 'REMOVE TTL') throw error
  }
}
