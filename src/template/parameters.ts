// What a template says about its parameters, read from its tree without running it.

import { templateFunctions } from './functions/function-table.ts'
import { typedFunctions } from './functions/typed-functions.ts'
import type { Argument, CallExpression, Expression, Statement } from './syntax.types.ts'
import type { ParameterValue, TemplateParameter } from './template.types.ts'
import { limitFault, TemplateFault, templateFault } from './template-error.ts'

export interface TemplateNames {
  readonly parameters: readonly TemplateParameter[]
  /** Typed somewhere without a default: the names that the refusal of a missing value lists. */
  readonly requiredNames: readonly string[]
  /** The element types of parameters that are arrays somewhere. */
  readonly arrayTypes: ReadonlyMap<string, string>
  /** Every name that is read or set, loop variables included. */
  readonly usedNames: ReadonlySet<string>
  readonly tables: readonly string[]
  readonly secretNames: readonly string[]
  readonly warnings: readonly string[]
  /** The first call of something that is no function, in any branch; null when there is none. */
  readonly unknownCall: UnknownCall | null
}

export interface UnknownCall {
  readonly name: string
  readonly offset: number
}

interface SurveyOptions {
  readonly parametersMax: number
  readonly lineAt: (offset: number) => number
}

/** @throws TemplateFault for names that cannot be used, and too many of them. */
export function surveyNames(statements: readonly Statement[], options: SurveyOptions): TemplateNames {
  const survey = new NameSurvey(options)
  survey.readStatements(statements)
  return survey.names()
}

const typedNames: ReadonlySet<string> = new Set([...typedFunctions.keys(), 'column', 'columns'])
const tableFunctions: ReadonlySet<string> = new Set(['table', 'TABLE'])
const secretFunctions: ReadonlySet<string> = new Set(['tb_secret', 'tb_var'])
const reservedNames: ReadonlySet<string> = new Set(
  `__tb__semver debug debug_source_tables explain finalize_aggregations output_format_json_quote_64bit_integers
  output_format_json_quote_denormals output_format_parquet_string_as_string pipeline playground query_id
  release_replacements tag template_parameters token job_timestamp`.split(/\s+/),
)

interface Use {
  readonly kind: 'typed' | 'plain' | 'argument'
  readonly parameter: TemplateParameter
}

class NameSurvey {
  readonly #options: SurveyOptions
  readonly #uses: Use[] = []
  readonly #names = new Set<string>()
  readonly #loopNames = new Set<string>()
  readonly #requiredNames = new Set<string>()
  readonly #arrayTypes = new Map<string, string>()
  readonly #tables = new Set<string>()
  readonly #secretNames = new Set<string>()
  #unknownCall: UnknownCall | null = null

  constructor(options: SurveyOptions) {
    this.#options = options
  }

