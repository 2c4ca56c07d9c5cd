/**
 * Texts of a Parquet file that hold JSON as lists, maps and tuples, in SQL: what `codec/coercion/nested` takes of a string
 * in JSON. Each value in them is taken apart as text, and is judged as the text that it is.
 */

import { typedPaths } from '../../codec/coercion/json-typed-paths.ts'
import { formatColumnType, valueTypeOf } from '../../schema/types/column-type.ts'
import type { ColumnType } from '../../schema/types/column-type.types.ts'
import { quoteString } from '../../shared/text-escapes.ts'
import { numberToTimeText } from './parquet-times.ts'
import { allOf, argumentOver, type Cast, changed, refusedCast, tried, where } from './parquet-verdict.ts'

type CastOf = (sql: string, from: ColumnType, to: ColumnType) => Cast

/** NULL is the null of JSON. */
const jsonValue: ColumnType = { kind: 'nullable', inner: { kind: 'string' } }
const jsonKey: ColumnType = { kind: 'string' }

/** `castOf` judges the values inside. */
export function jsonTextTo(text: string, to: ColumnType, castOf: CastOf): Cast {
  switch (to.kind) {
    case 'array':
      return toArray(text, to.element, castOf)
    case 'map':
      return toMap(text, to, castOf)
    case 'tuple':
      return toTuple(text, to, castOf)
    default:
      return refusedCast(to)
  }
}

/**
 * The engine reads texts as documents by itself. Where a path has a type it takes some values for other ones than the same
 * type is given elsewhere: such a document is refused.
 */
export function jsonTextToDocument(
  text: string,
  to: Extract<ColumnType, { readonly kind: 'json' }>,
  castOf: CastOf,
): Cast {
  const { value, condition } = tried(text, to)
  const paths = [...typedPaths(to.parameters)].map(([path, type]) => {
    const keys = path.split('.').map((key) => quoteString(key))
    const raw = `JSONExtractRaw(${text}, ${keys.join(', ')})`
    const isAlike = where(`(${raw} NOT IN ('null', ''))`, `(${textOfJson(raw, type)}, ${value})`, (argument) => {
      const cast = castOf(`tupleElement(${argument}, 1)`, jsonValue, type)
      const ours = `CAST(${cast.value}, ${quoteString(formatColumnType(type))})`
      const engines = `getSubcolumn(tupleElement(${argument}, 2), ${quoteString(path)})`
      return changed(
        '1',
        allOf([`isNotNull(tupleElement(${argument}, 1))`, cast.condition, `toString(${ours}) = toString(${engines})`]),
      )
    })
    return `(${raw} IN ('null', '') OR ${isAlike.condition})`
  })
  return changed(value, allOf([`isValidUTF8(${text})`, condition, ...paths]))
}

function toArray(text: string, element: ColumnType, castOf: CastOf): Cast {
  const values = `JSONExtractArrayRaw(${text})`
  const cast = castOf(valuesOf(values, element), { kind: 'array', element: jsonValue }, { kind: 'array', element })
  return changed(cast.value, allOf([is(text, 'Array'), cast.condition]))
}

function toMap(text: string, { key, value }: Extract<ColumnType, { kind: 'map' }>, castOf: CastOf): Cast {
  const all = `JSONExtractKeysAndValuesRaw(${text})`
  const [pair, index] = ['k', 'i'].map((letter) => argumentOver(text).replace('x', letter))
  // Of a key that repeats, the last one counts.
  const isLast = `NOT has(arraySlice(tupleElement(${all}, 1), ${index} + 1), tupleElement(${pair}, 1))`
  const pairs = `arrayFilter((${pair}, ${index}) -> ${isLast}, ${all}, arrayEnumerate(${all}))`
  const keys = castOf(`tupleElement(${pairs}, 1)`, { kind: 'array', element: jsonKey }, { kind: 'array', element: key })
  const texts = valuesOf(`tupleElement(${pairs}, 2)`, value)
  const values = castOf(texts, { kind: 'array', element: jsonValue }, { kind: 'array', element: value })
  const condition = allOf([is(text, 'Object'), keys.condition, values.condition])
  return changed(`mapFromArrays(${keys.value}, ${values.value})`, condition)
}

function toTuple(text: string, { fields }: Extract<ColumnType, { kind: 'tuple' }>, castOf: CastOf): Cast {
  const items = `JSONExtractArrayRaw(${text})`
  const isArray = `(${is(text, 'Array')} AND length(${items}) = ${fields.length})`
  const hasNames = fields.every(({ name }) => name !== null)
  const casts = fields.map(({ name, type }, index) => {
    const item = `${items}[${index + 1}]`
    const member = `JSONExtractRaw(${text}, ${quoteString(name ?? '')})`
    const raw = name === null ? item : `if(${is(text, 'Object')}, ${member}, ${item})`
    return where('1', textOfJson(raw, type), (value) => castOf(value, jsonValue, type))
  })
  const isEither = hasNames ? `(${isArray} OR ${is(text, 'Object')})` : isArray
  const condition = allOf([isEither, ...casts.map((cast) => cast.condition)])
  return changed(`tuple(${casts.map(({ value }) => value).join(', ')})`, condition)
}

function is(text: string, type: 'Array' | 'Object'): string {
  return `(isValidJSON(${text}) AND JSONType(${text}) = '${type}')`
}

function valuesOf(values: string, type: ColumnType): string {
  const argument = argumentOver(values)
  return `arrayMap(${argument} -> ${textOfJson(argument, type)}, ${values})`
}

/** A value of JSON as the text of a string that a column takes for the same; NULL where it is null or missing. */
function textOfJson(raw: string, type: ColumnType): string {
  const value = valueTypeOf(type)
  const { kind } = value
  if (kind === 'date' || kind === 'date32' || kind === 'dateTime' || kind === 'dateTime64') {
    // A text of the digits of a number is another time, or none.
    const number = where(`match(${raw}, '^[-0-9]')`, raw, (argument) => numberToTimeText(argument, value))
    const text = `multiIf(startsWith(${raw}, '"'), JSONExtractString(${raw}), ${number.condition}, ${number.value}, '')`
    return `if(${raw} IN ('null', ''), NULL, ${text})`
  }
  const ofBool =
    kind === 'integer' || kind === 'float' ? `, ${raw} IN ('true', 'false'), toString(${raw} = 'true')` : ''
  const text = `multiIf(startsWith(${raw}, '"'), JSONExtractString(${raw})${ofBool}, ${raw})`
  return `if(${raw} IN ('null', ''), NULL, ${text})`
}
