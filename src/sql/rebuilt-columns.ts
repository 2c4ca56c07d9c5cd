// What a column brings along beside the values of its rows, and how a filtered reader gets it without.
//
// A block keeps it also for the rows that a filter has taken out:
// - LowCardinality has one dictionary for all rows. Functions run over the whole of it, so what they raise, or count, tells of
//   values that nobody may see.
// - JSON has one list of paths, and for each path the types of its values. A cast looks at all of these types.
//
// So each such column is built anew out of the rows that are left. Primary keys are still used: the engine looks through casts.

import { formatColumnType } from '../schema/types/column-type.ts'
import type { ColumnType } from '../schema/types/column-type.types.ts'
import { quoteName } from '../shared/text-escapes.ts'
import type { OutputColumn, TypedColumn } from './source.types.ts'

/** What follows an asterisk that gives all columns: `` REPLACE (… AS `s`)``, or nothing when none is to be rebuilt. */
export function rebuiltColumns(columns: readonly (TypedColumn | OutputColumn)[]): string {
  const rebuilt = columns.flatMap((column) => {
    const { name } = column
    const { type } = column
    const sql =
      type !== undefined
        ? rebuiltColumn(quoteName(name), type)
        : rebuiltUnknown(quoteName(name), 'typeText' in column ? column.typeText : '')
    return sql === null ? [] : [`${sql} AS ${quoteName(name)}`]
  })
  return rebuilt.length === 0 ? '' : ` REPLACE (${rebuilt.join(', ')})`
}

/** Whether a column is of JSON, or has such in it. */
export function hasPaths(type: ColumnType): boolean {
  return type.kind === 'json' || innerTypes(type).some(hasPaths)
}

/** Whether a column of a query's result may be of JSON, or have such in it. */
export function mayHavePaths({ type, typeText }: OutputColumn): boolean {
  return type === undefined ? pathTypes.test(typeText) : hasPaths(type)
}

const pathTypes = /\b(?:JSON|Object|Dynamic|Variant)\b/

/** Of a type that no table of ours has: by its name alone it may bring something along. */
function rebuiltUnknown(name: string, typeText: string): string | null {
  if (!pathTypes.test(typeText) && !typeText.includes('LowCardinality')) return null
  return `CAST(arrayReduce('groupArray', [${name}])[1] AS ${typeText})`
}

function rebuiltColumn(name: string, type: ColumnType): string | null {
  const sql = hasPaths(type) ? rebuiltPaths(name, type, 0) : name
  const text = formatColumnType(type)
  if (hasDictionary(type)) return `CAST(CAST(${sql} AS ${formatColumnType(plainType(type))}) AS ${text})`
  if (sql === name) return null
  return type.kind === 'json' ? sql : `CAST(${sql} AS ${text})`
}

function hasDictionary(type: ColumnType): boolean {
  return type.kind === 'lowCardinality' || innerTypes(type).some(hasDictionary)
}

function innerTypes(type: ColumnType): readonly ColumnType[] {
  switch (type.kind) {
    case 'lowCardinality':
    case 'nullable':
    case 'simpleAggregateFunction':
      return [type.inner]
    case 'array':
      return [type.element]
    case 'map':
      return [type.key, type.value]
    case 'tuple':
      return type.fields.map((field) => field.type)
    default:
      return []
  }
}

/** The same values without dictionaries. */
function plainType(type: ColumnType): ColumnType {
  switch (type.kind) {
    case 'lowCardinality':
    case 'simpleAggregateFunction':
      return plainType(type.inner)
    case 'nullable':
      return { ...type, inner: plainType(type.inner) }
    case 'array':
      return { ...type, element: plainType(type.element) }
    case 'map':
      return { ...type, key: plainType(type.key), value: plainType(type.value) }
    case 'tuple':
      return { ...type, fields: type.fields.map((field) => ({ ...field, type: plainType(field.type) })) }
    default:
      return type
  }
}

/**
 * An aggregate function that gathers one value writes it down, and reads it again as if there were no others. That takes a
 * part of the time that a text and its parsing would, and keeps the types.
 */
function rebuiltPaths(sql: string, type: ColumnType, depth: number): string {
  if (!hasPaths(type)) return sql
  const name = (part: string): string => quoteName(`__rebuilt_${part}${depth}`)
  const inner = (part: string, of: ColumnType): string => rebuiltPaths(part, of, depth + 1)
  switch (type.kind) {
    case 'array':
      return `arrayMap(${name('e')} -> ${inner(name('e'), type.element)}, ${sql})`
    case 'map': {
      const [key, value] = [name('k'), name('v')]
      return `mapApply((${key}, ${value}) -> (${key}, ${inner(value, type.value)}), ${sql})`
    }
    case 'tuple': {
      const fields = type.fields.map((field, index) => inner(`tupleElement(${sql}, ${index + 1})`, field.type))
      return `CAST(tuple(${fields.join(', ')}) AS ${formatColumnType(type)})`
    }
    case 'nullable':
      return `if(isNull(${sql}), NULL, ${inner(`assumeNotNull(${sql})`, type.inner)})`
    default:
      return `arrayReduce('groupArray', [${sql}])[1]`
  }
}
