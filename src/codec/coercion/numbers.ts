/** Integers, floats and decimals. */
import type { ValueRules } from '../../shared/value-rules.ts'
import type { Verdict } from '../cell.types.ts'
import { type ExactNumber, integerText, parseExactNumber, scaledDigits } from './exact-number.ts'
import { roundedOnce } from './float32.ts'
import { accepted, type Coercion, refused, trimBlanks } from './verdict.ts'

const one = accepted(1)
const zero = accepted(0)

/** Texts of up to 15 digits are exact in a double. */
const shortInteger = /^-?\d{1,15}$/

export function integerCoercion(type: { readonly bits: number; readonly isSigned: boolean }): Coercion {
  const judge = type.bits <= 32 ? narrowInteger(type) : wideInteger(type)
  const ofBoolean = { true: judge('1'), false: judge('0') }
  return (value) => {
    switch (value.kind) {
      case 'number':
        return judge(value.text)
      case 'string':
      case 'cell':
        return judge(trimBlanks(value.text))
      case 'boolean':
        return ofBoolean[value.text]
      case 'null':
      case 'array':
      case 'object':
        return refused
    }
  }
}

function narrowInteger(type: { readonly bits: number; readonly isSigned: boolean }): (text: string) => Verdict {
  const minimum = type.isSigned ? -(2 ** (type.bits - 1)) : 0
  const maximum = type.isSigned ? 2 ** (type.bits - 1) - 1 : 2 ** type.bits - 1
  return (text) => {
    const integer = shortInteger.test(text) ? text : canonicalInteger(text)
    if (integer === undefined) return refused
    const value = Number(integer)
    // Adding zero makes -0 the 0 that an integer column holds.
    return value >= minimum && value <= maximum ? accepted(value + 0) : refused
  }
}

function wideInteger(type: { readonly bits: number; readonly isSigned: boolean }): (text: string) => Verdict {
  const bits = BigInt(type.bits)
  const minimum = type.isSigned ? -(2n ** (bits - 1n)) : 0n
  const maximum = type.isSigned ? 2n ** (bits - 1n) - 1n : 2n ** bits - 1n
  const isText = type.bits > 64
  return (text) => {
    const integer = shortInteger.test(text) ? text : canonicalInteger(text)
    if (integer === undefined) return refused
    const value = BigInt(integer)
    if (value < minimum || value > maximum) return refused
    return accepted(isText ? value.toString() : value)
  }
}

function canonicalInteger(text: string): string | undefined {
  const number = parseExactNumber(text)
  return number === undefined ? undefined : integerText(number)
}

/** The value of an exact integer within 15 digits, or undefined. */
export function smallInteger(text: string): number | undefined {
  const integer = shortInteger.test(text) ? text : canonicalInteger(text)
  if (integer === undefined || integer.length > 16) return undefined
  return Number(integer) + 0
}

const floatPattern = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/
const floatWords: ReadonlyMap<string, number> = new Map([
  ['nan', Number.NaN],
  ['inf', Number.POSITIVE_INFINITY],
  ['+inf', Number.POSITIVE_INFINITY],
  ['-inf', Number.NEGATIVE_INFINITY],
  ['infinity', Number.POSITIVE_INFINITY],
  ['+infinity', Number.POSITIVE_INFINITY],
  ['-infinity', Number.NEGATIVE_INFINITY],
])

/** Cells of Float32 are doubles too: the column rounds them when it is written. */
export function floatCoercion(bits: 32 | 64, rules: ValueRules): Coercion {
  const finite = finiteOf(bits, rules)
  return (value) => {
    switch (value.kind) {
      case 'number':
        return finite(value.text)
      case 'string':
      case 'cell':
        return floatText(trimBlanks(value.text), finite)
      case 'boolean':
        return value.text === 'true' ? one : zero
      case 'null':
      case 'array':
      case 'object':
        return refused
    }
  }
}

function floatText(text: string, finite: (text: string) => Verdict): Verdict {
  if (floatPattern.test(text)) return finite(text)
  const word = text.length <= 9 ? floatWords.get(text.toLowerCase()) : undefined
  return word === undefined ? refused : accepted(word)
}

function finiteOf(bits: 32 | 64, rules: ValueRules): (text: string) => Verdict {
  const asFloat = bits === 32 ? Math.fround : Number
  const isRoundedOnce = bits === 32 && rules !== 1
  return (text) => {
    const double = Number(text)
    const value = isRoundedOnce ? roundedOnce(text, double) : double
    return Number.isFinite(asFloat(value)) ? accepted(value) : refused
  }
}

/**
 * The cell has exactly `scale` decimals, so that the engine's cast cannot fail. Digits beyond are cut towards zero,
 * which is what ClickHouse does when it casts text.
 */
export function decimalCoercion(precision: number, scale: number): Coercion {
  return (value) => {
    if (value.kind !== 'number' && value.kind !== 'string' && value.kind !== 'cell') return refused
    const number = parseExactNumber(value.kind === 'number' ? value.text : trimBlanks(value.text))
    if (number === undefined) return refused
    const text = decimalText(number, precision, scale)
    return text === undefined ? refused : accepted(text)
  }
}

function decimalText(number: ExactNumber, precision: number, scale: number): string | undefined {
  const digits = scaledDigits(number, scale, precision)?.digits
  if (digits === undefined) return undefined
  const padded = digits.padStart(scale + 1, '0')
  const point = padded.length - scale
  const magnitude = scale === 0 ? padded : `${padded.slice(0, point)}.${padded.slice(point)}`
  return number.isNegative && digits !== '' ? `-${magnitude}` : magnitude
}
