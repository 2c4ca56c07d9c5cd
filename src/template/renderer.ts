// Walks the tree of a template and writes its SQL. One object per rendering; the tree itself is never changed.

import { CallArguments, type CallContext } from './functions/function-call.ts'
import { templateFunctions } from './functions/function-table.ts'
import { callMethod, missingAttributeFault } from './functions/methods.ts'
import { expectationOf, typedFunctions } from './functions/typed-functions.ts'
import { applyBinary, applySign, compareValues, itemsOf, readSlice, readSubscript } from './operators.ts'
import { printedValue } from './sql-escapes.ts'
import type { SqlWriter } from './sql-writer.ts'
import type { CallExpression, Expression, Statement } from './syntax.types.ts'
import type { RenderContext } from './template.types.ts'
import { notCallableFault, TemplateFault, templateFault } from './template-error.ts'
import { bareValue, charactersOf, DictValue, isTruthy, Placeholder, SequenceValue, type Value } from './values.ts'

/** How a body ended. */
type Flow = 'next' | 'break' | 'continue'

interface RendererOptions {
  /** Taken over: `{% set %}` writes into it. */
  readonly variables: Map<string, Value>
  readonly context: CallContext
  readonly writer: SqlWriter
  readonly conditions: Conditions
}

type Conditions = Pick<RenderContext, 'decide' | 'nextCondition' | 'onCondition'>

export class Renderer {
  readonly #variables: Map<string, Value>
  readonly #context: CallContext
  readonly #writer: SqlWriter
  readonly #conditions: Conditions
  /** Of the expression that runs, for the place of an error. */
  #offset = 0

  constructor({ variables, context, writer, conditions }: RendererOptions) {
    this.#variables = variables
    this.#context = context
    this.#writer = writer
    this.#conditions = conditions
  }

  get offset(): number {
    return this.#offset
  }

  /** @throws TemplateFault */
  run(statements: readonly Statement[]): Flow {
    for (const statement of statements) {
      const flow = this.#runStatement(statement)
      if (flow !== 'next') return flow
    }
    return 'next'
  }

  #runStatement(statement: Statement): Flow {
    switch (statement.kind) {
      case 'text':
        this.#writer.writeText(statement.text)
        return 'next'
      case 'print': {
        const value = this.#evaluate(statement.value)
        this.#offset = statement.offset
        this.#writer.writeValue(printedValue(value, statement.source))
        return 'next'
      }
      case 'if':
        for (const { condition, source, body } of statement.branches) {
          if (this.#conditions.decide?.(source) ?? this.#isMet(condition)) return this.run(body)
        }
        return this.run(statement.otherwise)
      case 'for':
        return this.#runFor(statement)
      case 'while':
        return this.#runWhile(statement)
      case 'set':
        this.#assign(statement.targets, this.#evaluate(statement.value))
        return 'next'
      case 'try':
        return this.#runTry(statement)
      case 'break':
      case 'continue':
        return statement.kind
    }
  }

  #isMet(condition: Expression): boolean {
    const { nextCondition, onCondition } = this.#conditions
    const { offset } = condition
    const isMet = nextCondition?.(offset) ?? isTruthy(this.#evaluate(condition))
    onCondition?.(isMet, offset)
    return isMet
  }

  #runFor(statement: Extract<Statement, { readonly kind: 'for' }>): Flow {
    const value = this.#evaluate(statement.items)
    this.#offset = statement.items.offset
    const items = itemsOf(value, this.#context.meter)
    const isForced = this.#conditions.decide !== undefined && items.length === 0
    for (const item of isForced ? [new Placeholder('item', null)] : items) {
      this.#context.meter.spend(1)
      this.#offset = statement.offset
      this.#assign(statement.targets, item)
      if (this.run(statement.body) === 'break') return 'next'
    }
    return this.run(statement.otherwise)
  }

