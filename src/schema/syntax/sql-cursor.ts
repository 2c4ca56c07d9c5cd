// Where a parser stands in the tokens of one text, and what it has found so far.
//
// Parsers never go back: each token is taken once, and a look ahead is bounded, so the work is linear in the length of the
// text whatever that is. The budget of steps holds them to it.

import { beginningOf } from '../../shared/beginning-of.ts'
import { nestingMax } from './bracket-pairs.ts'
import { caseEnds, IntervalReader } from './keyword-names.ts'
import type {
  NamedExpression,
  QueryScope,
  SettingUse,
  StarUse,
  TableFunctionUse,
  TableRead,
  TokenRange,
} from './parsed-query.types.ts'
import { SqlFault } from './sql-fault.ts'
import type { Token } from './token.types.ts'

// A bracket takes up to three levels.
const depthMax = 3 * nestingMax + 10

const noToken: Token = { kind: 'symbol', text: '', name: '', key: '', offset: -1, isSpaced: false }

/** The parsers that expressions call, which call them in turn. */
export interface Grammar {
  /** Takes a query, up to the bracket that closes it; `definition` is the common table whose body it is. */
  readonly parseQuery: (cursor: SqlCursor, definition: QueryScope['definition']) => void
  /** Takes the arguments of a call, from the bracket on; its name begins at `start`. */
  readonly parseCall: (cursor: SqlCursor, start: number) => void
}

export interface BracketedTokens {
  readonly sql: string
  readonly tokens: readonly Token[]
  /** For each opening bracket the closing one. */
  readonly brackets: ReadonlyMap<number, number>
}

/** A `FunctionUse` whose arguments are being read. */
export interface OpenCall {
  readonly name: string
  readonly scope: number
  readonly isCalled: boolean
  readonly start: number
  arguments: TokenRange[]
  parameters: TokenRange[]
}

export class SqlCursor {
  readonly tokens: readonly Token[]
  readonly brackets: ReadonlyMap<number, number>
  readonly parseQuery: Grammar['parseQuery']
  readonly parseCall: Grammar['parseCall']
  readonly scopes: QueryScope[] = []
  readonly reads: TableRead[] = []
  readonly calls: OpenCall[] = []
  readonly settings: SettingUse[] = []
  readonly tableFunctions: TableFunctionUse[] = []
  readonly constants = new Map<string, number | null>()
  readonly names: TokenRange[] = []
  readonly patterns: TokenRange[] = []
  readonly stars: StarUse[] = []
  readonly windows: number[] = []
  /** Names of the parameters of lambdas around the place, innermost last. */
  readonly lambdas: (readonly string[])[] = []
  /** The expression that was taken last, without its alias. */
  expression: TokenRange = { start: 0, end: 0 }
  /** The alias of the expression that was taken last; null when it has none. */
  alias: string | null = null
  index = 0
  /** The scope that the place is in. */
  scope = -1
  /** The last SETTINGS that were taken, and how many settings stood before. */
  settingsClause: (TokenRange & { readonly countBefore: number }) | null = null
  #cases: ReadonlyMap<number, number> | null = null
  #intervals: IntervalReader | null = null
  readonly #endOffset: number
  #depth = 0
  #stepsLeft: number

  constructor({ sql, tokens, brackets }: BracketedTokens, { parseQuery, parseCall }: Grammar) {
    this.parseQuery = parseQuery
    this.parseCall = parseCall
    this.tokens = tokens
    this.brackets = brackets
    this.#endOffset = sql.length
    this.#stepsLeft = 12 * tokens.length + 1000
  }

  get isAtEnd(): boolean {
    return this.index >= this.tokens.length
  }

  /** Whether the CASE at the place begins an expression; else it is a name. */
  get isCase(): boolean {
    return this.#caseEnds.has(this.index)
  }

  /** The same of an INTERVAL. */
  get isInterval(): boolean {
    const { tokens, brackets } = this
    this.#intervals ??= new IntervalReader(tokens, { brackets, cases: this.#caseEnds })
    return this.#intervals.isInterval(this.index)
  }

  get #caseEnds(): ReadonlyMap<number, number> {
    this.#cases ??= caseEnds(this.tokens)
    return this.#cases
  }

  /** The token at the place, or so many behind it; a symbol without text beyond the end. */
  peek(ahead = 0): Token {
    this.#stepsLeft -= 1
    return this.tokens[this.index + ahead] ?? noToken
  }

  /** True when the token at the place, or so many behind it, is this symbol or keyword. */
  is(key: string, ahead = 0): boolean {
    return (this.tokens[this.index + ahead]?.key ?? '') === key
  }

  /** Takes the symbol or keyword if it stands here. */
  take(key: string): boolean {
    if (!this.is(key)) return false
    this.index += 1
    return true
  }

  expect(key: string): void {
    if (!this.take(key)) this.refuse(`expected ${key}`)
  }

  /** Takes a word or a quoted name, whatever it says. */
  takeName(what: string): string {
    const token = this.peek()
    if (token.kind !== 'word' && token.kind !== 'quotedName') this.refuse(`expected ${what}`)
    this.index += 1
    return token.name
  }

  /** Goes one level down; every recursion of a parser passes here, or a bracket. */
  descend(): void {
    this.#depth += 1
    if (this.#depth > depthMax) throw new SqlFault('The query is nested too deeply')
    if (this.#stepsLeft < 0) throw new SqlFault('The query is too complex to parse')
  }

  ascend(): void {
    this.#depth -= 1
  }

  /** Opens a scope inside `parent` and gives its index; the caller sets `scope`, and closes it. */
  openScope(parent: number, definition: QueryScope['definition'] = null): number {
    const { index } = this
    const names = { commonTables: [], aliases: new Map<string, NamedExpression>() }
    const clauses = { columns: [], tables: [], prewhere: null, where: null }
    this.scopes.push({ start: index, end: this.tokens.length, parent, definition, ...names, ...clauses })
    return this.scopes.length - 1
  }

  /** Notes that the text of a scope ends before the place. */
  closeScope(scope: number): void {
    const closed = this.scopes[scope]
    if (closed !== undefined) closed.end = this.index
  }

  /** Notes a function whose name begins at `start`. */
  call(name: string, start: number, isCalled = true): OpenCall {
    const call = { name, scope: this.scope, isCalled, start, arguments: [], parameters: [] }
    this.calls.push(call)
    return call
  }

  /** Notes a name that is given to the expression in the range, which is a lambda or is none. */
  nameExpression(name: string, { start, end }: TokenRange, isLambda: boolean): void {
    this.scopes[this.scope]?.aliases.set(name, { start, end, isLambda })
    const string = loneString(this.tokens, { start, end })
    const isOnly = !this.constants.has(name)
    this.constants.set(name, isOnly ? string : null)
  }

  /** Refuses the token at the place. */
  refuse(reason: string): never {
    const token = this.tokens[this.index]
    const found = token === undefined ? 'the end of the query' : `"${beginningOf(token.text, 40)}"`
    throw new SqlFault(`${reason}, found ${found}`, { offset: token?.offset ?? this.#endOffset })
  }
}

/** The index of the string that is all that stands in the range but for brackets around it; null for anything else. */
export function loneString(tokens: readonly Token[], { start, end }: TokenRange): number | null {
  const middle = (start + end - 1) / 2
  if (tokens[middle]?.kind !== 'string') return null
  for (let index = start; index < middle; index += 1) if (tokens[index]?.key !== '(') return null
  return middle
}
