// The functions that write SQL: names, conditions, texts, secrets.

import { isBareIdentifier, printedValue, quoteIdentifier, quoteText, tableIdentifier } from '../sql-escapes.ts'
import { documentedFault, templateFault } from '../template-error.ts'
import { SequenceValue, SqlText, textOf, type Value } from '../values.ts'
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

export const sqlFunctions: ReadonlyMap<string, TemplateFunction> = new Map<string, TemplateFunction>([
  ['defined', (call) => !isMissing(call.get(0, 'x'))],
  ['column', column],
  ['columns', columns],
  ['symbol', symbol],
  ['table', table],
  ['TABLE', table],
  ['sql_and', sqlAnd],
  ['split_to_array', splitToArray],
  ['sql_unescape', sqlUnescape],
  ['tb_secret', secret],
  ['tb_var', secret],
])