  #runWhile(statement: Extract<Statement, { readonly kind: 'while' }>): Flow {
    while (this.#isMet(statement.condition)) {
      this.#context.meter.spend(1)
      if (this.run(statement.body) === 'break') return 'next'
    }
    return this.run(statement.otherwise)
  }

  #runTry({ body, handlers, otherwise, last }: Extract<Statement, { readonly kind: 'try' }>): Flow {
    let flow: Flow = 'next'
    try {
      flow = this.run(body)
      if (flow === 'next') flow = this.run(otherwise)
    } catch (error) {
      // Limits end the rendering, and errors of our own must not be hidden.
      const [handler] = handlers
      if (!(error instanceof TemplateFault) || error.isFinal) throw error
      if (handler === undefined) {
        this.run(last)
        throw error
      }
      if (handler.variable !== null) {
        this.#variables.set(handler.variable, error.message.replace(/^Template Syntax Error: /, ''))
      }
      flow = this.run(handler.body)
    }
    const lastFlow = this.run(last)
    return lastFlow === 'next' ? flow : lastFlow
  }

  #assign(targets: readonly string[], value: Value): void {
    const [target] = targets
    if (targets.length === 1 && target !== undefined) {
      this.#variables.set(target, value)
      return
    }
    const items = itemsOf(value, this.#context.meter)
    // A placeholder has as many elements as are asked for.
    const isPlaceholder = value instanceof Placeholder
    if (!isPlaceholder && items.length > targets.length) {
      throw templateFault(`too many values to unpack (expected ${targets.length})`)
    }
    if (!isPlaceholder && items.length < targets.length) {
      throw templateFault(`not enough values to unpack (expected ${targets.length}, got ${items.length})`)
    }
    for (const [index, name] of targets.entries()) {
      this.#variables.set(name, isPlaceholder ? value : (items[index] ?? null))
    }
  }

  #evaluate(expression: Expression): Value {
    this.#context.meter.countEvaluation()
    switch (expression.kind) {
      case 'literal':
        return expression.value
      case 'name':
        return this.#variables.get(expression.name) ?? null
      case 'and':
      case 'or':
        return this.#evaluateLogical(expression.kind, expression.operands)
      case 'not':
        return !isTruthy(this.#evaluate(expression.operand))
      case 'conditional':
        return this.#evaluate(isTruthy(this.#evaluate(expression.condition)) ? expression.then : expression.otherwise)
      case 'compare':
        return this.#evaluateComparison(expression)
      case 'call':
        return this.#call(expression)
      case 'sequence':
        return this.#evaluateSequence(expression)
      case 'dict':
        return new DictValue(
          expression.entries.map(([key, value]) => [this.#evaluate(key), this.#evaluate(value)] as const),
        )
      case 'negate':
      case 'plus':
        return applySign(expression.kind === 'negate' ? -1 : 1, this.#evaluate(expression.operand))
      case 'binary': {
        const operands = { left: this.#evaluate(expression.left), right: this.#evaluate(expression.right) }
        this.#offset = expression.offset
        return applyBinary(expression.operator, operands, this.#context.meter)
      }
      case 'attribute':
        return this.#readAttribute(expression.object, expression.name, expression.offset)
      case 'subscript':
      case 'slice':
        return this.#evaluateIndexed(expression)
    }
  }

  #evaluateLogical(kind: 'and' | 'or', operands: readonly Expression[]): Value {
    let value: Value = null
    for (const operand of operands) {
      value = this.#evaluate(operand)
      if (isTruthy(value) === (kind === 'or')) return value
    }
    return value
  }

  #evaluateComparison(expression: Extract<Expression, { readonly kind: 'compare' }>): boolean {
    let left = this.#evaluate(expression.first)
    for (const { operator, operand } of expression.rest) {
      const right = this.#evaluate(operand)
      this.#offset = expression.offset
      if (!compareValues(operator, { left, right }, this.#context.meter)) return false
      left = right
    }
    return true
  }

  #evaluateSequence({ type, items }: Extract<Expression, { readonly kind: 'sequence' }>): Value {
    const [first] = items
    // `{{ x }}` inside of a tag is a set of a set: old templates have it in `defined({{Int32(x)}})`, and it is true
    // whatever x is.
    if (type === 'set' && items.length === 1 && first?.kind === 'sequence' && first.type === 'set') {
      return new SequenceValue('set', [true])
    }
    const values = items.map((item) => this.#evaluate(item))
    return new SequenceValue(type, values)
  }

  #evaluateIndexed(expression: Extract<Expression, { readonly kind: 'subscript' | 'slice' }>): Value {
    const object = this.#evaluate(expression.object)
    const { meter } = this.#context
    if (expression.kind === 'slice') {
      const bounds = expression.bounds.map((bound) => (bound === null ? null : this.#evaluate(bound)))
      this.#offset = expression.offset
      return readSlice(object, bounds, meter)
    }
    const index = this.#evaluate(expression.index)
    this.#offset = expression.offset
    const bare = bareValue(object)
    if (typeof bare === 'string') meter.checkText(bare.length)
    return readSubscript(object, index)
  }

  #readAttribute(object: Expression, name: string, offset: number): Value {
    const value = this.#evaluate(object)
    this.#offset = offset
    throw missingAttributeFault(value, name)
  }

  #call(call: CallExpression): Value {
    const { callee } = call
    if (callee.kind === 'attribute') {
      const object = this.#evaluate(callee.object)
      const values = this.#evaluateArguments(call)
      this.#offset = callee.offset
      return callMethod({ object, name: callee.name }, values, this.#context)
    }
    if (callee.kind !== 'name') throw notCallableFault(call.offset)
    const run = templateFunctions.get(callee.name)
    // While a template is checked such a call was refused before it came here.
    if (run === undefined) throw notCallableFault(call.offset)
    const values = this.#evaluateArguments(call)
    this.#offset = call.offset
    try {
      return run(values, this.#context)
    } catch (error) {
      throw namingParameter(error, call)
    }
  }

  #evaluateArguments(call: CallExpression): CallArguments {
    const positional: Value[] = []
    const named = new Map<string, Value>()
    for (const [index, { name, value }] of call.arguments.entries()) {
      // The type of an array may be written as a name.
      const isType = index === 1 && value.kind === 'name' && typedFunctions.has(value.name)
      const evaluated = isType && value.kind === 'name' ? value.name : this.#evaluate(value)
      // What a function does with a value takes time by its length.
      this.#context.meter.spend(charactersOf(evaluated) >>> 8)
      if (name === null) positional.push(evaluated)
      else named.set(name, evaluated)
    }
    return new CallArguments(positional, named)
  }
}

/** The message has the value and the type, word by word as clients know it: which parameter that was stands beside it. */
function namingParameter(error: unknown, { callee, arguments: [first] }: CallExpression): unknown {
  if (!(error instanceof TemplateFault) || !/Error (?:validating|parsing JSON)/.test(error.message)) return error
  if (error.hint !== undefined || callee.kind !== 'name' || first?.value.kind !== 'name') return error
  return error.withHint(`Parameter '${first.value.name}' ${expectationOf(callee.name)}`)
}
