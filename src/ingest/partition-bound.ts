import type { DataSource } from '../catalog/data-source.types.ts'
import { partColumnsOf } from '../codec/part-layout.ts'
import type { PartLayout, PartTarget } from '../codec/part-layout.types.ts'
import { quoteString } from '../shared/text-escapes.ts'
import type { PartitionBound } from '../store/store.types.ts'

/** Parts that one block may leave, as the API has it for events. */
const partitionsMax = 12

/** The bound for blocks of a data source; undefined when its table has no partitions. */
export function partitionBoundOf({ engine, columns }: DataSource, { fields }: PartLayout): PartitionBound | undefined {
  const key = engine.options['partition_key']?.trim()
  if (key === undefined || key === '' || /^tuple\(\s*\)$/.test(key)) return undefined
  const nullable = new Set(fields.flatMap(({ name, engineType }) => (/Nullable\(/.test(engineType) ? [name] : [])))
  const named = partColumnsOf(columns).filter(({ definition }) => key.includes(definition.name))
  const targets = named.map(({ definition, field }): PartTarget => {
    const type = quoteString(definition.typeText)
    const value = `CAST(${field}, ${type})`
    const { name: column, defaultExpression } = definition
    if (defaultExpression === null || !nullable.has(field)) return { column, expression: value }
    const fallback = `CAST((${defaultExpression}), ${type})`
    return { column, expression: `if(isNull(${field}), ${fallback}, CAST(assumeNotNull(${field}), ${type}))` }
  })
  return { key, columns: targets, partitionsMax }
}
