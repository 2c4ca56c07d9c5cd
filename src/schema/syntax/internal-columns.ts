// Columns that the engine gives to its tables beside their own: none of them may be read by what a caller writes.

import { filteredRows, internalColumns, lastPart, partColumns } from './engine-columns.ts'
import type { ParsedQuery } from './parsed-query.types.ts'
import { SqlFault } from './sql-fault.ts'

/** Wherever the name stands: under it a table could be reached past an alias of the same name. @throws SqlFault */
export function checkInternalColumns({ tokens }: Pick<ParsedQuery, 'tokens'>): void {
  const token = tokens.find((one) => isName(one) && isOfService(one.name))
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

function isOfService(name: string): boolean {
  return internalColumns.has(lastPart(name)) || name.startsWith(filteredRows)
}

function isName({ kind }: ParsedQuery['tokens'][number]): boolean {
  return kind === 'word' || kind === 'quotedName'
}
