// The few functions of Python that templates use.

import { applyBinary, itemsOf, orderOf } from '../operators.ts'
import { limitFault, templateFault } from '../template-error.ts'
import { bareValue, DictValue, isTruthy, Placeholder, SequenceValue, textOf, typeName, type Value } from '../values.ts'
import { type CallArguments, type CallContext, isMissing, type TemplateFunction } from './function-call.ts'

/** The elements of an argument; looking at them costs. */
function argumentItems(call: CallArguments, context: CallContext, index = 0): readonly Value[] {
  const items = itemsOf(call.positional[index] ?? null, context.meter)
  context.meter.spend(items.length)
  return items
}

function length(call: CallArguments, context: CallContext): Value {
  const bare = bareValue(call.get(0, 'obj'))
  if (typeof bare === 'string') {
    context.meter.spend(bare.length >>> 4)
    return BigInt(Array.from(bare).length)
  }
  if (bare instanceof SequenceValue) return BigInt(bare.items.length)
  if (bare instanceof DictValue) return BigInt(bare.entries.size)
  if (bare instanceof Placeholder) return 3n
  throw templateFault(`object of type '${typeName(bare)}' has no len()`)
}

function sum(call: CallArguments, context: CallContext): Value {
  const items = argumentItems(call, context)
  return items.reduce<Value>(
    (left, right) => applyBinary('+', { left, right }, context.meter),
    call.get(1, 'start') ?? 0n,
  )
}

function extreme(name: 'min' | 'max'): TemplateFunction {
  return (call, context) => {
    const items = call.positional.length > 1 ? call.positional : argumentItems(call, context)
    const [first] = items
    if (first === undefined) {
      const fallback = call.named.get('default')
      if (fallback !== undefined) return fallback
      throw templateFault(`${name}() arg is an empty sequence`)
    }
    return items.reduce((best, item) => {
      const order = orderedOr(item, best, context)
      return (name === 'min' ? order < 0 : order > 0) ? item : best
    }, first)
  }
}

function orderedOr(left: Value, right: Value, context: CallContext): number {
  const order = orderOf({ left, right }, context.meter)
  if (order !== null) return order
  throw templateFault(`'<' not supported between instances of '${typeName(left)}' and '${typeName(right)}'`)
}

function enumerate(call: CallArguments, context: CallContext): Value {
  const start = bareValue(call.get(1, 'start') ?? 0n)
  const first = typeof start === 'bigint' ? start : 0n
  const items = argumentItems(call, context)
  return listOf(items.map((item, index) => tupleOf([first + BigInt(index), item])))
}

function enumerateWithLast(call: CallArguments, context: CallContext): Value {
  const items = argumentItems(call, context)
  return listOf(items.map((item, index) => tupleOf([index === items.length - 1, item])))
}

function range(call: CallArguments, context: CallContext): Value {
  const bounds = call.positional.map((value) => {
    const bare = bareValue(value)
    if (typeof bare === 'bigint') return bare
    if (bare instanceof Placeholder) throw numberFault('range() argument must be an integer', bare)
    throw templateFault(`'${typeName(bare)}' object cannot be interpreted as an integer`)
  })
  const [first] = bounds
  if (first === undefined) throw templateFault('range expected at least 1 argument, got 0')
  const [start, end] = bounds.length > 1 ? [first, bounds[1] ?? 0n] : [0n, first]
  const step = bounds[2] ?? 1n
  if (step === 0n) throw templateFault('range() arg 3 must not be zero')
  const span = step > 0n ? end - start : start - end
  const size = step > 0n ? step : -step
  const count = span > 0n ? (span + size - 1n) / size : 0n
  context.meter.spend(count > 1n << 40n ? Number.MAX_SAFE_INTEGER : Number(count))
  return listOf(Array.from({ length: Number(count) }, (_, index) => start + BigInt(index) * step))
}

function numberFault(reason: string, value: Value): Error {
  const advice =
    '. If you are using a dynamic parameter, you need to wrap it around a valid Data Type (e.g. Int8(placeholder))'
  return templateFault(`${reason}, not '${typeName(value)}'${value instanceof Placeholder ? advice : ''}`)
}

function toInteger(call: CallArguments, context: CallContext): Value {
  if (call.positional.length === 0) return 0n
  const bare = bareValue(call.get(0, 'x'))
  if (typeof bare === 'bigint') return bare
  if (typeof bare === 'boolean') return BigInt(bare)
  if (typeof bare === 'number') {
    if (Number.isFinite(bare)) return context.meter.checkInteger(BigInt(Math.trunc(bare)))
    throw templateFault(
      Number.isNaN(bare) ? 'cannot convert float NaN to integer' : 'cannot convert float infinity to integer',
    )
  }
  if (typeof bare !== 'string') {
    throw numberFault('int() argument must be a string, a bytes-like object or a real number', bare)
  }
  const text = bare.trim()
  if (!/^[+-]?\d+(?:_\d+)*$/.test(text)) throw templateFault(`invalid literal for int() with base 10: '${bare}'`)
  if (text.length > 200) throw limitFault('an integer in the template has more than 200 digits')
  return context.meter.checkInteger(BigInt(text.replaceAll('_', '').replace(/^\+/, '')))
}

