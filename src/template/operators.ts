// Arithmetic and comparison as Python does them.

import type { Meter } from './meter.ts'
import type { BinaryOperator, ComparisonOperator } from './syntax.types.ts'
import { type TemplateFault, templateFault } from './template-error.ts'
import {
  areEqual,
  bareValue,
  charactersOf,
  DictValue,
  isNumeric,
  Placeholder,
  SequenceValue,
  textOf,
  typeName,
  type Value,
} from './values.ts'

interface Operands {
  readonly left: Value
  readonly right: Value
}

/** @throws TemplateFault in Python's words. */
export function applyBinary(operator: BinaryOperator, operands: Operands, meter: Meter): Value {
  const left = bareValue(operands.left)
  const right = bareValue(operands.right)
  if (isNumeric(left) && isNumeric(right)) return applyNumeric(operator, left, right, meter)
  if (operator === '+') {
    if (typeof left === 'string' && typeof right === 'string') {
      meter.checkText(left.length + right.length)
      return left + right
    }
    if (left instanceof SequenceValue && right instanceof SequenceValue && typeName(left) === typeName(right)) {
      meter.spend(left.items.length + right.items.length)
      return new SequenceValue(left.type === 'tuple' ? 'tuple' : 'list', [...left.items, ...right.items])
    }
    if (left instanceof Placeholder) return left
    // What is text with a value must not be refused without one.
    if (typeof left === 'string' && right instanceof Placeholder) return right
    if (typeof left === 'string') {
      throw templateFault(`can only concatenate str (not "${typeName(right)}") to str`)
    }
  }
  if (operator === '*' && typeof left === 'string' && typeof right === 'bigint') return repeatText(left, right, meter)
  if (operator === '*' && typeof left === 'bigint' && typeof right === 'string') return repeatText(right, left, meter)
  throw placeholderFault(
    `unsupported operand type(s) for ${operator}: '${typeName(left)}' and '${typeName(right)}'`,
    operands,
  )
}

function placeholderFault(reason: string, { left, right }: Operands): TemplateFault {
  const isPlaceholder = left instanceof Placeholder || right instanceof Placeholder
  const advice =
    '. If you are using a dynamic parameter, you need to wrap it around a valid Data Type (e.g. Int8(placeholder))'
  return templateFault(isPlaceholder ? reason + advice : reason)
}

function repeatText(text: string, count: bigint, meter: Meter): string {
  if (count <= 0n) return ''
  const length = count > 1n << 40n ? Number.MAX_SAFE_INTEGER : Number(count) * text.length
  meter.checkText(length)
  return text.repeat(text === '' ? 0 : Number(count))
}

type Numeric = boolean | bigint | number

function applyNumeric(operator: BinaryOperator, left: Numeric, right: Numeric, meter: Meter): Value {
  const isFloat = typeof left === 'number' || typeof right === 'number' || operator === '/'
  if (!isFloat) return meter.checkInteger(applyInteger(operator, BigInt(left), BigInt(right)))
  const a = Number(left)
  const b = Number(right)
  switch (operator) {
    case '+':
      return a + b
    case '-':
      return a - b
    case '*':
      return a * b
    case '/':
      if (b === 0) throw templateFault(typeof left === 'number' ? 'float division by zero' : 'division by zero')
      return a / b
    case '//':
      if (b === 0) throw templateFault('float floor division by zero')
      return Math.floor(a / b)
    case '%':
      if (b === 0) throw templateFault('float modulo')
      return a - b * Math.floor(a / b)
  }
}

function applyInteger(operator: BinaryOperator, left: bigint, right: bigint): bigint {
  if (operator === '+') return left + right
  if (operator === '-') return left - right
  if (operator === '*') return left * right
  if (right === 0n) throw templateFault('integer division or modulo by zero')
  const remainder = left % right
  // Python rounds down, JavaScript to zero.
  const isRoundedUp = remainder !== 0n && remainder < 0n !== right < 0n
  if (operator === '%') return isRoundedUp ? remainder + right : remainder
  return isRoundedUp ? left / right - 1n : left / right
}

