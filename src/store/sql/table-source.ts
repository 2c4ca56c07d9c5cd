import type { ColumnDefinition } from '../../schema/columns/column-definition.types.ts'
import { quoteName, quoteString } from '../../shared/text-escapes.ts'
import { qualified } from './qualified.ts'

/** What a query reads in the place of a table. */
export interface TableSource {
  readonly table: string
  /** Absent reads all of it. */
  readonly partitionId?: string
}

/** What stands behind FROM for a table that has more columns, each with the first value of its type. */
export function widenedText(table: string, added: readonly Pick<ColumnDefinition, 'name' | 'typeText'>[]): string {
  const values = added.map(({ name, typeText }) => {
    const type = quoteString(typeText)
    return `CAST(defaultValueOfTypeName(${type}), ${type}) AS ${quoteName(name)}`
  })
  return `(SELECT *, ${values.join(', ')} FROM ${qualified(table)})`
}

/** What stands behind FROM for it. */
export function sourceText({ table, partitionId }: TableSource): string {
  const name = qualified(table)
  return partitionId === undefined ? name : `(SELECT * FROM ${name} WHERE _partition_id = ${quoteString(partitionId)})`
}
