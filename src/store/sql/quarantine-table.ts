import { quarantineTimeColumn } from '../../schema/columns/column-name.ts'
import type { TableDefinition } from '../../schema/expressions/checked-text.types.ts'
import { assert } from '../../shared/assert.ts'
import { quoteName } from '../../shared/text-escapes.ts'

/** The columns that a quarantine table has beside those of its data source and the time; no schema may have their names. */
const ownColumns = [
  { name: 'c__error_column', type: 'Array(String)' },
  { name: 'c__error', type: 'Array(String)' },
  { name: 'c__import_id', type: 'Nullable(String)' },
] as const

// As many blocks are remembered by their tokens as on the tables of data sources.
const deduplicationWindow = 10_000

/** The table that keeps what did not fit into `table`, the one of a data source. */
export function quarantineTable(table: string): string {
  return `${table}_quarantine`
}

/**
 * What follows `CREATE TABLE name` for a quarantine: the data source's columns as Nullable(String), name for name in the
 * same order, then the four columns of the quarantine itself.
 */
export function quarantineDefinition(columns: readonly { readonly name: string }[]): TableDefinition {
  assert(
    !ownColumns.some((own) => columns.some(({ name }) => name === own.name)),
    'no schema has a column of the quarantine',
  )
  const timeName = quarantineTimeColumn(columns)
  const originals = columns.map(({ name }) => `${quoteName(name)} Nullable(String)`)
  const own = [...ownColumns, { name: timeName, type: 'DateTime' }].map(
    ({ name, type }) => `${quoteName(name)} ${type}`,
  )
  const clauses = [
    `(${[...originals, ...own].join(', ')})`,
    `ENGINE = MergeTree ORDER BY ${quoteName(timeName)}`,
    `SETTINGS non_replicated_deduplication_window = ${deduplicationWindow}`,
  ]
  // Our own words, and names in quotes.
  return clauses.join('\n') as TableDefinition
}

/** Columns that a quarantine has whatever its data source's are called, but for the time. */
export const quarantineOwnNames: readonly string[] = ownColumns.map(({ name }) => name)