/** @throws TemplateFault in Python's words. */
export function compareValues(operator: ComparisonOperator, operands: Operands, meter: Meter): boolean {
  const { left, right } = operands
  meter.spend(Math.min(charactersOf(left), charactersOf(right)) >>> 8)
  switch (operator) {
    case '==':
      return areEqual(left, right)
    case '!=':
      return !areEqual(left, right)
    case 'is':
      return isSame(left, right)
    case 'is not':
      return !isSame(left, right)
    case 'in':
      return contains(right, left, meter)
    case 'not in':
      return !contains(right, left, meter)
    default:
      return compareOrder(operator, operands, meter)
  }
}

/** Python's `is` of small integers and texts is that of their values. */
function isSame(left: Value, right: Value): boolean {
  return typeName(left) === typeName(right) && areEqual(left, right)
}

function contains(container: Value, item: Value, meter: Meter): boolean {
  const bare = bareValue(container)
  if (typeof bare === 'string') {
    if (item instanceof Placeholder) return false
    const part = bareValue(item)
    if (typeof part !== 'string') {
      throw templateFault(`'in <string>' requires string as left operand, not ${typeName(item)}`)
    }
    meter.checkText(bare.length)
    return bare.includes(part)
  }
  if (bare instanceof SequenceValue) {
    meter.spend(bare.items.length)
    return bare.items.some((other) => areEqual(other, item))
  }
  if (bare instanceof DictValue) return bare.get(item) !== undefined
  if (bare instanceof Placeholder) return false
  throw templateFault(`argument of type '${typeName(bare)}' is not iterable`)
}

function compareOrder(operator: '<' | '<=' | '>' | '>=', operands: Operands, meter: Meter): boolean {
  const order = orderOf(operands, meter)
  if (order === null) {
    const types = `'${typeName(operands.left)}' and '${typeName(operands.right)}'`
    throw placeholderFault(`'${operator}' not supported between instances of ${types}`, operands)
  }
  // Nothing is less or greater than a NaN.
  if (Number.isNaN(order)) return false
  if (operator === '<') return order < 0
  if (operator === '<=') return order <= 0
  return operator === '>' ? order > 0 : order >= 0
}

/** Negative, zero or positive; null when the two have no order. */
export function orderOf({ left, right }: Operands, meter: Meter): number | null {
  const a = bareValue(left)
  const b = bareValue(right)
  if (isNumeric(a) && isNumeric(b)) {
    if (Number.isNaN(Number(a)) || Number.isNaN(Number(b))) return Number.NaN
    const x = typeof a === 'boolean' ? BigInt(a) : a
    const y = typeof b === 'boolean' ? BigInt(b) : b
    if (x < y) return -1
    return x > y ? 1 : 0
  }
  if (typeof a === 'string' && typeof b === 'string') {
    meter.checkText(Math.min(a.length, b.length))
    if (a === b) return 0
    return a < b ? -1 : 1
  }
  if (!(a instanceof SequenceValue && b instanceof SequenceValue) || typeName(a) !== typeName(b)) return null
  meter.spend(Math.min(a.items.length, b.items.length))
  for (const [index, item] of a.items.entries()) {
    const other = b.items[index]
    if (other === undefined) return 1
    if (!areEqual(item, other)) return orderOf({ left: item, right: other }, meter)
  }
  return a.items.length - b.items.length
}

/** `-x` and `+x`. */
export function applySign(sign: -1 | 1, value: Value): Value {
  const bare = bareValue(value)
  if (typeof bare === 'number') return sign * bare
  if (typeof bare === 'bigint' || typeof bare === 'boolean') return BigInt(sign) * BigInt(bare)
  throw placeholderFault(`bad operand type for unary ${sign < 0 ? '-' : '+'}: '${typeName(value)}'`, {
    left: value,
    right: value,
  })
}

