/** Texts of a Parquet file as numbers, in SQL: what `codec/coercion/numbers` takes of a string in JSON. */
import { formatColumnType } from '../shared/column-type.ts'
import type { ColumnType } from '../shared/column-type.types.ts'
import { quoteString } from '../shared/text-escapes.ts'
import { type Cast, changed, tried } from './parquet-verdict.ts'

type DecimalType = Extract<ColumnType, { readonly kind: 'decimal' }>

const trueTexts = ['true', 't', 'yes', 'y', 'on', '1']
const falseTexts = ['false', 'f', 'no', 'n', 'off', '0']
const floatWords = ['nan', 'inf', '+inf', '-inf', 'infinity', '+infinity', '-infinity']

/** `1`, `+1`, `1.5`, `.5`, `5.`, and any of them with an exponent; as a literal of SQL. */
const numberForm = `'^[+-]?(?:\\\\d+[.]?\\\\d*|[.]\\\\d+)(?:[eE][+-]?\\\\d+)?$'`
const wholeForm = `'^[+-]?\\\\d+$'`

/** Exactly an integer in range, also when it is written with a fraction of zeros or an exponent. */
export function textToInteger(text: string, to: ColumnType): Cast {
  const target = quoteString(formatColumnType(to))
  const exact = `accurateCastOrNull(${text}, 'Decimal(76, 38)')`
  // Without its fraction a number that is not 0 could become 0 where the decimals end.
  const isCut = `(${exact} = 0 AND match(${text}, '^[^eE]*[1-9]'))`
  const spelled = `accurateCastOrNull(if(match(${text}, ${numberForm}) AND NOT ${isCut}, toString(${exact}), ''), ${target})`
  // Integers of more digits than the decimal has, with a fraction of zeros.
  const unpointed = `replaceRegexpOne(${text}, '^([+-]?\\\\d+)[.]0*$', '\\\\1')`
  const cast = `if(match(${unpointed}, ${wholeForm}), accurateCastOrNull(${unpointed}, ${target}), ${spelled})`
  return changed(`assumeNotNull(${cast})`, `isNotNull(${cast})`)
}

/** What is finite as a number of the column, or a word for what is not. */
export function textToFloat(text: string, to: ColumnType): Cast {
  const cast = tried(text, to)
  const isNumber = `(match(${text}, ${numberForm}) AND ${cast.condition ?? '1'} AND isFinite(${cast.value}))`
  return changed(cast.value, `(${isNumber} OR lower(${text}) IN ${listOf(floatWords)})`)
}

export function textToDecimal(text: string, to: DecimalType): Cast {
  const cast = toDecimal(text, to)
  return changed(cast.value, `(match(${text}, ${numberForm}) AND ${cast.condition ?? '1'})`)
}

/** A number as text, cut beyond the scale. The engine's own cast lets some numbers pass that have too many digits. */
export function toDecimal(text: string, to: DecimalType): Cast {
  const { value, condition } = tried(text, to)
  const { precision, scale } = to
  const largest = `${'9'.repeat(precision - scale) || '0'}.${'9'.repeat(scale) || '0'}`
  const [first, last] = [`-${largest}`, largest].map((end) => `CAST('${end}', ${quoteString(formatColumnType(to))})`)
  return changed(value, `(${condition ?? '1'} AND ${value} BETWEEN ${first} AND ${last})`)
}

export function textToBool(text: string): Cast {
  return changed(
    `(lower(${text}) IN ${listOf(trueTexts)})`,
    `(lower(${text}) IN ${listOf([...trueTexts, ...falseTexts])})`,
  )
}

export function listOf(texts: readonly string[]): string {
  return `(${texts.map(quoteString).join(', ')})`
}
