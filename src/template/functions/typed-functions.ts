// The functions that give a parameter its type: `Int32(x, 5)`, `Array(x, 'String')`.

import { beginningOf } from '../../shared/beginning-of.ts'
import { noValueText } from '../../shared/no-value.ts'
import { JsonTextError, readJson } from '../json-text.ts'
import { quoteIdentifier } from '../sql-escapes.ts'
import { documentedFault, type TemplateFault, templateFault } from '../template-error.ts'
import { bareValue, DictValue, isTruthy, SequenceValue, SqlText, TypedNumber, textOf, type Value } from '../values.ts'
import {
  type CallArguments,
  type CallContext,
  isMissing,
  requiredFault,
  type TemplateFunction,
} from './function-call.ts'

interface ScalarType {
  /** What messages call it. */
  readonly name: string
  /** What it prints as in check mode. */
  readonly placeholder: Value
  /** The value without its type, as in an array; undefined when it is none of the type. */
  readonly judge: (value: Value) => Value | undefined
  /** The value as the function gives it. */
  readonly wrap: (value: Value) => Value
}

const scalarTypes: ReadonlyMap<string, ScalarType> = new Map([
  ...['8', '16', '32', '64', '128', '256'].flatMap((bits) => [
    integerType(`Int${bits}`, Number(bits), true),
    integerType(`UInt${bits}`, Number(bits), false),
  ]),
  ...['Int', 'Integer'].map(
    (name) => [name, { ...integerType('Int32', 32, true)[1], wrap: (value: Value) => value }] as const,
  ),
  ...['Float32', 'Float64'].map((name) => [name, floatType(name)] as const),
  textType('String', noValueText, () => true),
  textType('Date', '2019-01-01', (text) => /^\d{4}-\d{2}-\d{2}$/.test(text)),
  textType('DateTime', '2019-01-01 00:00:00', isDateTime),
  textType('DateTime64', '2019-01-01 00:00:00.000', isDateTime64),
  textType('UUID', '00000000-0000-0000-0000-000000000000', isUuid),
  ...['Boolean', 'bool'].map((name) => [name, booleanType(name)] as const),
])

function integerType(name: string, bits: number, isSigned: boolean): readonly [string, ScalarType] {
  const max = 1n << BigInt(isSigned ? bits - 1 : bits)
  const min = isSigned ? -max : 0n
  const judge = (value: Value) => {
    const text = textOf(value)
    // The longest integer has 78 digits; zeros before it are refused with what is too long.
    if (text.length > 100 || !/^[+-]?\d+$/.test(text)) return undefined
    const integer = BigInt(text.startsWith('+') ? text.slice(1) : text)
    return integer >= min && integer < max ? integer : undefined
  }
  const wrap = (value: Value) => (typeof value === 'bigint' ? new TypedNumber(name, value) : value)
  return [name, { name, placeholder: 0n, judge, wrap }]
}

const floatPattern = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i

