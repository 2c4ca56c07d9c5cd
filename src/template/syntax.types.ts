// The syntax tree. Offsets are UTF-16 units of the source.

export type BinaryOperator = '+' | '-' | '*' | '/' | '//' | '%'
export type ComparisonOperator = '==' | '!=' | '<' | '<=' | '>' | '>=' | 'in' | 'not in' | 'is' | 'is not'

export interface Argument {
  /** Null for a positional argument. */
  readonly name: string | null
  readonly value: Expression
}

export interface CallExpression {
  readonly kind: 'call'
  readonly offset: number
  readonly callee: Expression
  readonly arguments: readonly Argument[]
}

export type Expression =
  | { readonly kind: 'literal'; readonly offset: number; readonly value: null | boolean | bigint | number | string }
  | { readonly kind: 'name'; readonly offset: number; readonly name: string }
  | {
      readonly kind: 'sequence'
      readonly offset: number
      readonly type: 'list' | 'tuple' | 'set'
      readonly items: readonly Expression[]
    }
  | { readonly kind: 'dict'; readonly offset: number; readonly entries: readonly (readonly [Expression, Expression])[] }
  | { readonly kind: 'negate' | 'plus' | 'not'; readonly offset: number; readonly operand: Expression }
  | { readonly kind: 'and' | 'or'; readonly offset: number; readonly operands: readonly Expression[] }
  | {
      readonly kind: 'binary'
      readonly offset: number
      readonly operator: BinaryOperator
      readonly left: Expression
      readonly right: Expression
    }
  | {
      readonly kind: 'compare'
      readonly offset: number
      readonly first: Expression
      readonly rest: readonly Comparison[]
    }
  | {
      readonly kind: 'conditional'
      readonly offset: number
      readonly condition: Expression
      readonly then: Expression
      readonly otherwise: Expression
    }
  | { readonly kind: 'attribute'; readonly offset: number; readonly object: Expression; readonly name: string }
  | { readonly kind: 'subscript'; readonly offset: number; readonly object: Expression; readonly index: Expression }
  | {
      readonly kind: 'slice'
      readonly offset: number
      readonly object: Expression
      readonly bounds: readonly (Expression | null)[]
    }
  | CallExpression

export interface Comparison {
  readonly operator: ComparisonOperator
  readonly operand: Expression
}

export interface Branch {
  readonly condition: Expression
  /** The condition as it was written. */
  readonly source: string
  readonly body: readonly Statement[]
}

export type Statement =
  | { readonly kind: 'text'; readonly text: string; readonly offset: number }
  | { readonly kind: 'print'; readonly offset: number; readonly source: string; readonly value: Expression }
  | { readonly kind: 'if'; readonly branches: readonly Branch[]; readonly otherwise: readonly Statement[] }
  | {
      readonly kind: 'for'
      readonly offset: number
      readonly targets: readonly string[]
      readonly items: Expression
      readonly body: readonly Statement[]
      readonly otherwise: readonly Statement[]
    }
  | {
      readonly kind: 'while'
      readonly offset: number
      readonly condition: Expression
      readonly body: readonly Statement[]
      readonly otherwise: readonly Statement[]
    }
  | { readonly kind: 'break' | 'continue' }
  | { readonly kind: 'set'; readonly offset: number; readonly targets: readonly string[]; readonly value: Expression }
  | {
      readonly kind: 'try'
      readonly body: readonly Statement[]
      readonly handlers: readonly ExceptHandler[]
      readonly otherwise: readonly Statement[]
      readonly last: readonly Statement[]
    }

export interface ExceptHandler {
  /** The name after `as`, or null. */
  readonly variable: string | null
  readonly body: readonly Statement[]
}
