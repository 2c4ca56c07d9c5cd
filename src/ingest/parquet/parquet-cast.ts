/**
 * Values of a Parquet file as values of a column, in SQL: what each type becomes, and which values it is refused for.
 *
 * The rules are those of the exact path in `codec/coercion`, as far as typed values have use for them: integers that are
 * exactly integers in range, decimals cut beyond their scale, days and times within the range of their type, texts read as
 * what they say. An expression never raises for a value that its condition refuses: both are computed for all rows.
 */
import { columnLeaves } from '../../schema/types/column-leaves.ts'
import { formatColumnType, valueTypeOf } from '../../schema/types/column-type.ts'
import type { ColumnType, TupleField } from '../../schema/types/column-type.types.ts'
import { quoteString } from '../../shared/text-escapes.ts'
import { jsonTextTo, jsonTextToDocument } from './parquet-json-texts.ts'
import {
  textToBool,
  textToDecimal,
  textToEnum,
  textToFloat,
  textToInteger,
  toDecimal,
  toExactInteger,
} from './parquet-numbers.ts'
import { numberToTime, textToTime, timeToTime, wholeToTime } from './parquet-times.ts'
import { allOf, argumentOver, type Cast, changed, chosen, plain, refusedCast, tried } from './parquet-verdict.ts'

/** A value of `from` as one of `to`. `sql` is evaluated more than once, which the engine does only once. */
export function castOf(sql: string, from: ColumnType, to: ColumnType): Cast {
  if (from.kind === 'lowCardinality' || from.kind === 'simpleAggregateFunction') return castOf(sql, from.inner, to)
  if (from.kind === 'nullable') return castNullable(sql, from.inner, to)
  return castValue(sql, from, valueTypeOf(to))
}

function castNullable(sql: string, inner: ColumnType, to: ColumnType): Cast {
  const cast = castOf(`assumeNotNull(${sql})`, inner, to)
  if (holdsNull(to)) {
    const condition = cast.condition === null ? null : `(isNull(${sql}) OR ${cast.condition})`
    return cast.isPlain
      ? { value: sql, condition, isPlain: true }
      : changed(`if(isNull(${sql}), NULL, ${cast.value})`, condition)
  }
  return changed(cast.value, allOf([`isNotNull(${sql})`, cast.condition]))
}

function holdsNull(type: ColumnType): boolean {
  if (type.kind === 'lowCardinality' || type.kind === 'simpleAggregateFunction') return holdsNull(type.inner)
  return type.kind === 'nullable'
}

/** The value as text: of texts their content, of what is composed its JSON. NULL stays NULL. */
export function textOf(sql: string, type: ColumnType | null): string {
  const kind = type === null ? null : valueTypeOf(type).kind
  if (kind === 'string') return sql
  const isComposed = kind === 'array' || kind === 'map' || kind === 'tuple' || kind === 'json' || kind === null
  return isComposed ? `toJSONString(${sql})` : `toString(${sql})`
}

function castValue(sql: string, from: ColumnType, to: ColumnType): Cast {
  if (to.kind === 'string') return castToText(sql, from)
  // A moment of a file may lie outside of what a column of the same type has.
  const isSame = from.kind !== 'dateTime64' && formatColumnType(from) === formatColumnType(to)
  if (!holdsText(from) && isSame) return plain(sql)
  if (to.kind === 'fixedString' && isNumber(from)) return castText(textOf(sql, from), to)
  switch (from.kind) {
    case 'string':
      return castText(sql, to)
    case 'fixedString':
      return castBytes(sql, from.byteCount, to)
    case 'integer':
      return castInteger(sql, from, to)
    case 'float':
      return castFloat(sql, from.bits, to)
    case 'decimal':
      return castDecimal(sql, from, to)
    case 'bool':
      return to.kind === 'integer' || to.kind === 'float' ? plain(sql) : refusedCast(to)
    case 'date':
    case 'date32':
    case 'dateTime':
    case 'dateTime64':
      return timeToTime(sql, from, to)
    case 'array':
      return to.kind === 'array' ? castArray(sql, from.element, to.element) : refusedCast(to)
    case 'map':
      return castMap(sql, from, to)
    case 'tuple':
      return castTuple(sql, from.fields, to)
    default:
      return refusedCast(to)
  }
}

