import { formatColumnType } from '../../schema/types/column-type.ts'
import type { ColumnType } from '../../schema/types/column-type.types.ts'
import { quoteString } from '../../shared/text-escapes.ts'

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

export function castOrNull(sql: string, to: ColumnType): string {
  return `accurateCastOrNull(${sql}, ${quoteString(formatColumnType(to))})`
}

/** By the engine's own cast that gives NULL for what is out of range or cannot be read. */
export function tried(sql: string, to: ColumnType): Cast {
  return unlessNull(castOrNull(sql, to))
}

/** A cast that raises for other values is given `otherwise` in place of those. */
export function chosen(sql: string, condition: string, otherwise: string): Cast {
  return changed(`if(${condition}, ${sql}, ${otherwise})`, condition)
}

/** A name for the argument of a lambda over `sql`, which may stand in another lambda. */
export function argumentOver(sql: string): string {
  const taken = [...sql.matchAll(/\bx(\d+)\b/g)].map((match) => Number(match[1]))
  return `x${Math.max(0, ...taken) + 1}`
}

/** `expression` of a value that is computed once, wherever it stands in it: what is written twice in a query costs twice. */
export function bound(sql: string, expression: (argument: string) => string): string {
  const argument = argumentOver(sql)
  return `arrayElement(arrayMap(${argument} -> ${expression(argument)}, [${sql}]), 1)`
}

/** Out of an expression that is NULL for what is refused. */
export function unlessNull(sql: string): Cast {
  return changed(`assumeNotNull(${sql})`, `isNotNull(${sql})`)
}

/**
 * A cast of the rows for which `isMeant` is true; its condition is false for the others, and its value anything. The engine
 * computes all branches of a condition for all rows, but a lambda for no more than there is in its list.
 */
export function where(isMeant: string, sql: string, cast: (argument: string) => Cast): Cast {
  const argument = argumentOver(`${isMeant} ${sql}`)
  const { value, condition } = cast(argument)
  const list = `if(${isMeant}, [${sql}], [])`
  return changed(
    `arrayElement(arrayMap(${argument} -> ${value}, ${list}), 1)`,
    `arrayExists(${argument} -> ${condition ?? '1'}, ${list})`,
  )
}