  names(): TemplateNames {
    return {
      parameters: this.#parameters(),
      requiredNames: [...this.#requiredNames],
      arrayTypes: this.#arrayTypes,
      usedNames: this.#names,
      tables: [...this.#tables],
      secretNames: [...this.#secretNames],
      unknownCall: this.#unknownCall,
      warnings: [...this.#names]
        .filter((name) => reservedNames.has(name))
        .map((name) => `"${name}" is a reserved name`),
    }
  }

  /** Typed uses win over plain ones, and those over arguments of functions; each different entry stands once. */
  #parameters(): readonly TemplateParameter[] {
    const kinds = new Map<string, Use['kind']>()
    for (const { kind, parameter } of this.#uses) {
      const known = kinds.get(parameter.name)
      if (known === undefined || kind === 'typed' || (kind === 'plain' && known === 'argument')) {
        kinds.set(parameter.name, known === 'typed' ? known : kind)
      }
    }
    const entries = new Map<string, TemplateParameter>()
    for (const { kind, parameter } of this.#uses) {
      const isLoopVariable = kind !== 'typed' && this.#loopNames.has(parameter.name)
      if (kinds.get(parameter.name) === kind && !isLoopVariable) entries.set(JSON.stringify(parameter), parameter)
    }
    return [...entries.values()]
  }

  readStatements(statements: readonly Statement[]): void {
    for (const statement of statements) this.#readStatement(statement)
  }

  #readStatement(statement: Statement): void {
    switch (statement.kind) {
      case 'print':
        this.#readExpression(statement.value)
        break
      case 'if':
        for (const { condition, body } of statement.branches) {
          this.#readExpression(condition)
          this.readStatements(body)
        }
        this.readStatements(statement.otherwise)
        break
      case 'for':
        for (const name of statement.targets) {
          this.#addName(name, statement.offset)
          this.#loopNames.add(name)
        }
        this.#readExpression(statement.items)
        this.readStatements(statement.body)
        this.readStatements(statement.otherwise)
        break
      case 'while':
        this.#readExpression(statement.condition)
        this.readStatements(statement.body)
        this.readStatements(statement.otherwise)
        break
      case 'set':
        for (const name of statement.targets) this.#addPlain(name, statement.offset, 'plain')
        this.#readExpression(statement.value)
        break
      case 'try':
        this.#readTry(statement)
        break
      case 'text':
      case 'break':
      case 'continue':
        break
    }
  }

  #readTry({ body, handlers, otherwise, last }: Extract<Statement, { readonly kind: 'try' }>): void {
    this.readStatements(body)
    for (const handler of handlers) {
      if (handler.variable !== null) this.#loopNames.add(handler.variable)
      this.readStatements(handler.body)
    }
    this.readStatements(otherwise)
    this.readStatements(last)
  }

  #readExpression(expression: Expression): void {
    if (expression.kind === 'name') this.#addPlain(expression.name, expression.offset, 'plain')
    else if (expression.kind === 'call') this.#readCall(expression)
    else for (const part of partsOf(expression)) this.#readExpression(part)
  }

  #readCall(call: CallExpression): void {
    const { callee } = call
    if (callee.kind !== 'name') {
      this.#readExpression(callee)
      for (const { value } of call.arguments) this.#readExpression(value)
      return
    }
    if (callee.name === 'length') throw lengthFault(callee.offset)
    if (!templateFunctions.has(callee.name)) this.#unknownCall ??= { name: callee.name, offset: callee.offset }
    const [first, ...others] = call.arguments
    if (first === undefined) return
    if (typedNames.has(callee.name) && first.name === null && first.value.kind === 'name') {
      this.#addTyped(callee.name, first.value.name, call)
    } else {
      this.#addLiteral(callee.name, first)
      this.#readArgument(first.value)
    }
    for (const { value } of others) {
      // The type of an array may be written as a name.
      if (value.kind !== 'name' || !typedFunctions.has(value.name)) this.#readArgument(value)
    }
  }

  #readArgument(value: Expression): void {
    if (value.kind === 'name') this.#addPlain(value.name, value.offset, 'argument')
    else this.#readExpression(value)
  }

  #addLiteral(functionName: string, first: Argument): void {
    if (first.value.kind !== 'literal' || typeof first.value.value !== 'string') return
    if (tableFunctions.has(functionName)) this.#tables.add(first.value.value)
    if (secretFunctions.has(functionName)) this.#secretNames.add(first.value.value)
  }

  #addName(name: string, offset: number): void {
    if (name === 'length') throw lengthFault(offset)
    if (name === 'format' || name === 'q') {
      const line = this.#options.lineAt(offset)
      throw new TemplateFault(`"${name}" can not be used as a variable name, line ${line}`, { offset })
    }
    this.#names.add(name)
    const { parametersMax } = this.#options
    if (this.#names.size > parametersMax) {
      throw limitFault(`the template has more than ${parametersMax} parameters`, offset)
    }
  }

  #addPlain(name: string, offset: number, kind: 'plain' | 'argument'): void {
    this.#addName(name, offset)
    const usedIn = kind === 'argument' ? { used_in: 'function_call' as const } : {}
    this.#uses.push({ kind, parameter: { name, type: 'String', default: null, ...usedIn } })
  }

  #addTyped(functionName: string, name: string, call: CallExpression): void {
    this.#addName(name, call.offset)
    const isArray = functionName === 'Array'
    const elementType = isArray ? elementTypeOf(call) : ''
    if (isArray) this.#arrayTypes.set(name, this.#arrayTypes.get(name) ?? elementType)
    const fallback = argumentOf(call, isArray ? 2 : 1, 'default')
    const defaultValue = literalOf(fallback)
    // A default that is no literal is a default all the same, and `job_timestamp` always has a value.
    const hasDefault = fallback !== undefined && !(fallback.kind === 'literal' && fallback.value === null)
    const isColumn = functionName === 'column' || functionName === 'columns'
    if (!hasDefault && !isColumn && name !== 'job_timestamp') this.#requiredNames.add(name)
    this.#uses.push({
      kind: 'typed',
      parameter: {
        name,
        type: isArray ? `Array(${elementType})` : functionName,
        default: defaultValue,
        ...metadataOf(call),
      },
    })
  }
}

