/**
 * What each column type accepts by the current rules (`shared/value-rules.ts` has what older ones had otherwise): the exact path behind the scanners, and the reference that they are held to.
 *
 * A text is a JSON string or a CSV cell. Blanks and tabs around a text are ignored, except for String, FixedString, Enum and
 * JSON. What a line does not name is refused, and the row goes to quarantine.
 *
 * | type | JSON | text |
 * |---|---|---|
 * | String | strings; numbers, booleans, arrays and objects as their source text | any |
 * | FixedString(N) | as String, up to N bytes of UTF-8 | up to N bytes |
 * | Int8 … UInt256 | numbers that are exactly integers in range (`3.0`, `1e3`); true is 1, false is 0 | the same, with `+` and leading zeros |
 * | Float32, Float64 | numbers that are finite in the type; too small ones are 0; true is 1, false is 0 | the same, `.5`, `5.`, `inf`, `infinity`, `nan` |
 * | Decimal(P, S) | numbers of up to P - S integer digits; digits beyond S decimals are cut | the same |
 * | Bool | true, false, 0, 1 | true, false, t, f, yes, no, y, n, on, off, 1, 0 in any case |
 * | UUID | — | 36 characters, or 32 without dashes, in any case |
 * | Date, Date32 | 0 to 65535 are days since 1970-01-01; other numbers are instants | dates, times and digits (see below) |
 * | DateTime, DateTime64 | numbers are instants | dates, times and digits |
 * | Enum8, Enum16 | numbers are values | a name, else a value |
 * | IPv4 | — | `1.2.3.4`, without leading zeros |
 * | IPv6 | — | any spelling; IPv4 is mapped to `::ffff:…` |
 * | JSON | objects | an object as JSON text |
 * | Array(T) | arrays whose elements T accepts | JSON `["a"]` or ClickHouse `['a']` |
 * | Map(K, V) | objects whose keys K accepts as texts and whose values V accepts | JSON or ClickHouse `{'a': 1}` |
 * | Tuple(…) | arrays by position; with named fields also objects by name | JSON or ClickHouse `('a', 1)` |
 * | AggregateFunction | — | — |
 *
 * - Nullable, LowCardinality and SimpleAggregateFunction accept what their inner type accepts. Inside an array, map or
 *   tuple null is NULL where the element is Nullable, and refused elsewhere; a named field that is missing likewise.
 * - Times are `YYYY-MM-DD`, or `YYYY-MM-DD hh:mm[:ss[.fraction]]` with a blank or `T` between, and then nothing, `Z`,
 *   `±hh`, `±hhmm` or `±hh:mm`; or a common other spelling of one (`parseCommonDateTimeText`). Days must exist; hour 24 and second 60 do not. Without an offset a time is local to the
 *   column's zone, UTC if it has none. Digits beyond the column's scale are cut. A Date takes the date as written, or
 *   with an offset the date in UTC.
 * - Instants are epoch numbers, with the unit told by the magnitude: below 1e11 seconds, below 1e14 milliseconds, below
 *   1e17 microseconds, else nanoseconds. They may have a fraction, which is read exactly.
 * - Digits alone are a time by how many there are: `0`, 9 or 10 are seconds, 13 milliseconds, 16 microseconds, 19 nanoseconds,
 *   with a sign and a fraction or without; 8 are `YYYYMMDD`, 14 `YYYYMMDDhhmmss`. Others are refused: `2024` is no second of
 *   1970, and no day either.
 * - Ranges: Date 1970-01-01 to 2149-06-06, Date32 1900-01-01 to 2299-12-31, DateTime to 2106-02-07 06:28:15, DateTime64
 *   1900 to 2299 in UTC (with more than six decimals to 2262-04-11 23:47:16.854775807).
 */
import type { ColumnType } from '../../schema/types/column-type.types.ts'
import { currentValueRules, type ValueRules } from '../../shared/value-rules.ts'
import { ipv4Coercion, ipv6Coercion } from './addresses.ts'
import { boolCoercion } from './booleans.ts'
import { jsonCoercion } from './json-documents.ts'
import { typedPathWriter } from './json-typed-paths.ts'
import { arrayCoercion, mapCoercion, tupleCoercion } from './nested.ts'
import { decimalCoercion, floatCoercion, integerCoercion } from './numbers.ts'
import { enumCoercion, fixedStringCoercion, stringCoercion, uuidCoercion } from './texts.ts'
import { dateCoercion, dateTime64Coercion, dateTimeCoercion } from './times.ts'
import { accepted, type Coercion, refused } from './verdict.ts'

/**
 * Compiles what a column type accepts; call it once for a column, and the result for each value. The result never throws.
 *
 * A null is accepted where the type is Nullable; whether a DEFAULT takes its place is for the caller to decide before.
 */
export function createCoercion(type: ColumnType, rules: ValueRules = currentValueRules): Coercion {
  const inner = (of: ColumnType): Coercion => createCoercion(of, rules)
  switch (type.kind) {
    case 'integer':
      return integerCoercion(type)
    case 'float':
      return floatCoercion(type.bits, rules)
    case 'decimal':
      return decimalCoercion(type.precision, type.scale)
    case 'bool':
      return boolCoercion
    case 'string':
      return stringCoercion
    case 'fixedString':
      return fixedStringCoercion(type.byteCount)
    case 'uuid':
      return uuidCoercion
    case 'date':
    case 'date32':
      return dateCoercion(type.kind, rules)
    case 'dateTime':
      return dateTimeCoercion(type.zone, rules)
    case 'dateTime64':
      return dateTime64Coercion(type, rules)
    case 'enum':
      return enumCoercion(type.members, rules)
    case 'ipv4':
      return ipv4Coercion
    case 'ipv6':
      return ipv6Coercion
    case 'json':
      return jsonCoercion(typedPathWriter(type.parameters, inner))
    case 'nullable':
      return nullableCoercion(inner(type.inner))
    case 'lowCardinality':
    case 'simpleAggregateFunction':
      return inner(type.inner)
    case 'array':
      return arrayCoercion(inner(type.element))
    case 'map':
      return mapCoercion(inner(type.key), inner(type.value))
    case 'tuple':
      return tupleCoercion(type.fields, (field) => inner(field.type))
    case 'aggregateFunction':
      return () => refused
  }
}

function nullableCoercion(judge: Coercion): Coercion {
  return (value) => (value.kind === 'null' ? accepted(null) : judge(value))
}
