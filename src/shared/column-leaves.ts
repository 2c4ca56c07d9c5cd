import type { ColumnType } from './column-type.types.ts'

/** How many columns of plain values the engine keeps for a column of this type. */
export function leafCount(type: ColumnType): number {
  switch (type.kind) {
    case 'tuple':
      return type.fields.reduce((count, field) => count + leafCount(field.type), 0)
    case 'map':
      return leafCount(type.key) + leafCount(type.value)
    case 'array':
      return leafCount(type.element)
    case 'nullable':
    case 'lowCardinality':
    case 'simpleAggregateFunction':
      return leafCount(type.inner)
    default:
      return 1
  }
}