function lengthFault(offset: number): Error {
  return templateFault('length cannot be used as a variable name or as a function inside of a template', offset)
}

function elementTypeOf(call: CallExpression): string {
  const type = argumentOf(call, 1, 'type')
  if (type?.kind === 'name' && typedNames.has(type.name)) return type.name
  return type?.kind === 'literal' && typeof type.value === 'string' ? type.value : 'String'
}

function argumentOf(call: CallExpression, index: number, name: string): Expression | undefined {
  const positional = call.arguments[index]
  if (positional?.name === null) return positional.value
  return call.arguments.find((argument) => argument.name === name)?.value
}

function metadataOf(call: CallExpression): Partial<TemplateParameter> {
  const read = (name: string) => {
    const value = call.arguments.find((argument) => argument.name === name)?.value
    return value === undefined ? undefined : literalOf(value)
  }
  const required = read('required')
  const description = read('description')
  const values = read('enum')
  const example = read('example')
  const format = read('format')
  return {
    ...(required === undefined ? {} : { required: Boolean(required) }),
    ...(typeof description === 'string' ? { description } : {}),
    ...(values === undefined ? {} : { enum: values }),
    ...(example === undefined ? {} : { example }),
    ...(typeof format === 'string' ? { format } : {}),
  }
}

/** The value of an expression that is a literal, or null. */
function literalOf(expression: Expression | undefined): ParameterValue {
  if (expression === undefined) return null
  if (expression.kind === 'literal') return jsonOf(expression.value)
  if (expression.kind === 'sequence') return expression.items.map(literalOf)
  if (expression.kind === 'negate' && expression.operand.kind === 'literal') {
    const { value } = expression.operand
    return typeof value === 'bigint' || typeof value === 'number' ? jsonOf(-value) : null
  }
  if (expression.kind !== 'dict') return null
  return Object.fromEntries(expression.entries.map(([key, value]) => [String(literalOf(key)), literalOf(value)]))
}

/** Integers that JSON's readers would round are given as texts. */
function jsonOf(value: null | boolean | bigint | number | string): ParameterValue {
  if (typeof value !== 'bigint') return value
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value.toString()
}

/** The expressions directly inside of one, in source order. */
function partsOf(expression: Expression): readonly Expression[] {
  switch (expression.kind) {
    case 'literal':
    case 'name':
      return []
    case 'call':
      return [expression.callee, ...expression.arguments.map(({ value }) => value)]
    case 'sequence':
      return expression.items
    case 'dict':
      return expression.entries.flat()
    case 'negate':
    case 'plus':
    case 'not':
      return [expression.operand]
    case 'and':
    case 'or':
      return expression.operands
    case 'binary':
      return [expression.left, expression.right]
    case 'compare':
      return [expression.first, ...expression.rest.map(({ operand }) => operand)]
    case 'conditional':
      return [expression.then, expression.condition, expression.otherwise]
    case 'attribute':
      return [expression.object]
    case 'subscript':
      return [expression.object, expression.index]
    case 'slice':
      return [expression.object, ...expression.bounds.filter((bound) => bound !== null)]
  }
}
