import type { PartExpression } from './part-expression.ts'

/**
 * How a part's Arrow columns become a table's columns: what `store` needs to write
 * `INSERT INTO table (columns…) SELECT expressions… FROM file(part, 'ArrowStream', structure)`.
 */
export interface PartLayout {
  /** The part's own columns in order, with the ClickHouse type the engine reads them as. */
  readonly fields: readonly PartField[]
  /** The table's columns that the part fills; expressions speak of the fields' names. */
  readonly targets: readonly PartTarget[]
}

export interface PartField {
  readonly name: string
  readonly engineType: string
}

export interface PartTarget {
  readonly column: string
  readonly expression: PartExpression
}
