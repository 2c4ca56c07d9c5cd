// A row with nothing in it, in columns of full length: what the engine does with it, it does with rows that come in.

import { quoteName, quoteString } from '../../shared/text-escapes.ts'
import { valueTypeOf } from '../types/column-type.ts'
import type { ColumnDefinition } from './column-definition.types.ts'

/** An INSERT of one row: every column without a DEFAULT has the first value of its type; the others are left to it. */
export function blankRowInsert(qualifiedTable: string, columns: readonly ColumnDefinition[]): string {
  const sent = columns.filter(({ type }) => valueTypeOf(type).kind !== 'aggregateFunction')
  const bare = sent.filter(({ defaultExpression }) => defaultExpression === null)
  const given = bare.length > 0 ? bare : sent
  const names = given.map(({ name }) => quoteName(name)).join(', ')
  const values = given.map(({ typeText }) => `materialize(defaultValueOfTypeName(${quoteString(typeText)}))`)
  return `INSERT INTO ${qualifiedTable} (${names}) SELECT ${values.join(', ')} SETTINGS async_insert = 0`
}
