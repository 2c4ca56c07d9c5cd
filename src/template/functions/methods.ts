// Methods of texts, lists and objects. They give new values: no value ever changes.

import { itemsOf } from '../operators.ts'
import { templateFault } from '../template-error.ts'
import { areEqual, bareValue, DictValue, Placeholder, SequenceValue, textOf, typeName, type Value } from '../values.ts'
import type { CallArguments, CallContext } from './function-call.ts'

interface MethodCall {
  readonly object: Value
  readonly name: string
}

/** @throws TemplateFault in Python's words when the object has no such method. */
export function callMethod({ object, name }: MethodCall, call: CallArguments, context: CallContext): Value {
  const bare = bareValue(object)
  if (bare instanceof Placeholder) return callOfPlaceholder(bare, name)
  if (typeof bare === 'string') {
    context.meter.checkText(bare.length)
    const method = textMethods.get(name)
    if (method !== undefined) return method(bare, call, context)
  }
  if (bare instanceof SequenceValue) {
    context.meter.spend(bare.items.length)
    const method = listMethods.get(name)
    if (method !== undefined) return method(bare, call)
  }
  if (bare instanceof DictValue) {
    const method = dictMethods.get(name)
    if (method !== undefined) return method(bare, call, context)
  }
  throw missingAttributeFault(object, name)
}

/** The refusal of an attribute: values have methods, and nothing else. */
export function missingAttributeFault(object: Value, name: string): Error {
  const reason = `'${typeName(object)}' object has no attribute '${name}'`
  const advice = ". Make sure you're using an object/dictionary where trying to use .get()"
  return templateFault(name === 'get' ? reason + advice : reason)
}

function callOfPlaceholder(placeholder: Placeholder, name: string): Value {
  if (name === 'split') return new SequenceValue('list', [placeholder, placeholder])
  return name === 'startswith' || name === 'endswith' || name.startsWith('is') ? false : placeholder
}

type TextMethod = (text: string, call: CallArguments, context: CallContext) => Value

function textArgument(call: CallArguments, index: number): string {
  const value = bareValue(call.positional[index] ?? null)
  if (typeof value === 'string') return value
  throw templateFault(`must be str, not ${typeName(value)}`)
}

function split(text: string, call: CallArguments, context: CallContext): Value {
  const separator = bareValue(call.get(0, 'sep'))
  const most = bareValue(call.get(1, 'maxsplit') ?? -1n)
  const parts = separator === null ? text.trim().split(/\s+/) : splitBy(text, separator)
  context.meter.spend(parts.length)
  if (separator === null && text.trim() === '') return new SequenceValue('list', [])
  if (typeof most !== 'bigint' || most < 0n || most >= BigInt(parts.length)) return new SequenceValue('list', parts)
  const count = Number(most)
  const rest = parts.slice(count).join(separator === null ? ' ' : textOf(separator))
  return new SequenceValue('list', [...parts.slice(0, count), rest])
}

function splitBy(text: string, separator: Value): string[] {
  if (separator === '') throw templateFault('empty separator')
  if (typeof separator !== 'string') throw templateFault(`must be str or None, not ${typeName(separator)}`)
  return text.split(separator)
}

function join(text: string, call: CallArguments, context: CallContext): Value {
  const items = itemsOf(call.positional[0] ?? null, context.meter)
  context.meter.spend(items.length)
  const parts = items.map((item, index) => {
    const bare = bareValue(item)
    if (typeof bare === 'string') return bare
    if (bare instanceof Placeholder) return textOf(bare)
    throw templateFault(`sequence item ${index}: expected str instance, ${typeName(bare)} found`)
  })
  context.meter.checkText(parts.reduce((length, part) => length + part.length + text.length, 0))
  return parts.join(text)
}

function edgeTest(isAtEdge: (text: string, edge: string) => boolean): TextMethod {
  return (text, call) => {
    const edge = call.positional[0] ?? null
    const edges = edge instanceof SequenceValue ? edge.items.map(textOf) : [textArgument(call, 0)]
    return edges.some((candidate) => isAtEdge(text, candidate))
  }
}

function strip(sides: 'both' | 'left' | 'right'): TextMethod {
  return (text, call) => {
    const marks = call.positional[0] === undefined ? null : textArgument(call, 0)
    const isStripped = (character: string) => (marks === null ? /\s/.test(character) : marks.includes(character))
    let start = 0
    let end = text.length
    if (sides !== 'right') while (start < end && isStripped(text.charAt(start))) start += 1
    if (sides !== 'left') while (end > start && isStripped(text.charAt(end - 1))) end -= 1
    return text.slice(start, end)
  }
}

function replace(text: string, call: CallArguments, context: CallContext): Value {
  const from = textArgument(call, 0)
  const to = textArgument(call, 1)
  // Without this a short text could become a very long one.
  const count = from === '' ? text.length + 1 : text.split(from).length - 1
  context.meter.checkText(text.length + count * to.length)
  return text.split(from).join(to)
}

function pattern(expression: RegExp): TextMethod {
  return (text) => expression.test(text)
}

const textMethods: ReadonlyMap<string, TextMethod> = new Map<string, TextMethod>([
  ['split', split],
  ['join', join],
  ['replace', replace],
  ['startswith', edgeTest((text, edge) => text.startsWith(edge))],
  ['endswith', edgeTest((text, edge) => text.endsWith(edge))],
  ['strip', strip('both')],
  ['lstrip', strip('left')],
  ['rstrip', strip('right')],
  ['lower', (text) => text.toLowerCase()],
  ['upper', (text) => text.toUpperCase()],
  ['capitalize', (text) => text.charAt(0).toUpperCase() + text.slice(1).toLowerCase()],
  ['title', (text) => text.toLowerCase().replaceAll(/(?<!\p{L})\p{L}/gu, (letter) => letter.toUpperCase())],
  ['find', (text, call) => BigInt(text.indexOf(textArgument(call, 0)))],
  ['count', (text, call) => BigInt(text.split(textArgument(call, 0)).length - 1)],
  ['isdigit', pattern(/^\p{Nd}+$/u)],
  ['isnumeric', pattern(/^\p{N}+$/u)],
  ['isalpha', pattern(/^\p{L}+$/u)],
  ['isalnum', pattern(/^[\p{L}\p{N}]+$/u)],
])

const listMethods: ReadonlyMap<string, (list: SequenceValue, call: CallArguments) => Value> = new Map([
  [
    'count',
    ({ items }: SequenceValue, call: CallArguments) =>
      BigInt(items.filter((item) => areEqual(item, call.get(0, 'x'))).length),
  ],
  ['index', indexIn],
])

function indexIn({ items }: SequenceValue, call: CallArguments): Value {
  const index = items.findIndex((item) => areEqual(item, call.get(0, 'x')))
  if (index < 0) throw templateFault(`${textOf(call.get(0, 'x'))} is not in list`)
  return BigInt(index)
}

type DictMethod = (dict: DictValue, call: CallArguments, context: CallContext) => Value

function entriesOf(pick: (entry: readonly [Value, Value]) => Value): DictMethod {
  return (dict, _call, context) => {
    context.meter.spend(dict.entries.size)
    return new SequenceValue('list', Array.from(dict.entries.values(), pick))
  }
}

const dictMethods: ReadonlyMap<string, DictMethod> = new Map<string, DictMethod>([
  ['get', (dict, call) => dict.get(call.get(0, 'key')) ?? call.get(1, 'default')],
  ['keys', entriesOf(([key]) => key)],
  ['values', entriesOf(([, value]) => value)],
  ['items', entriesOf(([key, value]) => new SequenceValue('tuple', [key, value]))],
])
