// The functions that write SQL, stop the rendering, or set something for the query.

import { isBareIdentifier, printedValue, quoteIdentifier, quoteText, tableIdentifier } from '../sql-escapes.ts'
import { documentedFault, TemplateFault, templateFault } from '../template-error.ts'
import {
  bareValue,
  DictValue,
  Placeholder,
  SequenceValue,
  SqlText,
  textOf,
  toParameter,
  type Value,
} from '../values.ts'
import {
  type CallArguments,
  type CallContext,
  isMissing,
  requiredFault,
  type TemplateFunction,
} from './function-call.ts'

/** Gives the value of the first argument, its default when it is missing, or null. */
function givenOrDefault(call: CallArguments): Value {
  const given = call.positional[0] ?? null
  if (!isMissing(given)) return given
  const fallback = call.get(1, 'default')
  return isMissing(fallback) ? null : fallback
}

function column(call: CallArguments): Value {
  const value = givenOrDefault(call)
  if (value === null) {
    throw documentedFault("Missing column() default value, use `column(column_name, 'default_column_name')`", '#column')
  }
  const name = textOf(value)
  return new SqlText(name.split('.').map(quoteIdentifier).join('.'), name)
}

function columns(call: CallArguments): Value {
  const value = givenOrDefault(call)
  if (value === null) {
    const reason = "Missing columns() default value, use `columns(column_names, 'default_column_name')`"
    throw documentedFault(reason, '#columns')
  }
  if (typeof value !== 'string') {
    throw documentedFault("The 'columns' function expects a String not an Array", '#columns')
  }
  const functionName = call.get(2, 'fn')
  const names = value.split(',').map((name) => name.trim())
  if (isMissing(functionName)) return new SqlText(names.map(quoteIdentifier).join(','), value)
  const name = textOf(functionName)
  // It is printed without quotes, and it may come from a parameter.
  if (!isBareIdentifier(name)) throw templateFault(`'${name}' is not a valid function for columns()`)
  const sql = names.map((item) => {
    const alias = isBareIdentifier(item) && !item.includes('.') ? item : quoteIdentifier(item)
    return `${name}(${quoteIdentifier(item)}) as ${alias}`
  })
  return new SqlText(sql.join(','))
}

function symbol(call: CallArguments, context: CallContext): Value {
  const value = givenOrDefault(call)
  if (value === null && !context.isCheck) throw requiredFault(context)
  const name = value === null ? 'placeholder' : textOf(value)
  return new SqlText(quoteIdentifier(name), name)
}

function table(call: CallArguments, context: CallContext): Value {
  const value = givenOrDefault(call)
  if (value === null && !context.isCheck) throw requiredFault(context)
  const name = value === null ? 'placeholder' : textOf(value)
  return new SqlText(tableIdentifier(name), name)
}

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

const operands: ReadonlyMap<string, string> = new Map([
  ['in', 'in'],
  ['not_in', 'not in'],
  ['gt', '>'],
  ['lt', '<'],
  ['gte', '>='],
  ['lte', '<='],
])

function sqlAnd(call: CallArguments): Value {
  const conditions: string[] = []
  for (const [name, value] of call.named) {
    const mark = name.lastIndexOf('__')
    const operator = mark < 0 ? '=' : operands.get(name.slice(mark + 2))
    if (operator === undefined) throw documentedFault(`operand ${name.slice(mark + 2)} not supported`, '#sql_and')
    if (value === null) continue
    conditions.push(`${mark < 0 ? name : name.slice(0, mark)} ${operator} ${printedValue(value, name).sql}`)
  }
  return new SqlText(conditions.join(' and '))
}

function splitToArray(call: CallArguments): Value {
  const given = call.get(0, 'x')
  const value = isMissing(given) ? (call.positional[1] ?? call.named.get('default') ?? '') : given
  const separator = call.get(2, 'separator') ?? ','
  if (value instanceof SequenceValue) {
    return new SequenceValue(
      'list',
      value.items.map((item) => textOf(item).trim()),
    )
  }
  if (typeof value !== 'string' || typeof separator !== 'string') {
    throw documentedFault(
      'First argument of split_to_array has to be a value that can be split to a list of elements, but found a PlaceHolder with no value instead',
      '#split_to_array',
    )
  }
  if (separator === '') throw templateFault('empty separator')
  return new SequenceValue(
    'list',
    value.split(separator).map((item) => item.trim()),
  )
}

/** Only what is harmless inside of single quotes may lose its backslash, whatever is asked for. */
const unescapable: ReadonlySet<string> = new Set(['%', '"', '`'])

function sqlUnescape(call: CallArguments, context: CallContext): Value {
  const given = call.get(0, 'x')
  if (given === null) throw requiredFault(context)
  const text = textOf(given)
  const what = textOf(call.get(1, 'what') ?? '')
  const marks = what === '' ? [...unescapable] : [what].filter((mark) => unescapable.has(mark))
  // Pairs are read from the left, so that the backslash of `\\%` is not taken for that of `\%`.
  const sql = quoteText(text).replaceAll(/\\(.)/gs, (pair, mark: string) => (marks.includes(mark) ? mark : pair))
  return new SqlText(sql, text)
}

function secret(call: CallArguments, context: CallContext): Value {
  const nameValue = call.get(0, 'name')
  const fallback = call.get(1, 'default')
  const name = isMissing(nameValue) ? '' : textOf(nameValue)
  const sql = /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)
    ? context.secretSql(name, isMissing(fallback) ? null : textOf(fallback))
    : undefined
  if (sql !== undefined) return new SqlText(sql, null)
  throw templateFault(
    `Cannot access secret '${name}'. Check the secret exists in the Workspace and the token has the required scope.`,
  )
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

export const sqlFunctions: ReadonlyMap<string, TemplateFunction> = new Map<string, TemplateFunction>([
  ['defined', (call) => !isMissing(call.get(0, 'x'))],
  ['column', column],
  ['columns', columns],
  ['symbol', symbol],
  ['table', table],
  ['TABLE', table],
  ['error', raiseError],
  ['custom_error', raiseCustomError],
  ['sql_and', sqlAnd],
  ['split_to_array', splitToArray],
  ['sql_unescape', sqlUnescape],
  ['tb_secret', secret],
  ['tb_var', secret],
  ['max_threads', maxThreads],
  ['cache_ttl', cacheTtl],
  ['backend_hint', backendHint],
  ['activate', switchFunction('activate', ['analyzer', 'parallel_replicas'])],
  ['disable', switchFunction('disable', ['analyzer'])],
])
