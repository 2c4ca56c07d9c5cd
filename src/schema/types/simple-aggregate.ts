import type { ColumnType } from './column-type.types.ts'
import type { TypeRuleFault } from './column-type-rules.ts'

const aggregates: ReadonlySet<string> = new Set([
  'any',
  'any_respect_nulls',
  'anyLast',
  'anyLast_respect_nulls',
  'min',
  'max',
  'sum',
  'sumWithOverflow',
  'groupBitAnd',
  'groupBitOr',
  'groupBitXor',
  'sumMap',
  'minMap',
  'maxMap',
  'groupArrayArray',
  'groupArrayLastArray',
  'groupUniqArrayArray',
  'groupUniqArrayArrayMap',
  'sumMappedArrays',
  'minMappedArrays',
  'maxMappedArrays',
])

/**
 * Says what is wrong with `SimpleAggregateFunction(aggregate, inner)`, as far as it can be said without the engine.
 *
 * @param aggregate the function with its parameters, `groupArrayArray(10)`.
 * @param valueType what stands in `inner` under Nullable and LowCardinality.
 */
export function simpleAggregateFault(
  aggregate: string,
  inner: ColumnType,
  valueType: ColumnType,
): TypeRuleFault | null {
  const name = aggregate.replace(/\(.*$/s, '')
  if (!aggregates.has(name)) {
    return { reason: `SimpleAggregateFunction does not take '${name}'`, hint: `it takes ${[...aggregates].join(', ')}` }
  }
  if (name === 'sum') return sumFault(valueType)
  if (name.endsWith('ArrayArray') && inner.kind !== 'array') return { reason: `'${name}' needs an Array(…)` }
  return null
}

/** A sum is kept in the widest type of its kind, so that it cannot overflow; the engine takes no narrower one. */
function sumFault(valueType: ColumnType): TypeRuleFault | null {
  const reason = "'sum' does not give this type"
  switch (valueType.kind) {
    case 'integer':
      return valueType.bits >= 64 ? null : { reason, hint: `use ${valueType.isSigned ? 'Int64' : 'UInt64'}` }
    case 'float':
      return valueType.bits === 64 ? null : { reason, hint: 'use Float64' }
    case 'decimal': {
      const isWidest = valueType.precision === 38 || valueType.precision === 76
      return isWidest ? null : { reason, hint: `use Decimal(38, ${Math.min(valueType.scale, 38)})` }
    }
    default:
      return { reason, hint: 'use a number' }
  }
}
