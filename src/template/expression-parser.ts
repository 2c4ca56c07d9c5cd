// Reads expressions: a subset of Python's, by recursive descent. Operators of one strength are read in a loop, and both
// ways of growing deep (brackets, long chains) are counted, so that no text can exhaust the stack.

import { type ExpressionToken, readExpressionTokens } from './expression-lexer.ts'
import type { Argument, BinaryOperator, Comparison, ComparisonOperator, Expression } from './syntax.types.ts'
import { limitFault, syntaxFault, templateFault } from './template-error.ts'

/** Where a text of the template stands. */
export interface SourceText {
  readonly text: string
  readonly offset: number
}

/** @throws TemplateFault `invalid syntax`, or what is refused. */
export function parseExpression(source: SourceText, nestingMax: number): Expression {
  const parser = new ExpressionParser(source, nestingMax)
  const expression = parser.readTuple()
  parser.expectEnd()
  return expression
}

/** `a, b in expression`. */
export function parseForClause(
  source: SourceText,
  nestingMax: number,
): { targets: readonly string[]; items: Expression } {
  const parser = new ExpressionParser(source, nestingMax)
  const targets = parser.readTargets()
  parser.expect('in')
  const items = parser.readTuple()
  parser.expectEnd()
  return { targets, items }
}

/** `a = expression`, also `a, b = expression`. */
export function parseAssignment(
  source: SourceText,
  nestingMax: number,
): { targets: readonly string[]; value: Expression } {
  const parser = new ExpressionParser(source, nestingMax)
  const targets = parser.readTargets()
  parser.expect('=')
  const value = parser.readTuple()
  parser.expectEnd()
  return { targets, value }
}

const comparisonOperators: ReadonlySet<string> = new Set(['==', '!=', '<', '<=', '>', '>='])
/** A chain such as `a + b + c` is as deep a tree as it is long. */
const chainFactor = 10
const refusedOperators: ReadonlyMap<string, string> = new Map([
  ['**', 'Pow'],
  ['|', 'BitOr'],
  ['&', 'BitAnd'],
  ['^', 'BitXor'],
  ['<<', 'LShift'],
  ['>>', 'RShift'],
  ['@', 'MatMult'],
])

class ExpressionParser {
  readonly #tokens: readonly ExpressionToken[]
  readonly #nestingMax: number
  #index = 0
  #depth = 0
  #chainLength = 0

  constructor(source: SourceText, nestingMax: number) {
    this.#tokens = readExpressionTokens(source.text, source.offset)
    this.#nestingMax = nestingMax
  }

