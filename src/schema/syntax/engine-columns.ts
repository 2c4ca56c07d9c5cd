// Columns that the engine gives to its tables beside their own. `test/schema/row-functions` holds both lists to the engine's.

/** They say what the service calls a table and its files: no query may name them. */
export const internalColumns: ReadonlySet<string> = new Set([
  '_database',
  '_table',
  '_part',
  '_part_uuid',
  '_disk_name',
])

/** Known where a table is read and not where rows come in: the engine takes a DEFAULT of them, and then no row any more. */
export const partColumns: ReadonlySet<string> = new Set([
  ...internalColumns,
  '_block_number',
  '_block_offset',
  '_part_data_version',
  '_part_granule_offset',
  '_part_index',
  '_part_offset',
  '_part_starting_offset',
  '_partition_id',
  '_partition_value',
  '_row_exists',
  '_sample_factor',
])

/** What the service calls rows that a filter judges, or more: no user's text has a name that begins so. */
export const filteredRows = '__filtered_rows'

/** What stands behind the last dot of a name. */
export function lastPart(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1)
}
