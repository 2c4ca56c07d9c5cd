// JSON schemas, as OpenAPI 3.0 has them, of what endpoints take and give.

import { parseColumnType } from '../../schema/types/column-type.ts'
import type { ColumnType } from '../../schema/types/column-type.types.ts'
import { TextError } from '../../shared/text-error.ts'

export type JsonSchema = Readonly<Record<string, unknown>>

/** The schema of a value of this type, as ClickHouse writes it in its format JSON; any value for a type that is not known. */
export function columnSchema(typeText: string): JsonSchema {
  try {
    return schemaOf(parseColumnType(typeText))
  } catch (error) {
    // Results have types that no table has, such as Nullable(Nothing), intervals and Variant.
    if (error instanceof TextError) return {}
    throw error
  }
}

function schemaOf(type: ColumnType): JsonSchema {
  switch (type.kind) {
    case 'integer':
      return integerSchema(type.bits, type.isSigned)
    case 'float':
      // NaN and the infinities are written as null.
      return { type: 'number', format: type.bits === 32 ? 'float' : 'double', nullable: true }
    case 'decimal':
      return { type: 'number' }
    case 'bool':
      return { type: 'boolean' }
    case 'string':
    case 'fixedString':
    // A DateTime is no `date-time` of JSON schemas: it has a blank in the middle and no zone.
    case 'dateTime':
    case 'dateTime64':
    case 'aggregateFunction':
      return { type: 'string' }
    case 'uuid':
    case 'ipv4':
    case 'ipv6':
      return { type: 'string', format: type.kind }
    case 'date':
    case 'date32':
      return { type: 'string', format: 'date' }
    case 'enum':
      return { type: 'string', enum: type.members.map(({ name }) => name) }
    case 'json':
      return { type: 'object', additionalProperties: true }
    case 'nullable':
      return nullableSchema(schemaOf(type.inner))
    case 'lowCardinality':
    case 'simpleAggregateFunction':
      return schemaOf(type.inner)
    case 'array':
      return { type: 'array', items: schemaOf(type.element) }
    case 'map':
      return { type: 'object', additionalProperties: schemaOf(type.value) }
    case 'tuple':
      return tupleSchema(type.fields)
  }
}

/** A value of an enumeration may be null only when null is one of them. */
function nullableSchema(schema: JsonSchema): JsonSchema {
  const { enum: values } = schema
  return { ...schema, ...(Array.isArray(values) ? { enum: [...values, null] } : {}), nullable: true }
}

function tupleSchema(fields: Extract<ColumnType, { readonly kind: 'tuple' }>['fields']): JsonSchema {
  const isNamed = fields.length > 0 && fields.every(({ name }) => name !== null)
  if (!isNamed) return { type: 'array', items: {}, minItems: fields.length, maxItems: fields.length }
  return { type: 'object', properties: Object.fromEntries(fields.map(({ name, type }) => [name, schemaOf(type)])) }
}

function integerSchema(bits: number, isSigned: boolean): JsonSchema {
  const isShort = bits < 32 || (bits === 32 && isSigned)
  const isLong = bits < 64 || (bits === 64 && isSigned)
  const format = isShort ? { format: 'int32' } : isLong ? { format: 'int64' } : {}
  return { type: 'integer', ...format, ...(isSigned ? {} : { minimum: 0 }) }
}

/** The schema of a parameter by the name of its function, such as `Int32` or `Array(String)`. */
export function parameterSchema(type: string): JsonSchema {
  const element = /^Array\((.*)\)$/s.exec(type)?.[1]
  if (element !== undefined) return { type: 'array', items: parameterSchema(element) }
  if (type === 'Boolean' || type === 'bool') return { type: 'boolean' }
  if (type === 'Int' || type === 'Integer') return integerSchema(32, true)
  const integer = /^(U?)Int(8|16|32|64|128|256)$/.exec(type)
  if (integer !== null) return integerSchema(Number(integer[2]), integer[1] === '')
  if (type === 'Float32' || type === 'Float64')
    return { type: 'number', format: type === 'Float32' ? 'float' : 'double' }
  if (type === 'UUID') return { type: 'string', format: 'uuid' }
  if (type === 'Date') return { type: 'string', format: 'date' }
  return { type: 'string' }
}

/**
 * The value as one of the schema; undefined when it is none, or JSON's readers would round it.
 *
 * Templates have their defaults as texts as often as not: `Int32(x, '5')`, `Array(x, 'Int32', '1,2')`.
 */
export function valueOfSchema(value: unknown, schema: JsonSchema): unknown {
  if (value === null || value === undefined) return undefined
  switch (schema['type']) {
    case 'array':
      return arrayOfSchema(value, schema)
    case 'integer': {
      const number = numberOf(value)
      return number !== undefined && Number.isSafeInteger(number) ? number : undefined
    }
    case 'number':
      return numberOf(value)
    case 'boolean':
      return typeof value === 'string' ? !['', '0', 'false'].includes(value.toLowerCase()) : Boolean(value)
    default:
      return typeof value === 'object' ? JSON.stringify(value) : String(value)
  }
}

function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value
  if (typeof value !== 'string' || value.trim() === '') return undefined
  const number = Number(value)
  return Number.isFinite(number) ? number : undefined
}

function arrayOfSchema(value: unknown, { items }: JsonSchema): readonly unknown[] | undefined {
  const texts: readonly unknown[] = Array.isArray(value) ? value : String(value).split(',')
  // `parameterSchema` gives the elements of an array a schema.
  const values = texts.map((item) => valueOfSchema(item, items as JsonSchema))
  return values.includes(undefined) ? undefined : values
}
