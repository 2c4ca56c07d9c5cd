/** Texts of a Parquet file as numbers, in SQL: what `codec/coercion/numbers` takes of a string in JSON. */
import { formatColumnType } from '../../schema/types/column-type.ts'
import type { ColumnType } from '../../schema/types/column-type.types.ts'
import { quoteString } from '../../shared/text-escapes.ts'
import { allOf, bound, type Cast, castOrNull, changed, tried, unlessNull, where } from './parquet-verdict.ts'

type IntegerType = Extract<ColumnType, { readonly kind: 'integer' }>
type EnumType = Extract<ColumnType, { readonly kind: 'enum' }>
type DecimalType = Extract<ColumnType, { readonly kind: 'decimal' }>

const trueTexts = ['true', 't', 'yes', 'y', 'on', '1']
const falseTexts = ['false', 'f', 'no', 'n', 'off', '0']
const floatWords = ['nan', 'inf', '+inf', '-inf', 'infinity', '+infinity', '-infinity']

/** `1`, `+1`, `1.5`, `.5`, `5.`, and any of them with an exponent; as a literal of SQL. */
const numberForm = `'^[+-]?(?:\\\\d+[.]?\\\\d*|[.]\\\\d+)(?:[eE][+-]?\\\\d+)?$'`
/** The same, its parts as groups. */
const numberParts = `'^([+-]?)(\\\\d*)[.]?(\\\\d*)[eE]([+-]?)0*(\\\\d+)$'`
/** Sign and digits of what is whole, without a plus, zeros in front and a fraction of zeros. */
const wholeParts = `'^[+]?(-?)0*(\\\\d*)[.]?0*$'`
/** No number of a column has as many digits, before or behind its point. */
const digitsMax = 160
/** An empty text would be read as 0. */
const tooLong = 'too long'

/**
 * A number without its exponent, exactly: the point is moved in its digits. Other texts stay as they are; what would become
 * longer than any column takes becomes a text that is no number.
 */
export function withoutExponent(text: string): string {
  const isMeant = `(match(${text}, '[eE]') AND match(${text}, ${numberForm}))`
  const written = where(isMeant, text, (argument) => {
    const moved = bound(`extractGroups(${argument}, ${numberParts})`, (parts) => {
      const size = `if(length(${parts}[5]) > 9, 1000000000, toInt64OrZero(${parts}[5]))`
      const point = `length(${parts}[2]) + if(${parts}[4] = '-', -1, 1) * ${size}`
      return bound(`(${parts}[1], concat(${parts}[2], ${parts}[3]), ${point})`, withPoint)
    })
    return changed(moved, null)
  })
  return `if(${isMeant}, ${written.value}, ${text})`
}

/** Of a tuple: the sign, all digits, and behind how many of these the point stands. */
function withPoint(parts: string): string {
  const [sign, all, point] = [1, 2, 3].map((at) => `tupleElement(${parts}, ${at})`)
  return bound(`trimLeft(${all}, '0')`, (digits) => {
    return bound(`${point} - length(${all}) + length(${digits})`, (place) => {
      const before = `rightPad(left(${digits}, greatest(${place}, 0)), least(greatest(${place}, 0), ${digitsMax}), '0')`
      const zeros = `repeat('0', least(greatest(-${place}, 0), ${digitsMax}))`
      const behind = `concat(${zeros}, substring(${digits}, greatest(${place}, 0) + 1))`
      const number = `concat(${sign}, ${before}, if(${place} > 0, '', '0'), '.', ${behind})`
      return `multiIf(${digits} = '', '0', ${place} > ${digitsMax}, ${quoteString(tooLong)}, ${number})`
    })
  })
}

/** Exactly an integer in range, also when it is written with a fraction of zeros or an exponent. */
export function textToInteger(text: string, to: IntegerType): Cast {
  const digits = `replaceRegexpOne(${withoutExponent(text)}, ${wholeParts}, '\\\\1\\\\2')`
  const whole = bound(digits, (argument) => `if(${argument} IN ('', '-'), '0', ${argument})`)
  return toExactInteger(`if(match(${text}, ${numberForm}), ${whole}, '')`, to)
}

/** A text of digits without zeros in front. Beyond 64 bits the engine's own casts wrap around, and say nothing of it. */
export function toExactInteger(digits: string, to: IntegerType): Cast {
  if (to.bits <= 64) return tried(digits, to)
  const exact = bound(digits, (argument) =>
    bound(castOrNull(argument, to), (value) => `if(toString(${value}) = ${argument}, ${value}, NULL)`),
  )
  return unlessNull(exact)
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
  const { precision, scale } = to
  const largest = `${'9'.repeat(precision - scale) || '0'}.${'9'.repeat(scale) || '0'}`
  const [first, last] = [`-${largest}`, largest].map((end) => `CAST('${end}', ${quoteString(formatColumnType(to))})`)
  const within = bound(
    castOrNull(withoutExponent(text), to),
    (value) => `if(${value} BETWEEN ${first} AND ${last}, ${value}, NULL)`,
  )
  return unlessNull(within)
}

export function textToBool(text: string): Cast {
  return changed(
    `(lower(${text}) IN ${listOf(trueTexts)})`,
    `(lower(${text}) IN ${listOf([...trueTexts, ...falseTexts])})`,
  )
}

const enumNumber: IntegerType = { kind: 'integer', name: 'Int16', bits: 16, isSigned: true }

/** A name as it stands, else one of the numbers. `trimmed` is the same text without blanks around it. */
export function textToEnum(text: string, trimmed: string, { members }: EnumType): Cast {
  const names = members.map(({ name }) => name)
  const numbers = members.map(({ value }) => value).join(', ')
  const isName = `(${text} IN ${listOf(names)})`
  const number = where(`NOT ${isName}`, trimmed, (argument) => {
    const { value, condition } = textToInteger(argument, enumNumber)
    const name = `transform(${value}, CAST([${numbers}], 'Array(Int16)'), [${names.map(quoteString).join(', ')}], '')`
    return changed(name, allOf([condition, `(${value} IN (${numbers}))`]))
  })
  const name = `multiIf(${isName}, ${text}, ${number.condition}, ${number.value}, ${quoteString(names[0] ?? '')})`
  return changed(name, `(${isName} OR ${number.condition})`)
}

function listOf(texts: readonly string[]): string {
  return `(${texts.map(quoteString).join(', ')})`
}
