// The functions that say something about the whole query: that it is refused, or a setting of it.

import { TemplateFault, templateFault } from '../template-error.ts'
import type { Value } from '../values.ts'
import { bareValue, DictValue, Placeholder, SqlText, textOf, toParameter } from '../values.ts'
import { type CallArguments, type CallContext, isMissing, type TemplateFunction } from './function-call.ts'

function raiseError(call: CallArguments, context: CallContext): Value {
  if (context.isCheck) return new SqlText('')
  const message = textOf(call.get(0, 'message') ?? 'error')
  throw new TemplateFault(message, { answer: { status: 400, body: { error: message } } })
}

function raiseCustomError(call: CallArguments, context: CallContext): Value {
  if (context.isCheck) return new SqlText('')
  const value = call.get(0, 'message')
  const code = bareValue(call.get(1, 'code') ?? 400n)
  const status = typeof code === 'bigint' && code >= 400n && code <= 599n ? Number(code) : null
  if (status === null) throw templateFault('the code of custom_error() must be an HTTP status from 400 to 599')
  const isObject = value instanceof DictValue
  const body = isObject
    ? Object.fromEntries(Object.entries(toParameter(value) ?? {}))
    : { error: textOf(value ?? 'error') }
  throw new TemplateFault(textOf(value ?? 'error'), { answer: { status, body } })
}

function maxThreads(call: CallArguments, context: CallContext): Value {
  const text = textOf(call.get(0, 'threads'))
  const threads = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (threads < 1) {
    if (context.isCheck && isMissing(call.get(0, 'threads'))) return new SqlText('')
    throw templateFault(`'${text}' is not a valid 'max_threads' argument`)
  }
  context.settings.maxThreads = threads
  return settingComment('max_threads', text)
}

const secondsByTtl: ReadonlyMap<string, number> = new Map([
  ['5s', 5],
  ['1m', 60],
  ['5m', 300],
  ['30m', 1_800],
  ['1h', 3_600],
])

function cacheTtl(call: CallArguments, context: CallContext): Value {
  const text = textOf(call.get(0, 'ttl'))
  const seconds = secondsByTtl.get(text)
  if (seconds === undefined) {
    const valid = Array.from(secondsByTtl.keys(), (ttl) => `'${ttl}'`).join(', ')
    throw templateFault(`Invalid TTL cache expression, valid expressions are (${valid})`)
  }
  context.settings.cacheTtlSeconds = seconds
  return settingComment('cache_ttl', text)
}

function backendHint(call: CallArguments, context: CallContext): Value {
  const value = call.get(0, 'hint')
  const text = value instanceof Placeholder ? 'no_backend_hint' : textOf(value)
  // It is printed into a comment, which a line break would end.
  if (!/^[\w.:@-]{1,200}$/.test(text)) throw templateFault(`'${text}' is not a valid 'backend_hint' argument`)
  context.settings.backendHint = text
  return settingComment('backend_hint', text)
}

function switchFunction(name: 'activate' | 'disable', features: readonly string[]): TemplateFunction {
  return (call, context) => {
    const feature = textOf(call.get(0, 'feature'))
    if (!features.includes(feature)) throw templateFault(`'${feature}' is not a valid '${name}' argument`)
    const list = name === 'activate' ? context.settings.activated : context.settings.disabled
    if (!list.includes(feature)) list.push(feature)
    return settingComment(name, feature)
  }
}

/** The line break belongs to it: what follows is no comment. */
function settingComment(name: string, value: string): SqlText {
  return new SqlText(`-- ${name} ${value}\n`, '')
}

export const queryFunctions: ReadonlyMap<string, TemplateFunction> = new Map<string, TemplateFunction>([
  ['error', raiseError],
  ['custom_error', raiseCustomError],
  ['max_threads', maxThreads],
  ['cache_ttl', cacheTtl],
  ['backend_hint', backendHint],
  ['activate', switchFunction('activate', ['analyzer', 'parallel_replicas'])],
  ['disable', switchFunction('disable', ['analyzer'])],
])
