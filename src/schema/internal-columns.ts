// Columns that the engine gives to its tables beside their own: none of them may be read by what a caller writes.

import type { ParsedQuery } from './parsed-query.types.ts'
import { SqlFault } from './sql-fault.ts'

/** They say what the service calls a table and its files. */
const internalColumns: ReadonlySet<string> = new Set(['_database', '_table', '_part', '_part_uuid', '_disk_name'])

/** Known where a table is read and not where rows come in: the engine takes a DEFAULT of them, and then no row any more. */
const partColumns: ReadonlySet<string> = new Set([
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

/** Wherever the name stands: under it a table could be reached past an alias of the same name. @throws SqlFault */
export function checkInternalColumns({ tokens }: Pick<ParsedQuery, 'tokens'>): void {
  const token = tokens.find((one) => isName(one) && internalColumns.has(lastPart(one.name)))
  if (token === undefined) return
  throw new SqlFault(`The column '${token.name}' can not be read, as it belongs to the service: use another name`)
}

/** For what runs while rows come in. @param what it is, for messages: `DEFAULT`. @throws SqlFault with the place. */
export function checkNoPartColumns({ tokens }: Pick<ParsedQuery, 'tokens'>, what: string): void {
  const token = tokens.find((one) => isName(one) && partColumns.has(lastPart(one.name)))
  if (token === undefined) return
  const reason = `${what} cannot read '${token.name}', a column of the engine's own that no incoming row has`
  throw new SqlFault(reason, { offset: token.offset })
}

function isName({ kind }: ParsedQuery['tokens'][number]): boolean {
  return kind === 'word' || kind === 'quotedName'
}

function lastPart(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1)
}
