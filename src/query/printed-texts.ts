// What the expressions of a template may print, as far as the texts in it tell.

import type { HoleValue, MadeName, SqlHole } from '../schema/syntax/sql-pieces.ts'
import { PossibleValues } from '../template/possible-values.ts'
import type { CallExpression, Expression, Statement } from '../template/syntax.types.ts'

/** They print names, and not literals. */
const nameFunctions: ReadonlySet<string> = new Set('table TABLE symbol Symbol column Column columns sql_and'.split(' '))
/** They give their first argument, or their second where it is missing. */
const passing: ReadonlySet<string> = new Set([...nameFunctions, 'String'])
/** They print a comment, which ends with its line, or nothing. */
const blankFunctions: ReadonlySet<string> = new Set(
  'max_threads cache_ttl backend_hint activate disable error custom_error'.split(' '),
)
/** What it prints is SQL, of conditions; where there are none, nothing. */
const conditionFunction = 'sql_and'
/** Arguments that tell of a parameter, and give it no value. */
const tellingArguments: ReadonlySet<string> = new Set(['description', 'format', 'example'])

/** Deeper than any template nests what it prints. */
const depthMax = 20

/** What may be printed: texts, and whether there may be others. */
interface Texts extends Pick<SqlHole, 'values' | 'isOpen' | 'made'> {
  /** Whether it may be anything: then `made` does not tell all. */
  readonly isAny: boolean
}

/** What is printed at one place. */
export interface PrintedHole extends SqlHole {
  /** Whether it prints nothing but a blank or a comment. */
  readonly blank: 'always' | 'maybe' | 'never'
  /** Names that stand in SQL which it prints. */
  readonly written: readonly string[]
}

const anything: Texts = { values: [], isOpen: true, made: [], isAny: true }
/** Most expressions that are looked at for one value, and most texts that it may be. */
const stepsMax = 500
const allStepsMax = 20_000
const textsMax = 64
/** Most values that are looked at only because the text around them is not. */
const holesMax = 1_000

export class PrintedTexts {
  readonly #source: string
  /** What each name is set to, and what loops take it from. */
  readonly #assigned = new Map<string, readonly Expression[]>()
  readonly #possible: PossibleValues
  readonly #printed: Expression[] = []
  readonly #holes = new Map<Expression, PrintedHole>()
  #stepsLeft = 0
  #allStepsLeft = allStepsMax
  /** Whether a value was not looked at to its end. */
  isCut = false

  constructor(source: string, statements: readonly Statement[]) {
    this.#source = source
    this.#possible = new PossibleValues(statements)
    this.#readStatements(statements)
  }