/** The elements of what can be looped over: lists, keys of objects, characters. */
export function itemsOf(value: Value, meter: Meter): readonly Value[] {
  const bare = bareValue(value)
  if (bare instanceof SequenceValue) return bare.items
  if (bare instanceof DictValue) {
    meter.spend(bare.entries.size)
    return Array.from(bare.entries.values(), ([key]) => key)
  }
  if (bare instanceof Placeholder) return [bare.item, bare.item, bare.item]
  if (typeof bare === 'string') {
    meter.spend(bare.length)
    return Array.from(bare)
  }
  throw templateFault(`'${typeName(bare)}' object is not iterable`)
}

/** `object[index]`. */
export function readSubscript(object: Value, index: Value): Value {
  const bare = bareValue(object)
  if (bare instanceof DictValue) {
    const found = bare.get(index)
    if (found === undefined) throw templateFault(`'${textOf(index)}'`)
    return found
  }
  if (bare instanceof Placeholder) {
    if (typeof index === 'bigint' && index > 2n) throw templateFault('list index out of range')
    return bare.item
  }
  if (
    !(bare instanceof SequenceValue || typeof bare === 'string') ||
    (bare instanceof SequenceValue && bare.type === 'set')
  ) {
    throw templateFault(`'${typeName(bare)}' object is not subscriptable`)
  }
  const at = bareValue(index)
  if (typeof at !== 'bigint' && typeof at !== 'boolean') {
    const what = typeof bare === 'string' ? 'string' : typeName(bare)
    throw templateFault(`${what} indices must be integers${what === 'string' ? '' : ' or slices'}, not ${typeName(at)}`)
  }
  if (typeof bare !== 'string') {
    const item = bare.items.at(Number(at))
    if (item === undefined) throw templateFault(`${typeName(bare)} index out of range`)
    return item
  }
  const character = Array.from(bare).at(Number(at))
  if (character !== undefined) return character
  throw templateFault(
    'String index out of range. Check that string parameters have values before accessing specific characters (e.g., param[0]). Provide default values or add length checks in your template.',
  )
}

/** `object[start:end:step]`, of which each may be missing. */
export function readSlice(object: Value, bounds: readonly (Value | null)[], meter: Meter): Value {
  const bare = bareValue(object)
  if (bare instanceof Placeholder) return bare
  if (!(bare instanceof SequenceValue || typeof bare === 'string')) {
    throw templateFault(`'${typeName(bare)}' object is not subscriptable`)
  }
  const items = itemsOf(bare, meter)
  meter.spend(items.length)
  const [start, end, step] = bounds.map(sliceBound)
  const stride = step ?? 1
  if (stride === 0) throw templateFault('slice step cannot be zero')
  const picked = pickSlice(items, { start: start ?? null, end: end ?? null, stride })
  if (typeof bare === 'string') return picked.map(textOf).join('')
  return new SequenceValue(bare.type === 'tuple' ? 'tuple' : 'list', picked)
}

function sliceBound(value: Value | null): number | null {
  const bare = value === null ? null : bareValue(value)
  if (bare === null) return null
  if (typeof bare === 'bigint' || typeof bare === 'boolean') return Number(bare)
  throw templateFault('slice indices must be integers or None or have an __index__ method')
}

interface SliceRange {
  readonly start: number | null
  readonly end: number | null
  readonly stride: number
}

function pickSlice(items: readonly Value[], { start, end, stride }: SliceRange): Value[] {
  const { length } = items
  const isForward = stride > 0
  const lowest = isForward ? 0 : -1
  const highest = isForward ? length : length - 1
  const place = (bound: number) => Math.min(Math.max(bound < 0 ? bound + length : bound, lowest), highest)
  const first = start === null ? (isForward ? 0 : length - 1) : place(start)
  const last = end === null ? (isForward ? length : -1) : place(end)
  const picked: Value[] = []
  for (let index = first; isForward ? index < last : index > last; index += stride) picked.push(items[index] ?? null)
  return picked
}
