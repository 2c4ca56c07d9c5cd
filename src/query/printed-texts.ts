// What the expressions of a template may print, as far as the texts in it tell.

import type { HoleValue, SqlHole } from '../schema/sql-pieces.ts'
import type { CallExpression, Expression, Statement } from '../template/syntax.types.ts'

/** They print names, and not literals. */
const nameFunctions: ReadonlySet<string> = new Set('table TABLE symbol Symbol column Column columns sql_and'.split(' '))
/** They give their first argument, or their second where it is missing. */
const passing: ReadonlySet<string> = new Set([...nameFunctions, 'String'])

/** Deeper than any template nests what it prints. */
const depthMax = 20

/** What may be printed: texts, and whether there may be others. */
type Texts = Omit<SqlHole, 'isName'>

const anything: Texts = { values: [], isOpen: true, made: [] }
/** Most expressions that are looked at for one value, and most texts that it may be. */
const stepsMax = 500
const textsMax = 64

export class PrintedTexts {
  readonly #source: string
  /** What each name is set to, and what loops take it from. */
  readonly #assigned = new Map<string, readonly Expression[]>()
  #stepsLeft = 0

  constructor(source: string, statements: readonly Statement[]) {
    this.#source = source
    this.#readStatements(statements)
  }

  holeOf(expression: Expression): SqlHole {
    this.#stepsLeft = stepsMax
    return { isName: this.#isName(expression, 0), ...this.#texts(expression, 0) }
  }

  #readStatements(statements: readonly Statement[]): void {
    for (const statement of statements) {
      if (statement.kind === 'set') this.#assign(statement.targets, statement.value)
      else if (statement.kind === 'for') this.#assign(statement.targets, statement.items)
      if (statement.kind === 'if') for (const { body } of statement.branches) this.#readStatements(body)
      if ('body' in statement) this.#readStatements(statement.body)
      if ('handlers' in statement) for (const { body } of statement.handlers) this.#readStatements(body)
      if ('otherwise' in statement) this.#readStatements(statement.otherwise)
      if ('last' in statement) this.#readStatements(statement.last)
    }
  }

  #assign(targets: readonly string[], value: Expression): void {
    for (const target of targets) this.#assigned.set(target, [...(this.#assigned.get(target) ?? []), value])
  }

  #isName(expression: Expression, depth: number): boolean {
    this.#stepsLeft -= 1
    if (depth > depthMax || this.#stepsLeft < 0) return false
    const isAny = (parts: readonly Expression[]): boolean => parts.some((part) => this.#isName(part, depth + 1))
    switch (expression.kind) {
      case 'call':
        return expression.callee.kind === 'name' && nameFunctions.has(expression.callee.name)
      case 'name':
        return isAny(this.#assigned.get(expression.name) ?? [])
      case 'conditional':
        return isAny([expression.then, expression.otherwise])
      case 'and':
      case 'or':
        return isAny(expression.operands)
      case 'sequence':
        return isAny(expression.items)
      case 'attribute':
      case 'subscript':
      case 'slice':
        return isAny([expression.object])
      default:
        return false
    }
  }

  #texts(expression: Expression, depth: number): Texts {
    this.#stepsLeft -= 1
    if (depth > depthMax || this.#stepsLeft < 0) return anything
    switch (expression.kind) {
      case 'literal':
        return { values: this.#literal(expression), isOpen: false, made: [] }
      case 'conditional':
        return this.#joined([expression.then, expression.otherwise], depth)
      case 'and':
      case 'or':
        return this.#joined(expression.operands, depth)
      case 'name': {
        // What stands elsewhere may be looked at there too: it is no place to put another name in.
        const { values, made } = this.#joined(this.#assigned.get(expression.name) ?? [], depth)
        return { values: values.map(({ text }) => ({ text, span: null })), isOpen: true, made }
      }
      case 'call':
        return this.#callTexts(expression, depth)
      case 'binary':
        if (expression.operator === '+') return this.#sum(expression.left, expression.right, depth)
        return { values: this.#textsWithin(expression, depth), isOpen: true, made: [] }
      default:
        return { values: this.#textsWithin(expression, depth), isOpen: true, made: [] }
    }
  }

  #joined(expressions: readonly Expression[], depth: number): Texts {
    const texts = expressions.map((one) => this.#texts(one, depth + 1))
    const values = texts.flatMap((one) => one.values)
    const isOpen = texts.some((one) => one.isOpen) || values.length > textsMax
    return { values: values.slice(0, textsMax), isOpen, made: texts.flatMap(({ made }) => made).slice(0, textsMax) }
  }

  /** `'events_' + x`. */
  #sum(left: Expression, right: Expression, depth: number): Texts {
    const [first, second] = [this.#texts(left, depth + 1), this.#texts(right, depth + 1)]
    const isOpen = first.isOpen || second.isOpen
    const values = first.values.flatMap(({ text }) =>
      second.values.map((other) => ({ text: text + other.text, span: null })),
    )
    const prefixes = first.isOpen ? [''] : first.values.map(({ text }) => text)
    const suffixes = second.isOpen ? [''] : second.values.map(({ text }) => text)
    const made = prefixes
      .flatMap((prefix) => suffixes.map((suffix) => ({ prefix, suffix })))
      .filter(({ prefix, suffix }) => isOpen && prefix + suffix !== '')
    return { values: values.slice(0, textsMax), isOpen, made: made.slice(0, textsMax) }
  }

  #callTexts(call: CallExpression, depth: number): Texts {
    const { callee } = call
    if (callee.kind !== 'name' || !passing.has(callee.name)) {
      return { values: this.#textsWithin(call, depth), isOpen: true, made: [] }
    }
    const given = call.arguments.filter(({ name }, index) => (name === null && index < 2) || name === 'default')
    const told = call.arguments.filter(({ name }) => name === 'enum')
    const texts = this.#joined(
      given.map(({ value }) => value),
      depth,
    )
    return { ...texts, values: [...texts.values, ...told.flatMap(({ value }) => this.#textsWithin(value, depth))] }
  }

  #literal(expression: Extract<Expression, { readonly kind: 'literal' }>): readonly HoleValue[] {
    const { value, offset } = expression
    if (typeof value !== 'string') return value === null ? [] : [{ text: String(value), span: null }]
    const end = offset + value.length + 2
    const written = this.#source.slice(offset, end)
    const isPlain = written === `'${value}'` || written === `"${value}"`
    return [{ text: value, span: isPlain ? { start: offset, end } : null }]
  }

  /** Every text in an expression: one of them, or what is made of it. */
  #textsWithin(expression: Expression, depth: number): readonly HoleValue[] {
    this.#stepsLeft -= 1
    if (depth > depthMax || this.#stepsLeft < 0) return []
    if (expression.kind === 'literal' || expression.kind === 'name') {
      return this.#texts(expression, depth).values.map(({ text }) => ({ text, span: null }))
    }
    return partsOf(expression).flatMap((part) => this.#textsWithin(part, depth + 1))
  }
}

function partsOf(expression: Expression): readonly Expression[] {
  switch (expression.kind) {
    case 'call':
      return [
        ...(expression.callee.kind === 'attribute' ? [expression.callee.object] : []),
        ...expression.arguments.map(({ value }) => value),
      ]
    case 'sequence':
      return expression.items
    case 'dict':
      return expression.entries.flat()
    case 'binary':
      return [expression.left, expression.right]
    case 'conditional':
      return [expression.then, expression.otherwise]
    case 'and':
    case 'or':
      return expression.operands
    case 'attribute':
    case 'subscript':
    case 'slice':
      return [expression.object]
    default:
      return []
  }
}
