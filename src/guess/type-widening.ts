// What type would have taken values that a column's type refused: the nearest wider one, by the codec's own judgement.

import { createCoercion } from '../codec/coercion/coercion.ts'
import { formatColumnType, isNullable, parseColumnType, valueTypeOf } from '../schema/types/column-type.ts'
import type { ColumnType } from '../schema/types/column-type.types.ts'

/**
 * The type that takes all of `texts`, and what `type` takes too; null when there is none but the same.
 *
 * @param texts as they stand in quarantine; null is a value that was missing, and an empty text is nothing for all types
 *   but texts.
 * @param mayBeNull false for the columns of keys.
 */
export function widenType(type: ColumnType, texts: readonly (string | null)[], mayBeNull: boolean): string | null {
  const hasNothing = texts.some((text) => text === null || text === '')
  const written = texts.flatMap((text) => text || [])
  const value = valueTypeOf(type)
  // What is stored as an aggregate stays one.
  if (value.kind === 'aggregateFunction' || type.kind === 'simpleAggregateFunction') return null
  const inner = [formatColumnType(value), ...widerTypes(value)].find((candidate) => takesAll(candidate, written))
  if (inner === undefined) return null
  const needsNull = hasNothing && !(inner === 'String' && !texts.includes(null))
  if (needsNull && !mayBeNull && !isNullable(type)) return null
  const nullable = needsNull || isNullable(type) ? nullableText(inner) : inner
  const isDictionary = type.kind === 'lowCardinality' && (inner === 'String' || inner.startsWith('FixedString'))
  const widened = nullable === null ? null : isDictionary ? `LowCardinality(${nullable})` : nullable
  return widened === formatColumnType(type) ? null : widened
}

/** Narrowest first; each takes every value of `type`, and String takes all texts. */
function widerTypes(type: ColumnType): readonly string[] {
  switch (type.kind) {
    case 'integer': {
      const wider = ['Int64', 'UInt64', 'Int128', 'Int256'].filter((name) => holds(name, type))
      return [...wider, ...(type.bits <= 32 ? ['Float64'] : []), 'String']
    }
    case 'bool':
      return ['Int64', 'String']
    case 'float':
      return ['Float64', 'String']
    case 'decimal':
      return [`Decimal(76, ${type.scale})`, 'String']
    case 'date':
      return ['Date32', 'DateTime64(3)', 'String']
    case 'date32':
      return ['DateTime64(3)', 'String']
    case 'dateTime':
      return type.zone === null ? ['DateTime64(3)', 'DateTime64(6)', 'String'] : ['String']
    case 'dateTime64':
    case 'fixedString':
    case 'uuid':
    case 'enum':
    case 'ipv4':
    case 'ipv6':
    case 'json':
    case 'array':
    case 'map':
    case 'tuple':
      return ['String']
    case 'string':
    case 'nullable':
    case 'lowCardinality':
    case 'simpleAggregateFunction':
    case 'aggregateFunction':
      return []
  }
}

/** Whether every value of the integer type is one of `wider` too. */
function holds(wider: string, { bits, isSigned }: Extract<ColumnType, { kind: 'integer' }>): boolean {
  const target = parseColumnType(wider)
  if (target.kind !== 'integer') return false
  if (target.isSigned === isSigned) return target.bits >= bits
  return target.isSigned && target.bits > bits
}

function takesAll(type: string, texts: readonly string[]): boolean {
  const judge = createCoercion(parseColumnType(type))
  return texts.every((text) => judge({ kind: 'cell', text, isQuoted: true }).isAccepted)
}

/** Null for what cannot be Nullable. */
function nullableText(type: string): string | null {
  return /^(Array|Map|Tuple|JSON)\b/.test(type) ? null : `Nullable(${type})`
}
