import type { DataSource } from '../../catalog/data-source.types.ts'
import { partExpression } from '../../codec/arrow/part-expression.ts'
import { partColumnsOf } from '../../codec/arrow/part-layout.ts'
import type { PartLayout, PartTarget } from '../../codec/arrow/part-layout.types.ts'
import type { ColumnDefinition } from '../../schema/columns/column-definition.types.ts'
import { partitionKeyOf } from '../../schema/definitions/table-definition.ts'
import { quoteString } from '../../shared/text-escapes.ts'
import type { PartitionBound } from '../../store/store.types.ts'

/** Parts that one block may leave, as the API has it for events. */
const partitionsMax = 12

/** The bound for blocks of a data source; undefined when its table has no partitions. */
export function partitionBoundOf(dataSource: DataSource, { fields }: PartLayout): PartitionBound | undefined {
  const nullable = new Set(fields.flatMap(({ name, engineType }) => (/Nullable\(/.test(engineType) ? [name] : [])))
  const columns = partColumnsOf(dataSource.columns).map(({ definition, field }) => {
    return { definition, field, holdsNull: nullable.has(field) }
  })
  return boundOf(dataSource, columns)
}

/** The same for rows of a Parquet file, whose values the store names by their place in the layout. */
export function parquetBoundOf(dataSource: DataSource, { targets }: PartLayout): PartitionBound | undefined {
  const places = new Map(targets.map(({ column }, index) => [column, `__${index}`]))
  const columns = dataSource.columns.map((definition) => {
    return { definition, field: places.get(definition.name) ?? null, holdsNull: true }
  })
  return boundOf(dataSource, columns)
}

interface BoundColumn {
  readonly definition: ColumnDefinition
  /** Null where the part has no such column, which takes its DEFAULT then. */
  readonly field: string | null
  readonly holdsNull: boolean
}

function boundOf({ engine }: DataSource, columns: readonly BoundColumn[]): PartitionBound | undefined {
  const key = partitionKeyOf(engine)
  if (key === undefined) return undefined
  const named = columns.filter(({ definition }) => key.includes(definition.name))
  return { key, columns: named.map(targetOf), partitionsMax }
}

function targetOf({ definition, field, holdsNull }: BoundColumn): PartTarget {
  const { name: column, defaultExpression } = definition
  const type = quoteString(definition.typeText)
  const fallback = `CAST((${defaultExpression ?? `defaultValueOfTypeName(${type})`}), ${type})`
  if (field === null) return { column, expression: partExpression(fallback) }
  if (defaultExpression === null || !holdsNull) return { column, expression: partExpression(`CAST(${field}, ${type})`) }
  const value = `if(isNull(${field}), ${fallback}, CAST(assumeNotNull(${field}), ${type}))`
  return { column, expression: partExpression(value) }
}