  readTargets(): readonly string[] {
    const hasBracket = this.#takeIf('(')
    const targets = [this.#expectName()]
    while (this.#takeIf(',')) {
      if (this.#peek().kind !== 'name') break
      targets.push(this.#expectName())
    }
    if (hasBracket) this.expect(')')
    return targets
  }

  readTuple(): Expression {
    const { offset } = this.#peek()
    const first = this.#readExpression()
    if (!this.#isAt(',')) return first
    const items = [first]
    while (this.#takeIf(',')) {
      if (this.#peek().kind === 'end' || this.#isAt(')')) break
      items.push(this.#readExpression())
    }
    return { kind: 'sequence', offset, type: 'tuple', items }
  }

  expect(text: string): void {
    if (!this.#takeIf(text)) throw this.#invalid()
  }

  expectEnd(): void {
    if (this.#peek().kind !== 'end') throw this.#invalid()
  }

  #peek(ahead = 0): ExpressionToken {
    return this.#tokens[this.#index + ahead] ?? { kind: 'end', text: '', offset: this.#tokens.at(-1)?.offset ?? 0 }
  }

  #isAt(text: string, ahead = 0): boolean {
    const token = this.#peek(ahead)
    return (token.kind === 'operator' || token.kind === 'keyword') && token.text === text
  }

  #takeIf(text: string): boolean {
    if (!this.#isAt(text)) return false
    this.#index += 1
    return true
  }

  #expectName(): string {
    const token = this.#peek()
    if (token.kind !== 'name') throw this.#invalid()
    this.#index += 1
    return token.text
  }

  /** The refusal of the token that stands here: operators of Python that templates lack are called by their names. */
  #invalid(): Error {
    const token = this.#peek()
    const refused = token.kind === 'operator' ? refusedOperators.get(token.text) : undefined
    if (refused !== undefined && this.#index > 0) return templateFault(`Invalid BinOp: ${refused}()`, token.offset)
    const fault = syntaxFault('invalid syntax', token.offset)
    return token.kind === 'keyword' ? fault.withHint(wordHint(token.text)) : fault
  }

  #readNested(read: () => Expression): Expression {
    this.#depth += 1
    if (this.#depth > this.#nestingMax) {
      throw limitFault(`the expression is nested deeper than ${this.#nestingMax} levels`, this.#peek().offset)
    }
    const expression = read()
    this.#depth -= 1
    return expression
  }

  #countLink(): void {
    this.#chainLength += 1
    if (this.#chainLength <= this.#nestingMax * chainFactor) return
    throw limitFault(`the expression has more than ${this.#nestingMax * chainFactor} operators`, this.#peek().offset)
  }

  #readExpression(): Expression {
    return this.#readNested(() => this.#readConditional())
  }

  #readConditional(): Expression {
    const then = this.#readLogical('or')
    const { offset } = this.#peek()
    if (!this.#takeIf('if')) return then
    const condition = this.#readLogical('or')
    this.expect('else')
    return { kind: 'conditional', offset, condition, then, otherwise: this.#readExpression() }
  }

  #readLogical(kind: 'or' | 'and'): Expression {
    const read = () => (kind === 'or' ? this.#readLogical('and') : this.#readNot())
    const { offset } = this.#peek()
    const first = read()
    if (!this.#isAt(kind)) return first
    const operands = [first]
    while (this.#takeIf(kind)) operands.push(read())
    return { kind, offset, operands }
  }

  #readNot(): Expression {
    const { offset } = this.#peek()
    if (!this.#takeIf('not')) return this.#readComparison()
    return { kind: 'not', offset, operand: this.#readNested(() => this.#readNot()) }
  }

  #readComparison(): Expression {
    const first = this.#readSum()
    const { offset } = this.#peek()
    const rest: Comparison[] = []
    for (let operator = this.#takeComparison(); operator !== null; operator = this.#takeComparison()) {
      rest.push({ operator, operand: this.#readSum() })
    }
    return rest.length === 0 ? first : { kind: 'compare', offset, first, rest }
  }

  #takeComparison(): ComparisonOperator | null {
    const token = this.#peek()
    if (token.kind === 'operator' && comparisonOperators.has(token.text)) {
      this.#index += 1
      // The set above holds exactly the operators written with signs.
      return token.text as ComparisonOperator
    }
    if (this.#takeIf('in')) return 'in'
    if (this.#isAt('not') && this.#isAt('in', 1)) {
      this.#index += 2
      return 'not in'
    }
    if (!this.#takeIf('is')) return null
    return this.#takeIf('not') ? 'is not' : 'is'
  }

  #readSum(): Expression {
    return this.#readChain(['+', '-'], () => this.#readProduct())
  }

  #readProduct(): Expression {
    return this.#readChain(['*', '/', '//', '%'], () => this.#readUnary())
  }

  #readChain(operators: readonly BinaryOperator[], read: () => Expression): Expression {
    let left = read()
    for (;;) {
      const operator = operators.find((candidate) => this.#isAt(candidate))
      if (operator === undefined) return left
      const { offset } = this.#peek()
      this.#index += 1
      this.#countLink()
      left = { kind: 'binary', offset, operator, left, right: read() }
    }
  }

  #readUnary(): Expression {
    const { offset } = this.#peek()
    if (this.#takeIf('-')) return { kind: 'negate', offset, operand: this.#readNested(() => this.#readUnary()) }
    if (this.#takeIf('+')) return { kind: 'plus', offset, operand: this.#readNested(() => this.#readUnary()) }
    return this.#readPostfix()
  }

  #readPostfix(): Expression {
    let expression = this.#readAtom()
    for (;;) {
      const { offset } = this.#peek()
      if (this.#takeIf('(')) {
        expression = { kind: 'call', offset: expression.offset, callee: expression, arguments: this.#readArguments() }
      } else if (this.#takeIf('[')) {
        expression = this.#readSubscript(expression, offset)
      } else if (this.#takeIf('.')) {
        expression = { kind: 'attribute', offset, object: expression, name: this.#readAttributeName() }
      } else {
        return expression
      }
      this.#countLink()
    }
  }

  #readAttributeName(): string {
    const { offset } = this.#peek()
    const name = this.#expectName()
    if (name.startsWith('_')) throw templateFault(`attribute '${name}' is not allowed`, offset)
    return name
  }

  #readArguments(): readonly Argument[] {
    const list: Argument[] = []
    while (!this.#takeIf(')')) {
      const isKeyword = this.#peek().kind === 'name' && this.#isAt('=', 1)
      const name = isKeyword ? this.#expectName() : null
      if (isKeyword) this.expect('=')
      const isRepeated = name !== null && list.some((argument) => argument.name === name)
      const isMisplaced = name === null && list.some((argument) => argument.name !== null)
      if (isRepeated || isMisplaced) throw this.#invalid()
      list.push({ name, value: this.#readExpression() })
      if (!this.#isAt(')')) this.expect(',')
    }
    return list
  }

  #readSubscript(object: Expression, offset: number): Expression {
    const bounds: (Expression | null)[] = []
    let isSlice = false
    for (;;) {
      const hasBound = !this.#isAt(':') && !this.#isAt(']')
      bounds.push(hasBound ? this.#readExpression() : null)
      if (this.#takeIf(']')) break
      this.expect(':')
      isSlice = true
    }
    const [index] = bounds
    if (isSlice && bounds.length <= 3) return { kind: 'slice', offset, object, bounds }
    if (isSlice || index === undefined || index === null) throw this.#invalid()
    return { kind: 'subscript', offset, object, index }
  }

  #readAtom(): Expression {
    const token = this.#peek()
    const { offset } = token
    switch (token.kind) {
      case 'name':
        this.#index += 1
        return { kind: 'name', offset, name: token.text }
      case 'integer':
        this.#index += 1
        return { kind: 'literal', offset, value: BigInt(token.text) }
      case 'float':
        this.#index += 1
        return { kind: 'literal', offset, value: Number(token.text) }
      case 'string':
        return this.#readStrings()
      case 'keyword':
        return this.#readConstant()
      case 'operator':
        return this.#readBracketed()
      case 'end':
        throw this.#invalid()
    }
  }

  #readStrings(): Expression {
    const { offset } = this.#peek()
    let value = ''
    while (this.#peek().kind === 'string') {
      value += this.#peek().text
      this.#index += 1
    }
    return { kind: 'literal', offset, value }
  }

  #readConstant(): Expression {
    const { offset } = this.#peek()
    if (this.#takeIf('None')) return { kind: 'literal', offset, value: null }
    if (this.#takeIf('True')) return { kind: 'literal', offset, value: true }
    if (this.#takeIf('False')) return { kind: 'literal', offset, value: false }
    throw this.#invalid()
  }

  #readBracketed(): Expression {
    const { offset } = this.#peek()
    if (this.#takeIf('(')) return this.#readParenthesis(offset)
    if (this.#takeIf('[')) return { kind: 'sequence', offset, type: 'list', items: this.#readItems(']') }
    if (this.#takeIf('{')) return this.#readBraces(offset)
    throw this.#invalid()
  }

  #readParenthesis(offset: number): Expression {
    if (this.#takeIf(')')) return { kind: 'sequence', offset, type: 'tuple', items: [] }
    const inner = this.readTuple()
    this.expect(')')
    return inner
  }

  #readItems(closer: string): readonly Expression[] {
    const items: Expression[] = []
    while (!this.#takeIf(closer)) {
      items.push(this.#readExpression())
      if (!this.#isAt(closer)) this.expect(',')
    }
    return items
  }

  #readBraces(offset: number): Expression {
    if (this.#takeIf('}')) return { kind: 'dict', offset, entries: [] }
    const first = this.#readExpression()
    if (!this.#isAt(':')) {
      if (!this.#isAt('}')) this.expect(',')
      return { kind: 'sequence', offset, type: 'set', items: [first, ...this.#readItems('}')] }
    }
    const entries: (readonly [Expression, Expression])[] = []
    let key = first
    for (;;) {
      this.expect(':')
      entries.push([key, this.#readExpression()])
      if (!this.#isAt('}')) this.expect(',')
      if (this.#takeIf('}')) return { kind: 'dict', offset, entries }
      key = this.#readExpression()
    }
  }
}

/** What is said of a word of the language that stands where a name can, as in `{{Date(from)}}`. */
function wordHint(word: string): string {
  return `'${word}' is a word of the template language, and no parameter can be called so: call it '${word}_', for example`
}