function toFloat(call: CallArguments): Value {
  const bare = bareValue(call.get(0, 'x') ?? 0n)
  if (typeof bare === 'number') return bare
  if (typeof bare === 'bigint' || typeof bare === 'boolean') return Number(bare)
  if (typeof bare !== 'string') throw numberFault('float() argument must be a string or a real number', bare)
  const text = bare.trim()
  if (/^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i.test(text)) return Number(text)
  if (/^[+-]?inf(?:inity)?$/i.test(text)) return text.startsWith('-') ? -Infinity : Infinity
  if (/^[+-]?nan$/i.test(text)) return Number.NaN
  throw templateFault(`could not convert string to float: '${bare}'`)
}

function sorted(call: CallArguments, context: CallContext): Value {
  const items = argumentItems(call, context)
  context.meter.spend(items.length * 8)
  const ordered = items.toSorted((left, right) => orderedOr(left, right, context))
  return listOf(call.named.get('reverse') === true ? ordered.reverse() : ordered)
}

function absolute(call: CallArguments): Value {
  const bare = bareValue(call.get(0, 'x'))
  if (typeof bare === 'number') return Math.abs(bare)
  if (typeof bare === 'bigint') return bare < 0n ? -bare : bare
  if (typeof bare === 'boolean') return BigInt(bare)
  throw templateFault(`bad operand type for abs(): '${typeName(bare)}'`)
}

function round(call: CallArguments): Value {
  const bare = bareValue(call.get(0, 'number'))
  const digits = bareValue(call.get(1, 'ndigits'))
  if (typeof bare === 'bigint' || typeof bare === 'boolean') return BigInt(bare)
  if (typeof bare !== 'number' || !Number.isFinite(bare)) {
    throw templateFault(`type ${typeName(bare)} doesn't define __round__ method`)
  }
  if (typeof digits === 'bigint') return Number(bare.toFixed(Math.min(Math.max(Number(digits), 0), 20)))
  // Halves go to the even neighbour.
  const floor = Math.floor(bare)
  const isHalf = bare - floor === 0.5
  return BigInt(isHalf ? floor + Math.abs(floor % 2) : Math.round(bare))
}

function zip(call: CallArguments, context: CallContext): Value {
  const lists = call.positional.map((_, index) => argumentItems(call, context, index))
  const count = lists.length === 0 ? 0 : Math.min(...lists.map((list) => list.length))
  return listOf(Array.from({ length: count }, (_, index) => tupleOf(lists.map((list) => list[index] ?? null))))
}

function listOf(items: readonly Value[]): SequenceValue {
  return new SequenceValue('list', items)
}

function tupleOf(items: readonly Value[]): SequenceValue {
  return new SequenceValue('tuple', items)
}

function makeSequence(type: 'list' | 'tuple' | 'set'): TemplateFunction {
  return (call, context) => {
    const items = call.positional.length === 0 ? [] : argumentItems(call, context)
    return new SequenceValue(type, type === 'set' ? distinct(items) : items)
  }
}

function distinct(items: readonly Value[]): readonly Value[] {
  return Array.from(new DictValue(items.map((item) => [item, item] as const)).entries.values(), ([item]) => item)
}

export const pythonFunctions: ReadonlyMap<string, TemplateFunction> = new Map<string, TemplateFunction>([
  ['len', length],
  ['sum', sum],
  ['min', extreme('min')],
  ['max', extreme('max')],
  ['enumerate', enumerate],
  ['enumerate_with_last', enumerateWithLast],
  ['range', range],
  [
    'str',
    (call) =>
      isMissing(call.positional[0] ?? null) && call.positional.length === 0 ? '' : textOf(call.get(0, 'object')),
  ],
  ['int', toInteger],
  ['float', toFloat],
  ['sorted', sorted],
  ['reversed', (call, context) => listOf(argumentItems(call, context).toReversed())],
  ['abs', absolute],
  ['round', round],
  ['zip', zip],
  ['any', (call, context) => argumentItems(call, context).some(isTruthy)],
  ['all', (call, context) => argumentItems(call, context).every(isTruthy)],
  ['list', makeSequence('list')],
  ['tuple', makeSequence('tuple')],
  ['set', makeSequence('set')],
])
