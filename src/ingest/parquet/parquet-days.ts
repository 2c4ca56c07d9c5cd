// Days of a Parquet file, which reach from 5.8 million years before today to as many behind it.
//
// The engine refuses a whole file for one day that its Date32 does not have, such as 9999-12-31, which is common for "no end".
// So such a column is read as the numbers that it is made of.

import type { ColumnType } from '../../schema/types/column-type.types.ts'

export interface Days {
  /** The type by which the engine reads the column. */
  readonly typeText: string
  /** A Date32, or NULL; any day for one that a Date32 does not have. */
  readonly sql: string
  /** False for the days that a Date32 does not have; never NULL. */
  readonly condition: string
  /** The day as a text, or the number where the year has not four digits. */
  readonly text: string
}

const firstDay = -25_567
const lastDay = 120_529
const firstYear = -719_162
const lastYear = 2_932_896

/** Null for a column of another type. Days within lists, maps and groups are left to the engine. */
export function daysOf(name: string, type: ColumnType | null): Days | null {
  const isNullable = type?.kind === 'nullable'
  if ((isNullable ? type.inner : type)?.kind !== 'date32') return null
  const isBeyond = `(${name} NOT BETWEEN ${firstDay} AND ${lastDay})`
  const sql = `toDate32(if(${isBeyond}, 0, ${name}))`
  const moment = `reinterpret(toInt64(assumeNotNull(${name})) * 86400, 'DateTime64(0, \\'UTC\\')')`
  const text = [
    `multiIf(isNull(${name}), NULL, NOT ${isBeyond}, toString(${sql})`,
    `${name} BETWEEN ${firstYear} AND ${lastYear}, substring(toString(${moment}), 1, 10), toString(${name}))`,
  ].join(', ')
  return {
    typeText: isNullable ? 'Nullable(Int32)' : 'Int32',
    sql,
    condition: `NOT ifNull(${isBeyond}, 0)`,
    text: isNullable ? text : `assumeNotNull(${text})`,
  }
}
