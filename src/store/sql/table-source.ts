import { quoteString } from '../../shared/text-escapes.ts'
import { qualified } from './qualified.ts'

/** What a query reads in the place of a table. */
export interface TableSource {
  readonly table: string
  /** Absent reads all of it. */
  readonly partitionId?: string
}

/** What stands behind FROM for it. */
export function sourceText({ table, partitionId }: TableSource): string {
  const name = qualified(table)
  return partitionId === undefined ? name : `(SELECT * FROM ${name} WHERE _partition_id = ${quoteString(partitionId)})`
}
