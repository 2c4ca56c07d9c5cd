/**
 * A data source gets a column with the name that the time of its quarantine has, or gives it back.
 *
 * The time is the sorting key of the table, which cannot be renamed, so the table is made anew: a copy takes its place at
 * once. Every step may be repeated: by its columns a table tells which of both it is, and until the exchange nobody reads the
 * copy.
 */
import type { DataSource } from '../../catalog/data-source.types.ts'
import { quarantineTimeColumn } from '../../schema/columns/column-name.ts'
import { quoteName, quoteString } from '../../shared/text-escapes.ts'
import { quarantineDefinition, quarantineOwnNames, quarantineTable } from '../../store/sql/quarantine-table.ts'
import type { Store } from '../../store/store.types.ts'
import { workspaceDatabase } from '../../store/workspace-database.ts'
import { qualified } from '../tables.ts'

type Tables = Pick<Store, 'command' | 'copy' | 'exchange' | 'rows' | 'sync'>

/** Whether the quarantine calls its time otherwise behind the change. */
export function movesQuarantineTime(before: DataSource, after: DataSource): boolean {
  return quarantineTimeColumn(before.columns) !== quarantineTimeColumn(after.columns)
}

/**
 * Makes the quarantine that of `to`, with all rows and their times. Precondition: nothing is inserted into it meanwhile.
 * Raises `StoreError`.
 */
export async function moveQuarantineTime(tables: Tables, from: DataSource, to: DataSource): Promise<void> {
  const table = quarantineTable(to.id)
  const copy = `${table}_copy`
  if (!(await hasTime(tables, table, to))) {
    await tables.command(`DROP TABLE IF EXISTS ${qualified(copy)}`)
    await tables.command(`CREATE TABLE ${qualified(copy)} ${quarantineDefinition(to.columns)}`)
    const time = quarantineTimeColumn(to.columns)
    const kept = from.columns
      .map(({ name }) => name)
      .filter((name) => to.columns.some((column) => column.name === name))
    const same = [...kept, ...quarantineOwnNames]
    const names = same.map(quoteName).join(', ')
    const select = `SELECT ${names}, ${quoteName(quarantineTimeColumn(from.columns))} AS ${quoteName(time)} FROM ${qualified(table)}`
    await tables.copy({ table: copy, columns: [...same, time], select })
    await tables.sync()
    await tables.exchange([[table, copy]])
    await tables.sync()
  }
  await tables.command(`DROP TABLE IF EXISTS ${qualified(copy)}`)
}

async function hasTime(tables: Tables, table: string, { columns }: DataSource): Promise<boolean> {
  const found = await tables.rows<{ readonly name: string }>(
    `SELECT name FROM system.columns WHERE database = ${quoteString(workspaceDatabase)} AND table = ${quoteString(table)}
     AND name = ${quoteString(quarantineTimeColumn(columns))} AND type = 'DateTime'`,
  )
  return found.length > 0
}
