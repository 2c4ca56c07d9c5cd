import type { ColumnType } from './column-type.types.ts'

/** How many columns of plain values the engine keeps for a column of this type. */
export function leafCount(type: ColumnType): number {
  return columnLeaves(type).length
}

/** The types of the plain values of which a value of this type is made. */
export function columnLeaves(type: ColumnType): readonly ColumnType[] {
  switch (type.kind) {
    case 'tuple':
      return type.fields.flatMap((field) => columnLeaves(field.type))
    case 'map':
      return [...columnLeaves(type.key), ...columnLeaves(type.value)]
    case 'array':
      return columnLeaves(type.element)
    case 'nullable':
    case 'lowCardinality':
    case 'simpleAggregateFunction':
      return columnLeaves(type.inner)
    default:
      return [type]
  }
}