/** The engine takes any bytes for a text; here a text is UTF-8, as in JSON. */
function castToText(sql: string, from: ColumnType): Cast {
  const text = textOf(sql, from)
  const condition = holdsText(from) ? `isValidUTF8(${text})` : null
  return from.kind === 'string' ? { value: text, condition, isPlain: true } : changed(text, condition)
}

/** Whether texts of any length are in it. Bytes of a fixed length for a column of the same length are taken as they are. */
function holdsText(type: ColumnType): boolean {
  return columnLeaves(type).some(({ kind }) => kind === 'string')
}

function isNumber({ kind }: ColumnType): boolean {
  return kind === 'integer' || kind === 'float' || kind === 'decimal' || kind === 'bool'
}

function castText(sql: string, to: ColumnType): Cast {
  const text = `trimBoth(${sql}, ' \\t')`
  switch (to.kind) {
    case 'integer':
      return textToInteger(text, to)
    case 'float':
      return textToFloat(text, to)
    case 'decimal':
      return textToDecimal(text, to)
    case 'bool':
      return textToBool(text)
    case 'uuid':
    case 'ipv4':
      return tried(text, to)
    case 'ipv6': {
      const cast = tried(text, to)
      return changed(
        cast.value,
        allOf([
          cast.condition,
          `NOT match(${text}, ${idleGap})`,
          `NOT match(${text}, ${paddedOctet})`,
          `position(${text}, ':::') = 0`,
        ]),
      )
    }
    case 'date':
    case 'date32':
    case 'dateTime':
    case 'dateTime64':
      return textToTime(text, to)
    case 'enum':
      return textToEnum(sql, text, to)
    case 'fixedString':
      return chosen(sql, `(length(${sql}) <= ${to.byteCount} AND isValidUTF8(${sql}))`, "''")
    case 'json':
      return jsonTextToDocument(sql, to, castOf)
    case 'array':
    case 'map':
    case 'tuple':
      return jsonTextTo(text, to, castOf)
    default:
      return refusedCast(to)
  }
}

/** Eight groups and a gap among them, which has to stand for one at least; the engine lets it pass. */
const idleGap = `'^[^:](?:[^:]*:){8}[^:]'`
/** A zero in front of a number of the IPv4 address at the end, which the engine lets pass too. */
const paddedOctet = `'(?:^|[:.])0\\\\d+[.]|[.]0\\\\d+$'`

/** Bytes of a fixed length: ids, addresses and wide integers are written so; else they are text. */
function castBytes(sql: string, byteCount: number, to: ColumnType): Cast {
  if (byteCount === 16 && (to.kind === 'uuid' || to.kind === 'ipv6')) return plain(sql)
  if (to.kind === 'integer' && to.bits >= 128 && to.bits === 8 * byteCount) {
    return changed(`reinterpret(${sql}, ${quoteString(to.name)})`, null)
  }
  return castText(`toStringCutToZero(${sql})`, to)
}

type IntegerType = Extract<ColumnType, { readonly kind: 'integer' }>
type DecimalType = Extract<ColumnType, { readonly kind: 'decimal' }>
type MapType = Extract<ColumnType, { readonly kind: 'map' }>

function castInteger(sql: string, from: IntegerType, to: ColumnType): Cast {
  switch (to.kind) {
    case 'integer':
      return castWhole(sql, from, to)
    case 'float':
      return plain(sql)
    case 'decimal':
      return toDecimal(`toString(${sql})`, to)
    case 'bool':
      return changed(`(${sql} = 1)`, `(${sql} IN (0, 1))`)
    case 'enum':
      return castEnumNumber(sql, to)
    case 'ipv4':
      return from.name === 'UInt32' ? plain(sql) : refusedCast(to)
    case 'date':
    case 'date32':
    case 'dateTime':
    case 'dateTime64':
      return from.bits <= 64 ? wholeToTime(sql, to) : refusedCast(to)
    default:
      return refusedCast(to)
  }
}

function castWhole(sql: string, from: IntegerType, to: IntegerType): Cast {
  if (isWithin(from, to)) return plain(sql)
  return from.bits <= 64 && to.bits <= 64 ? tried(sql, to) : toExactInteger(`toString(${sql})`, to)
}

function castEnumNumber(sql: string, { members }: Extract<ColumnType, { readonly kind: 'enum' }>): Cast {
  const condition = `(${sql} IN (${members.map(({ value }) => value).join(', ')}))`
  return changed(`toInt16(if(${condition}, ${sql}, ${members[0]?.value ?? 0}))`, condition)
}