function floatType(name: string): ScalarType {
  const judge = (value: Value) => {
    const bare = bareValue(value)
    if (typeof bare === 'number') return bare
    const text = textOf(bare).trim()
    if (floatPattern.test(text)) return Number(text)
    const word = /^([+-]?)(nan|inf(?:inity)?)$/i.exec(text)
    if (word === null) return undefined
    if (word[2]?.toLowerCase() === 'nan') return Number.NaN
    return word[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  }
  const wrap = (value: Value) => (typeof value === 'number' ? new TypedNumber(name, value) : value)
  return { name, placeholder: 0, judge, wrap }
}

function textType(
  name: string,
  placeholder: string,
  isValid: (text: string) => boolean,
): readonly [string, ScalarType] {
  const judge = (value: Value) => {
    // A parameter that came several times is its values with commas, as when it came once.
    const isList = value instanceof SequenceValue && value.items.every((item) => !isContainer(item))
    if (isContainer(value) && !isList) return undefined
    const text = isList ? value.items.map(textOf).join(',') : textOf(value)
    return isValid(text) ? text : undefined
  }
  return [name, { name, placeholder, judge, wrap: (value) => value }]
}

function isContainer(value: Value): boolean {
  return value === null || value instanceof SequenceValue || value instanceof DictValue
}

function isDateTime(text: string): boolean {
  return /^(?:\d{4}.\d{2}.\d{2}[T ]\d{2}:\d{2}:\d{2}|\d{2}.\d{2}.\d{4}.\d{1,2}:\d{2}:\d{2})/s.test(text)
}

function isDateTime64(text: string): boolean {
  return /^(?:\d{4}.\d{2}.\d{2}[T ]\d{2}:\d{2}:\d{2}|\d{2}.\d{2}.\d{4}.\d{1,2}:\d{2}:\d{2})\.\d{3}/s.test(text)
}

function isUuid(text: string): boolean {
  return /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(text)
}

function booleanType(name: string): ScalarType {
  const judge = (value: Value) => {
    const bare = bareValue(value)
    if (typeof bare !== 'string') return isTruthy(bare) ? 1n : 0n
    return bare === '' || bare === '0' || bare.toLowerCase() === 'false' ? 0n : 1n
  }
  return { name, placeholder: 0n, judge, wrap: (value) => value }
}

function invalidFault(value: Value, type: string): TemplateFault {
  return templateFault(`Error validating '${textOf(value)}' to type ${type}`)
}

/** Whether a missing value without default is an error: `defined=False`, after the default, asks for None instead. */
function missingValue(call: CallArguments, context: CallContext, definedIndex: number): null {
  if (call.get(definedIndex, 'defined') === false) return null
  throw requiredFault(context)
}

function scalarFunction(type: ScalarType): TemplateFunction {
  const isBoolean = type.name === 'Boolean' || type.name === 'bool'
  return (call, context) => {
    checkArgument(call)
    const given = call.positional[0] ?? null
    const value = isMissing(given) ? call.get(1, 'default') : given
    if (isMissing(value)) {
      if (isBoolean) return 0n
      return context.isCheck ? type.wrap(type.placeholder) : missingValue(call, context, 2)
    }
    const judged = type.judge(value)
    if (judged === undefined) throw invalidFault(value, type.name)
    return type.wrap(judged)
  }
}

function checkArgument(call: CallArguments): void {
  if (call.positional.length > 0) return
  throw documentedFault('one of the transform type functions is missing an argument', '#transform-types-functions')
}

function makeArray(call: CallArguments, context: CallContext): Value {
  checkArgument(call)
  const typeText = call.get(1, 'type')
  const typeName = typeof typeText === 'string' ? typeText : 'String'
  const given = call.positional[0] ?? null
  const value = isMissing(given) ? call.get(2, 'default') : given
  if (!isMissing(value)) return readArray(value, typeName)
  if (!context.isCheck) return missingValue(call, context, 3)
  const placeholder = elementPlaceholder(typeName)
  const isNumber = typeof placeholder !== 'string'
  return new SequenceValue('array', isNumber ? [placeholder, placeholder] : [typeName === 'String' ? '' : placeholder])
}

/** What stands for one element of an array that is missing, in check mode: zero, or a text of the type's form. */
export function elementPlaceholder(typeName: string): Value {
  return elementType(typeName).placeholder
}

/** A type without a check takes any text. */
function elementType(name: string): ScalarType {
  const type = scalarTypes.get(name) ?? scalarTypes.get('String')
  if (type === undefined) throw new TypeError('String is a type')
  return type
}

/**
 * The elements of a list or of a text with commas, each judged by the type.
 *
 * @throws TemplateFault for the first element that is none.
 */
export function readArray(value: Value, typeName: string): SequenceValue {
  const bare = bareValue(value)
  const isList = bare instanceof SequenceValue
  if (!isList && typeof bare !== 'string') throw templateFault('transform type function Array is not well defined')
  const items: readonly Value[] = isList ? bare.items : bare.split(',')
  const type = elementType(typeName)
  const judged = items.map((item, index) => {
    const element = isContainer(item) ? undefined : type.judge(item)
    if (element !== undefined) return element
    const shown = isList ? items.map(textOf).join(',') : bare
    throw templateFault(
      `Error validating [${shown}][${index}] (${textOf(item) || 'empty string'}) to type ${type.name}`,
    )
  })
  return new SequenceValue('array', judged)
}

function readJsonParameter(call: CallArguments): Value {
  checkArgument(call)
  const given = call.positional[0] ?? null
  const value = isMissing(given) ? (call.get(1, 'default') ?? given) : given
  if (value instanceof SequenceValue || value instanceof DictValue) return value
  // Nothing is an empty object, but a placeholder is no JSON: a template that is saved needs a default.
  const text = value === null ? '{}' : textOf(value)
  try {
    return readJson(text)
  } catch (error) {
    if (!(error instanceof JsonTextError)) throw error
    const shown = text.length > 16 ? `${beginningOf(text, 16)}...` : text
    throw templateFault(`Error parsing JSON: '${shown}' - ${error.message}`)
  }
}

/** `Symbol` and `Column`: a parameter that is an identifier. */
function readSymbol(call: CallArguments, context: CallContext): Value {
  checkArgument(call)
  const given = call.positional[0] ?? null
  const value = isMissing(given) ? call.get(1, 'default') : given
  if (isMissing(value)) {
    return context.isCheck ? new SqlText('`placeholder`', 'placeholder') : missingValue(call, context, 2)
  }
  const name = textOf(value)
  return new SqlText(quoteIdentifier(name), name)
}

export const typedFunctions: ReadonlyMap<string, TemplateFunction> = new Map([
  ...Array.from(scalarTypes, ([name, type]) => [name, scalarFunction(type)] as const),
  ['Array', makeArray],
  ['JSON', readJsonParameter],
  ['Symbol', readSymbol],
  ['Column', readSymbol],
])

/** What a value for one of these functions has to be, behind the name of its parameter. */
export function expectationOf(name: string): string {
  const integer = /^(U?)Int(?:eger)?(\d*)$/.exec(name)
  if (integer !== null) {
    const bits = BigInt(integer[2] || 32)
    const [min, max] = integer[1] === 'U' ? [0n, (1n << bits) - 1n] : [-(1n << (bits - 1n)), (1n << (bits - 1n)) - 1n]
    return `takes an integer from ${min} to ${max}`
  }
  return `takes ${expectations.get(name) ?? `a value for ${name}`}`
}

const expectations: ReadonlyMap<string, string> = new Map([
  ['Float32', 'a number'],
  ['Float64', 'a number'],
  ['Date', 'a date such as 2024-01-31'],
  ['DateTime', 'a time such as 2024-01-31 10:00:00'],
  ['DateTime64', 'a time with milliseconds such as 2024-01-31 10:00:00.000'],
  ['UUID', 'a UUID such as 00000000-0000-0000-0000-000000000000'],
  ['Array', 'a list with commas between its values'],
  ['JSON', 'JSON'],
])
