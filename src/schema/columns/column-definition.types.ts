import type { CheckedExpression } from '../expressions/checked-text.types.ts'
import type { ColumnType } from '../types/column-type.types.ts'
import type { JsonPath } from './json-path.types.ts'

/** One column of a data source's schema. Plain data: stored in the catalog, sent to workers. */
export interface ColumnDefinition {
  readonly name: string
  /** Canonical ClickHouse text of the type, as the table is created with. */
  readonly typeText: string
  readonly type: ColumnType
  /** Null when the schema names no path: the column's name is then the key. */
  readonly jsonPath: JsonPath | null
  /** The path as written, `$.a.b[:]`; null when the schema names none. */
  readonly jsonPathText: string | null
  /** ClickHouse expression after DEFAULT, as written; null without one. */
  readonly defaultExpression: CheckedExpression | null
  /** Text between the parentheses of CODEC; null without one. */
  readonly codec: string | null
}
