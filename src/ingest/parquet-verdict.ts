import { formatColumnType } from '../shared/column-type.ts'
import type { ColumnType } from '../shared/column-type.types.ts'
import { quoteString } from '../shared/text-escapes.ts'

/** A value in SQL, and whether it is one of its type. */
export interface Cast {
  /** Something that the engine turns into the type by itself, for all rows that are not refused. */
  readonly value: string
  /** True for the rows that are taken; null takes all. Never NULL. */
  readonly condition: string | null
  /** The value is the source itself. */
  readonly isPlain: boolean
}

export function plain(sql: string): Cast {
  return { value: sql, condition: null, isPlain: true }
}

export function changed(value: string, condition: string | null): Cast {
  return { value, condition, isPlain: false }
}

/** What no value of the source can be. */
export function refusedCast(to: ColumnType): Cast {
  return changed(`defaultValueOfTypeName(${quoteString(formatColumnType(to))})`, '0')
}

/** Null when nothing is to be checked. */
export function allOf(conditions: readonly (string | null)[]): string | null {
  const checked = conditions.filter((condition) => condition !== null)
  return checked.length === 0 ? null : `(${checked.join(' AND ')})`
}
