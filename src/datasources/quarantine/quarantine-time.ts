/**
 * A data source gets a column with the name that the time of its quarantine has, or gives it back.
 *
 * The time is the sorting key of the table, which cannot be renamed, so the table is made anew: a copy takes its place at
 * once. Every step may be repeated: by its columns a table tells which of both it is, and until the exchange nobody reads the
 * copy.
 */
import type { DataSource } from '../../catalog/data-source.types.ts'
import { quarantineTimeColumn } from '../../schema/columns/column-name.ts'
import { quarantineDefinition, quarantineOwnNames, quarantineTable } from '../../store/sql/quarantine-table.ts'
import type { Store } from '../../store/store.types.ts'

type MovingStore = Pick<Store, 'copy' | 'exchange' | 'sync' | 'tables'>

/** Whether the quarantine calls its time otherwise behind the change. */
export function movesQuarantineTime(before: DataSource, after: DataSource): boolean {
  return quarantineTimeColumn(before.columns) !== quarantineTimeColumn(after.columns)
}

/**
 * Makes the quarantine that of `to`, with all rows and their times. Precondition: nothing is inserted into it meanwhile.
 * Raises `StoreError`.
 */
export async function moveQuarantineTime(store: MovingStore, from: DataSource, to: DataSource): Promise<void> {
  const { tables } = store
  const table = quarantineTable(to.id)
  const copy = `${table}_copy`
  const time = quarantineTimeColumn(to.columns)
  // By its columns a table tells which of both it is.
  if ((await tables.columnType(table, time)) !== 'DateTime') {
    await tables.recreate(copy, quarantineDefinition(to.columns))
    const kept = from.columns
      .map(({ name }) => name)
      .filter((name) => to.columns.some((column) => column.name === name))
    const same = [...kept, ...quarantineOwnNames].map((name) => ({ name }))
    const columns = [...same, { name: time, from: quarantineTimeColumn(from.columns) }]
    await store.copy({ table: copy, from: table, columns })
    await store.sync()
    await store.exchange([[table, copy]])
    await store.sync()
  }
  await tables.drop(copy)
}
