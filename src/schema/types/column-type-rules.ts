// Which type may stand inside which: ClickHouse's rules, and where a value could never be read from JSON or CSV, ours.

import type { ColumnType } from './column-type.types.ts'

export interface TypeRuleFault {
  readonly reason: string
  readonly hint?: string
}

/** What is wrong with a type inside Array, Map, Tuple, JSON or SimpleAggregateFunction. */
export function nestedFault(type: ColumnType, text: string): TypeRuleFault | null {
  // The engine allows it, but states inside other values can be neither read from a body nor merged.
  if (type.kind !== 'aggregateFunction' && type.kind !== 'simpleAggregateFunction') return null
  return { reason: `${text} can only be the type of a whole column` }
}

/** What is wrong with a type inside Nullable. */
export function nullableFault(type: ColumnType, text: string): TypeRuleFault | null {
  const reason = `${text} cannot be inside Nullable`
  switch (type.kind) {
    case 'array':
    case 'map':
    case 'tuple':
      return { reason, hint: `use ${text}, which is empty where the value is missing` }
    case 'nullable':
      return { reason }
    case 'lowCardinality':
      return { reason, hint: 'use LowCardinality(Nullable(…))' }
    case 'simpleAggregateFunction':
      return { reason, hint: 'use SimpleAggregateFunction(…, Nullable(…))' }
    case 'aggregateFunction':
      return { reason }
    case 'integer':
    case 'float':
    case 'decimal':
    case 'bool':
    case 'string':
    case 'fixedString':
    case 'uuid':
    case 'date':
    case 'date32':
    case 'dateTime':
    case 'dateTime64':
    case 'enum':
    case 'ipv4':
    case 'ipv6':
    case 'json':
      return null
  }
}

const dictionaryKinds: ReadonlySet<ColumnType['kind']> = new Set([
  'integer',
  'float',
  'bool',
  'string',
  'fixedString',
  'uuid',
  'date',
  'date32',
  'dateTime',
  'ipv4',
  'ipv6',
] as const)

/** What is wrong with a type inside LowCardinality. */
export function lowCardinalityFault(type: ColumnType, text: string): TypeRuleFault | null {
  const value = type.kind === 'nullable' ? type.inner : type
  if (dictionaryKinds.has(value.kind)) return null
  return { reason: `${text} cannot be inside LowCardinality`, hint: 'it takes texts, numbers, Date and DateTime' }
}

const keyKinds: ReadonlySet<ColumnType['kind']> = new Set([
  ...dictionaryKinds,
  'decimal',
  'dateTime64',
  'enum',
] as const)

/** What is wrong with a type as the key of a Map: keys of JSON objects are texts, so only types with a text can be keys. */
export function mapKeyFault(type: ColumnType, text: string): TypeRuleFault | null {
  const value = type.kind === 'lowCardinality' ? type.inner : type
  if (keyKinds.has(value.kind)) return null
  return { reason: `${text} cannot be the key of a Map`, hint: 'use String, a number, a date, an Enum or UUID' }
}

/** What is wrong with the name of the next field of a Tuple, null for a field without one. */
export function fieldNameFault(name: string | null, before: ReadonlySet<string | null>): TypeRuleFault | null {
  if (before.size > 0 && before.has(null) !== (name === null)) {
    return { reason: 'Tuple has names for some of its types only' }
  }
  if (name === null) return null
  if (name === '') return { reason: 'Tuple has an empty name' }
  return before.has(name) ? { reason: `Tuple has two fields named '${name}'` } : null
}