  /** Those that were asked for. */
  get holes(): readonly PrintedHole[] {
    return [...this.#holes.values()]
  }

  /** All that the statements print; null where it is too much to look at. */
  allHoles(): readonly PrintedHole[] | null {
    if (this.#printed.length > holesMax) return null
    for (const value of this.#printed) this.holeOf(value)
    return this.#allStepsLeft < 0 ? null : this.holes
  }

  holeOf(expression: Expression): PrintedHole {
    const known = this.#holes.get(expression)
    if (known !== undefined) return known
    const hole = this.#readHole(expression)
    this.#holes.set(expression, hole)
    return hole
  }

  #readHole(expression: Expression): PrintedHole {
    this.#stepsLeft = Math.min(stepsMax, this.#allStepsLeft)
    const before = this.#stepsLeft
    const { values, isOpen, made } = this.#texts(expression, 0)
    const seen = this.#seen(expression)
    const possible = this.#possible.textsOf(expression)
    const known = new Set(values.map(({ text }) => text))
    const others = possible.texts.filter((text) => !known.has(text)).map((text) => ({ text, span: null }))
    const isWorked = possible.isOpen && !this.#isPlain(expression, 0) && !this.#isSum(expression, 0)
    if (this.#stepsLeft < 0) this.isCut = true
    this.#allStepsLeft -= before - this.#stepsLeft
    const { calls, texts } = seen
    const isBlank = expression.kind === 'call' && expression.callee.kind === 'name'
    const mayBeBlank = calls.has(conditionFunction) || [...blankFunctions].some((name) => calls.has(name))
    return {
      isName: [...nameFunctions].some((name) => calls.has(name)),
      values: [...values, ...others],
      isOpen,
      made,
      pieces: isWorked ? piecesOf(texts) : [],
      blank: isBlank && blankFunctions.has(expression.callee.name) ? 'always' : mayBeBlank ? 'maybe' : 'never',
      written: calls.has(conditionFunction) ? wordsOf([...texts, ...possible.texts]) : [],
    }
  }

  /** The functions that are called in an expression, and in what its names are set to, and the texts there. */
  #seen(expression: Expression): { readonly calls: ReadonlySet<string>; readonly texts: readonly string[] } {
    const calls = new Set<string>()
    const texts: string[] = []
    const names = new Set<string>()
    const left: Expression[] = [expression]
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      this.#stepsLeft -= 1
      if (this.#stepsLeft < 0) break
      if (next.kind === 'literal' && typeof next.value === 'string') texts.push(next.value)
      if (next.kind === 'call' && next.callee.kind === 'name') calls.add(next.callee.name)
      if (next.kind === 'name' && !names.has(next.name)) left.push(...(this.#assigned.get(next.name) ?? []))
      if (next.kind === 'name') names.add(next.name)
      left.push(...partsOf(next))
    }
    return { calls, texts }
  }

  /** Whether it is one of its texts, or a caller's value altogether. */
  #isPlain(expression: Expression, depth: number): boolean {
    this.#stepsLeft -= 1
    if (depth > depthMax || this.#stepsLeft < 0) return false
    const areAll = (parts: readonly Expression[]): boolean => parts.every((part) => this.#isPlain(part, depth + 1))
    switch (expression.kind) {
      case 'literal':
        return true
      case 'name':
        return areAll(this.#assigned.get(expression.name) ?? [])
      case 'conditional':
        return areAll([expression.then, expression.otherwise])
      case 'and':
      case 'or':
        return areAll(expression.operands)
      case 'call':
        return isPassing(expression) && areAll(expression.arguments.map(({ value }) => value))
      case 'sequence':
        return areAll(expression.items)
      default:
        return false
    }
  }

  /** Whether it is a sum of texts and of callers' values: how it begins and ends is known. */
  #isSum(expression: Expression, depth: number): boolean {
    this.#stepsLeft -= 1
    if (depth > depthMax || this.#stepsLeft < 0) return false
    switch (expression.kind) {
      case 'literal':
        return true
      case 'name':
        return !this.#assigned.has(expression.name)
      case 'binary':
        return (
          expression.operator === '+' &&
          this.#isSum(expression.left, depth + 1) &&
          this.#isSum(expression.right, depth + 1)
        )
      case 'call':
        return isPassing(expression) && expression.arguments.every(({ value }) => this.#isSum(value, depth + 1))
      default:
        return false
    }
  }

  #readStatements(statements: readonly Statement[]): void {
    for (const statement of statements) {
      if (statement.kind === 'print') this.#printed.push(statement.value)
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

  #texts(expression: Expression, depth: number): Texts {
    this.#stepsLeft -= 1
    if (depth > depthMax || this.#stepsLeft < 0) {
      this.isCut = true
      return anything
    }
    switch (expression.kind) {
      case 'literal':
        return { values: this.#literal(expression), isOpen: false, made: [], isAny: false }
      case 'conditional':
        return this.#joined([expression.then, expression.otherwise], depth)
      case 'and':
      case 'or':
        return this.#joined(expression.operands, depth)
      case 'name': {
        // What stands elsewhere may be looked at there too: it is no place to put another name in.
        const { values, made } = this.#joined(this.#assigned.get(expression.name) ?? [], depth)
        return { values: values.map(({ text }) => ({ text, span: null })), isOpen: true, made, isAny: true }
      }
      case 'call':
        return this.#callTexts(expression, depth)
      case 'binary':
        if (expression.operator === '+') return this.#sum(expression.left, expression.right, depth)
        return { values: this.#textsWithin(expression, depth), isOpen: true, made: [], isAny: true }
      default:
        return { values: this.#textsWithin(expression, depth), isOpen: true, made: [], isAny: true }
    }
  }

  #joined(expressions: readonly Expression[], depth: number): Texts {
    const texts = expressions.map((one) => this.#texts(one, depth + 1))
    const values = texts.flatMap((one) => one.values)
    if (values.length > textsMax) this.isCut = true
    const isOpen = texts.some((one) => one.isOpen)
    const made = texts.flatMap((one) => one.made).slice(0, textsMax)
    return { values: values.slice(0, textsMax), isOpen, made, isAny: texts.some(({ isAny }) => isAny) }
  }

  /** `'events_' + x`. */
  #sum(left: Expression, right: Expression, depth: number): Texts {
    const [first, second] = [this.#texts(left, depth + 1), this.#texts(right, depth + 1)]
    const isOpen = first.isOpen || second.isOpen
    const values = first.values.flatMap(({ text }) =>
      second.values.map((other) => ({ text: text + other.text, span: null })),
    )
    if (values.length > textsMax) this.isCut = true
    const prefixes = edgesOf(first, ({ prefix }) => prefix)
    const suffixes = edgesOf(second, ({ suffix }) => suffix)
    const made = prefixes.flatMap((prefix) => suffixes.map((suffix) => ({ prefix, suffix })))
    const known = made.filter(({ prefix, suffix }) => isOpen && prefix + suffix !== '')
    if (known.length > textsMax) this.isCut = true
    return {
      values: values.slice(0, textsMax),
      isOpen,
      made: known.slice(0, textsMax),
      isAny: isOpen && known.length < made.length,
    }
  }

  #callTexts(call: CallExpression, depth: number): Texts {
    const { callee } = call
    if (callee.kind !== 'name' || !passing.has(callee.name)) {
      return { values: this.#textsWithin(call, depth), isOpen: true, made: [], isAny: true }
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
    if (depth > depthMax || this.#stepsLeft < 0) {
      this.isCut = true
      return []
    }
    if (expression.kind === 'literal' || expression.kind === 'name') {
      return this.#texts(expression, depth).values.map(({ text }) => ({ text, span: null }))
    }
    return partsOf(expression).flatMap((part) => this.#textsWithin(part, depth + 1))
  }
}

/** What it may begin with, or end with. */
function edgesOf({ values, isOpen, made, isAny }: Texts, edge: (made: MadeName) => string): readonly string[] {
  const texts = values.map(({ text }) => text)
  return isOpen ? [...new Set([...made.map(edge), ...texts, ...(isAny ? [''] : [])])] : texts
}

function isPassing({ callee }: CallExpression): boolean {
  return callee.kind === 'name' && passing.has(callee.name) && callee.name !== conditionFunction
}

function piecesOf(texts: readonly string[]): readonly string[] {
  return [...new Set(wordsOf(texts).map((word) => word.toLowerCase()))]
}

function wordsOf(texts: readonly string[]): readonly string[] {
  return [...new Set(texts.flatMap((text) => text.match(/\w*[A-Za-z0-9]\w*/g) ?? []))]
}

function partsOf(expression: Expression): readonly Expression[] {
  switch (expression.kind) {
    case 'call':
      return [
        ...(expression.callee.kind === 'attribute' ? [expression.callee.object] : []),
        ...expression.arguments.flatMap(({ name, value }) => {
          return name !== null && tellingArguments.has(name) ? [] : [value]
        }),
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
    case 'subscript':
      return [expression.object, expression.index]
    case 'attribute':
    case 'slice':
      return [expression.object]
    case 'negate':
    case 'plus':
    case 'not':
      return [expression.operand]
    default:
      return []
  }
}