function isWithin(from: IntegerType, to: IntegerType): boolean {
  if (from.isSigned && !to.isSigned) return false
  return from.isSigned === to.isSigned ? to.bits >= from.bits : to.bits > from.bits
}

function castFloat(sql: string, bits: 32 | 64, to: ColumnType): Cast {
  switch (to.kind) {
    case 'integer':
      return to.bits <= 64 ? tried(sql, to) : textToInteger(`toString(${sql})`, to)
    case 'float':
      // What is finite must stay so.
      return to.bits >= bits ? plain(sql) : changed(sql, `(isFinite(toFloat32(${sql})) OR NOT isFinite(${sql}))`)
    case 'decimal':
      return toDecimal(`toString(${sql})`, to)
    case 'enum':
      return castEnumNumber(sql, to)
    default:
      return castFraction(sql, to)
  }
}

function castDecimal(sql: string, from: DecimalType, to: ColumnType): Cast {
  switch (to.kind) {
    case 'float':
      // By its digits: the engine divides, and is wrong in the last place.
      return changed(`toFloat${to.bits}(toString(${sql}))`, null)
    case 'decimal': {
      const hasRoom = to.scale >= from.scale && to.precision - to.scale >= from.precision - from.scale
      return hasRoom ? plain(sql) : toDecimal(`toString(${sql})`, to)
    }
    case 'integer':
      return textToInteger(`toString(${sql})`, to)
    default:
      return castFraction(sql, to)
  }
}

/** What a number that may have a fraction becomes where that is the same for all of them. */
function castFraction(sql: string, to: ColumnType): Cast {
  switch (to.kind) {
    case 'bool':
      return changed(`(${sql} = 1)`, `(${sql} IN (0, 1))`)
    case 'date':
    case 'date32':
    case 'dateTime':
    case 'dateTime64':
      return numberToTime(`toString(${sql})`, to)
    default:
      return refusedCast(to)
  }
}

function castArray(sql: string, from: ColumnType, to: ColumnType): Cast {
  const argument = argumentOver(sql)
  const element = castOf(argument, from, to)
  const condition = element.condition === null ? null : `arrayAll(${argument} -> ${element.condition}, ${sql})`
  if (element.isPlain) return { value: sql, condition, isPlain: true }
  return changed(`arrayMap(${argument} -> ${element.value}, ${sql})`, condition)
}

function castMap(sql: string, from: MapType, to: ColumnType): Cast {
  if (to.kind === 'json') return changed(`toJSONString(${sql})`, null)
  if (to.kind !== 'map') return refusedCast(to)
  const keys = castArray(`mapKeys(${sql})`, from.key, to.key)
  const values = castArray(`mapValues(${sql})`, from.value, to.value)
  const condition = allOf([keys.condition, values.condition])
  if (keys.isPlain && values.isPlain) return { value: sql, condition, isPlain: true }
  return changed(`mapFromArrays(${keys.value}, ${values.value})`, condition)
}

function castTuple(sql: string, from: readonly TupleField[], to: ColumnType): Cast {
  if (to.kind === 'json') return changed(`toJSONString(${sql})`, null)
  if (to.kind === 'map' && to.key.kind === 'string') return castFieldsToMap(sql, from, to)
  if (to.kind !== 'tuple') return refusedCast(to)
  const casts = to.fields.map((field, index) => {
    const at = field.name === null ? index : from.findIndex(({ name }) => name === field.name)
    const source = from[at]
    if (source !== undefined) return castOf(`tupleElement(${sql}, ${at + 1})`, source.type, field.type)
    return holdsNull(field.type) ? changed('NULL', null) : refusedCast(field.type)
  })
  const condition = allOf(casts.map((cast) => cast.condition))
  return changed(`tuple(${casts.map(({ value }) => value).join(', ')})`, condition)
}

/** A group of fields as a map by their names. */
function castFieldsToMap(sql: string, from: readonly TupleField[], to: MapType): Cast {
  const casts = from.map(({ type }, index) => castOf(`tupleElement(${sql}, ${index + 1})`, type, to.value))
  const names = from.map(({ name }, index) => quoteString(name ?? String(index + 1)))
  const valueType = quoteString(`Array(${formatColumnType(to.value)})`)
  const values = `CAST([${casts.map(({ value }) => value).join(', ')}], ${valueType})`
  return changed(`mapFromArrays([${names.join(', ')}], ${values})`, allOf(casts.map((cast) => cast.condition)))
}
