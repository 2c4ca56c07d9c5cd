// What a query costs the engine before it runs. Names, asterisks, common tables and pipes make a plan of millions of
// expressions out of a short text, and the engine cannot be stopped while it plans.
//
// One unit is about what one column or operator of a SELECT costs; measured on two shared cores, 20,000 of them take the
// engine one to seven seconds, whatever they are.
//
// - A common table, a node or a pipe weighs as often as it is read.
// - A query behind IN weighs twice, as the engine plans it twice: one within another by the power of their depth.
// - The name of an expression weighs a part of what it stands for: the engine copies what it has resolved.
// - An asterisk weighs as many columns as it gives, and each APPLY behind it as often.
// - A column that is a tuple of tuples weighs by its elements, also through the names that subqueries give it.
// - Literals weigh next to nothing.

import { isGrowing } from '../schema/functions/bounded-calls.ts'
import { inFunctions } from '../schema/syntax/in-functions.ts'
import type {
  CommonTable,
  FunctionUse,
  NamedExpression,
  ParsedQuery,
  QueryScope,
  SelectedColumn,
  StarUse,
  TableFunctionUse,
  TableRead,
  TokenRange,
} from '../schema/syntax/parsed-query.types.ts'
import type { Token } from '../schema/syntax/token.types.ts'

/** What a query or a table is to whoever reads it. */
export interface Relation {
  /** Units to plan it, each time that it is read. */
  readonly weight: number
  readonly columnCount: number
  /** Elements of the columns that are tuples, by their names. */
  readonly widths: ReadonlyMap<string, number>
  /** Elements of each column without such a name, at most. */
  readonly otherWidth: number
}

/** A table, as it stands in the query. */
export function tableRelation(columnCount: number, weight = 0): Relation {
  return { weight, columnCount, widths: new Map(), otherWidth: 1 }
}

/** What each read of a table gives: a relation, or a common table of the text. */
export type ReadRelations = ReadonlyMap<TableRead, Relation | CommonTable>

/** The most units of one query. */
export const planWeightMax = 20_000

/** What one text of SQL weighs, with all that it reads; above `planWeightMax` it is not exact. */
export function weighQuery(parsed: ParsedQuery, reads: ReadRelations): Relation {
  return new QueryWeigher(parsed, reads).scope(0)
}

const units = {
  select: 5,
  selectedColumn: 0.5,
  /** The engine's work on joins and on long chains of conditions grows with the square of their number. */
  join: 100,
  chained: 5,
  window: 20,
  plansBehindIn: 2,
  literal: 0.01,
  bracket: 0.05,
  /** For each unit behind the name of an expression. */
  copied: 0.05,
  /** For each further element of a tuple. */
  element: 0.01,
  /** A call that makes a large value: it may take a second wherever it stands, as constants are computed in planning. */
  growing: 250,
}

const empty = tableRelation(0)
const oneColumn = tableRelation(1)
const tooDeep = tableRelation(1, Number.POSITIVE_INFINITY)

/** How deep names may stand for each other, in the reverse order of the text. */
const depthMax = 300

/** What one SELECT reads, all together. */
interface Sources extends Omit<Relation, 'weight'> {
  /** Of the table that has the most. */
  readonly columnsMax: number
  /** Beyond one for each column. */
  readonly elements: number
}

class QueryWeigher {
  readonly #parsed: ParsedQuery
  readonly #reads: ReadRelations
  /** What stands at a token, by its index. */
  readonly #scopesAt = new Map<number, number[]>()
  readonly #calls = new Map<number, FunctionUse>()
  readonly #names = new Map<number, TokenRange>()
  readonly #stars = new Map<number, StarUse>()
  readonly #windows: ReadonlySet<number>
  /** Where the second arguments of the functions behind IN begin. */
  readonly #sets: ReadonlySet<number>
  readonly #bodies = new Map<CommonTable, number>()
  readonly #children = new Map<number, number[]>()
  readonly #readsOf = new Map<number, TableRead[]>()
  readonly #functionsOf = new Map<number, TableFunctionUse[]>()
  readonly #sources = new Map<number, Sources>()
  readonly #relations = new Map<number, Relation>()
  readonly #weights = new Map<NamedExpression, number>()
  readonly #widths = new Map<NamedExpression, number>()
  readonly #open = new Set<unknown>()

  constructor(parsed: ParsedQuery, reads: ReadRelations) {
    this.#parsed = parsed
    this.#reads = reads
    for (const [index, { start, parent, definition }] of parsed.scopes.entries()) {
      push(this.#scopesAt, start, index)
      if (definition === null) push(this.#children, parent, index)
      else this.#bodies.set(definition, index)
    }
    for (const call of parsed.calls) if (call.isCalled) this.#calls.set(call.start, call)
    for (const name of parsed.names) this.#names.set(name.start, name)
    for (const star of parsed.stars) this.#stars.set(star.start, star)
    this.#windows = new Set(parsed.windows)
    const behindIn = parsed.calls.filter(({ name }) => inFunctions.has(name.toLowerCase()))
    this.#sets = new Set(behindIn.flatMap(({ arguments: [, second] }) => second?.start ?? []))
    for (const read of parsed.reads) push(this.#readsOf, read.scope, read)
    for (const use of parsed.tableFunctions) push(this.#functionsOf, use.scope, use)
  }

  /** The query whose scope has this index. */
  scope(index: number): Relation {
    const known = this.#relations.get(index)
    const scope = this.#parsed.scopes[index]
    if (known !== undefined) return known
    // A common table that reads itself is planned once.
    if (scope === undefined || this.#open.has(scope)) return empty
    const relation = this.#within(scope, tooDeep, () => this.#measured(scope, index))
    this.#relations.set(index, relation)
    return relation
  }

  #measured(scope: QueryScope, index: number): Relation {
    const { columns, tables, start, end } = scope
    let weight = this.#sum({ start, end }, index) + units.selectedColumn * columns.length
    weight += units.join * Math.max(0, tables.length - 1)
    for (const read of this.#readsOf.get(index) ?? []) {
      weight += this.#readRelation(read).weight * (read.kind === 'in' ? units.plansBehindIn : 1)
    }
    if (columns.length === 0) return { ...this.#unionOf(index), weight }
    return { ...this.#columnsOf(columns, index), weight: weight + units.select }
  }

  /** What the SELECTs of a UNION give. */
  #unionOf(index: number): Relation {
    const queries = (this.#children.get(index) ?? []).map((child) => this.scope(child))
    return {
      weight: 0,
      columnCount: largest(queries.map(({ columnCount }) => columnCount)),
      widths: joinedWidths(queries),
      otherWidth: largest(queries.map(({ otherWidth }) => otherWidth)),
    }
  }

  #columnsOf(columns: readonly SelectedColumn[], index: number): Omit<Relation, 'weight'> {
    let columnCount = 0
    let otherWidth = 1
    const widths = new Map<string, number>()
    for (const column of columns) {
      const star = this.#starIn(column)
      if (star === undefined) {
        const width = this.#width(column, index)
        columnCount += this.#isUntuple(column) ? width : 1
        if (column.name === null) otherWidth = Math.max(otherWidth, width)
        else if (width > 1) widths.set(column.name, width)
        continue
      }
      const sources = this.#sourcesOf(index)
      const tuples = star.applied.filter((range) => this.#makesTuple(range))
      const factor = tuples.reduce((product, range) => product * this.#parameterUses(range), 1)
      columnCount += this.#starColumns(star, index)
      // The names of columns that APPLY gives are not known.
      const most = tuples.length === 0 ? sources.otherWidth : largest([sources.otherWidth, ...sources.widths.values()])
      otherWidth = Math.max(otherWidth, most * factor)
      for (const [name, inner] of sources.widths) widths.set(name, inner)
    }
    return { columnCount, widths, otherWidth }
  }

  /** Whether elements of tuples become columns, all of them at most. */
  #isUntuple({ start, end }: TokenRange): boolean {
    return this.#parsed.tokens.slice(start, end).some(({ key }) => key === 'UNTUPLE')
  }

  #starIn({ start, end }: TokenRange): StarUse | undefined {
    for (let index = start; index < end && index < start + 6; index += 1) {
      const star = this.#stars.get(index)
      if (star !== undefined) return star
    }
    return undefined
  }

  /** What the SELECT reads. */
  #sourcesOf(index: number): Sources {
    const known = this.#sources.get(index)
    if (known !== undefined) return known
    const found: Relation[] = []
    for (const { query } of this.#parsed.scopes[index]?.tables ?? []) if (query >= 0) found.push(this.scope(query))
    for (const read of this.#readsOf.get(index) ?? []) {
      if (read.kind === 'table') found.push(this.#readRelation(read))
    }
    for (const use of this.#functionsOf.get(index) ?? []) {
      found.push(use.query === null ? this.#functionColumns(use) : this.scope(use.query))
    }
    const widths = joinedWidths(found)
    const counts = found.map(({ columnCount }) => columnCount)
    const elements = found.map((one) => one.columnCount * (one.otherWidth - 1) + sum(one.widths.values()))
    const sources = {
      columnCount: sum(counts),
      columnsMax: largest(counts),
      widths,
      otherWidth: largest(found.map(({ otherWidth }) => otherWidth)),
      elements: sum(elements),
    }
    this.#sources.set(index, sources)
    return sources
  }

  #readRelation(read: TableRead): Relation {
    const relation = this.#reads.get(read)
    if (relation === undefined) return read.kind === 'table' ? oneColumn : empty
    if ('weight' in relation) return relation
    return this.scope(this.#bodies.get(relation) ?? -1)
  }

  /** Of a structure text, or of a row. */
  #functionColumns({ arguments: [first] }: TableFunctionUse): Relation {
    if (first === undefined) return oneColumn
    let commas = 0
    for (const { text } of this.#parsed.tokens.slice(first.start, first.end)) commas += text.split(',').length - 1
    return { ...oneColumn, columnCount: 1 + commas }
  }

  /** Units of what stands in a range, without the tables that are read by name in the scope itself. */
  #sum({ start, end }: TokenRange, scope: number, copied = units.copied): number {
    let total = 0
    for (let index = start; index < end; ) {
      const child = this.#childAt(index, scope)
      const inner = child === undefined ? undefined : this.#parsed.scopes[child]
      const star = this.#stars.get(index)
      if (child !== undefined && inner !== undefined) {
        // A common table weighs where it is read.
        // A query in brackets and its first SELECT begin at one token.
        const isOuter = inner.start !== this.#parsed.scopes[scope]?.start
        const plans = isOuter && this.#isBehindIn(inner.start) ? units.plansBehindIn : 1
        if (inner.definition === null) total += this.scope(child).weight * plans
        index = Math.max(inner.end, index + 1)
      } else if (star !== undefined) {
        total += this.#starWeight(star, scope)
        index = star.end
      } else {
        total += this.#own(index, scope, copied)
        index += 1
      }
    }
    return total
  }

  /** Whether a query that begins at a token is the set of an IN, a function like it, or a comparison with ANY or ALL. */
  #isBehindIn(start: number): boolean {
    const { tokens } = this.#parsed
    let before = start - 1
    while (tokens[before]?.key === '(' && !this.#sets.has(before)) before -= 1
    if (this.#sets.has(start) || this.#sets.has(before)) return true
    const key = tokens[before]?.key ?? ''
    return key === 'IN' || (quantifiers.has(key) && comparisons.has(tokens[before - 1]?.key ?? ''))
  }

  /** The outermost scope that begins at a token inside of another one. */
  #childAt(index: number, scope: number): number | undefined {
    return this.#scopesAt.get(index)?.find((child) => child > scope)
  }

  #own(index: number, scope: number, copied: number): number {
    const name = this.#names.get(index)
    if (name !== undefined) return this.#nameWeight(name, scope, copied)
    const call = this.#calls.get(index)
    if (call !== undefined) return this.#callWeight(call, scope, copied)
    return (this.#windows.has(index) ? units.window : 0) + tokenWeight(this.#parsed.tokens, index)
  }

  #callWeight(call: FunctionUse, scope: number, copied: number): number {
    const { name, arguments: given } = call
    const key = name.toUpperCase()
    if (key === 'AND' || key === 'OR') return units.chained * given.length
    if (isGrowing(name) && !this.#isSmall(call)) return units.growing
    const lambda = this.#alias(name, call.start, scope)
    return 1 + (lambda?.named.isLambda === true ? copied * this.#aliasWeight(lambda) : 0)
  }

  /** Whether the size of what a call makes is a small number in the query: `range(24)`, `leftPad(x, 2, '0')`. */
  #isSmall({ name, arguments: given }: FunctionUse): boolean {
    const { tokens } = this.#parsed
    const isSmallNumber = ({ start, end }: TokenRange): boolean =>
      end === start + 1 && tokens[start]?.kind === 'number' && Number(tokens[start]?.text) <= sizeFree
    return name.toLowerCase() === 'range' ? given.every(isSmallNumber) : given.some(isSmallNumber)
  }

  #nameWeight(name: TokenRange, scope: number, copied: number): number {
    const alias = this.#alias(this.#text(name), name.start, scope)
    const width = units.element * (this.#nameWidth(name, scope) - 1)
    return 1 + width + (alias === undefined ? 0 : copied * this.#aliasWeight(alias))
  }

  #text({ start, end }: TokenRange): string {
    return end === start + 1 ? (this.#parsed.tokens[start]?.name ?? '') : ''
  }

  /** The expression that a name stands for; none within that expression itself, where it is a column. */
  #alias(name: string, at: number, from: number): Alias | undefined {
    const { scopes } = this.#parsed
    for (let index = from; ; index = scopes[index]?.parent ?? -1) {
      const scope = scopes[index]
      if (scope === undefined) return undefined
      const named = scope.aliases.get(name)
      if (named === undefined) continue
      const isWithin = this.#open.has(named) || (at >= named.start && at < named.end)
      return isWithin ? undefined : { named, scope: index }
    }
  }

  /** Units of an expression with all that its names stand for. */
  #aliasWeight({ named, scope }: Alias): number {
    const known = this.#weights.get(named)
    if (known !== undefined) return known
    const weight = this.#within(named, Number.POSITIVE_INFINITY, () => this.#sum(named, scope, 1))
    this.#weights.set(named, weight)
    return weight
  }

  #starWeight(star: StarUse, scope: number): number {
    const { start, end, applied } = star
    const columnCount = this.#starColumns(star, scope)
    // What one column costs, and how much of it there is when each APPLY stands for its parameter in the next.
    let perColumn = 1
    let copies = 0
    let total = 0
    let from = start + 1
    for (const range of applied) {
      const own = this.#sum(range, scope)
      total += this.#sum({ start: from, end: range.start }, scope)
      perColumn += own
      copies = copies * this.#parameterUses(range) + own
      from = range.end
    }
    total += this.#sum({ start: from, end }, scope)
    perColumn += units.copied * copies
    return total + columnCount * perColumn + units.element * this.#sourcesOf(scope).elements
  }

  #starColumns({ isQualified }: StarUse, scope: number): number {
    const { columnCount, columnsMax, widths, otherWidth } = this.#sourcesOf(scope)
    // Of one of the tables, or of a tuple.
    return isQualified ? largest([columnsMax, otherWidth, ...widths.values()]) : columnCount
  }

  /** How often the lambda of an APPLY names the column. */
  #parameterUses({ start, end }: TokenRange): number {
    const tokens = this.#parsed.tokens.slice(start, end)
    const arrow = tokens.findIndex(({ key }) => key === '->')
    const parameter = tokens.slice(0, Math.max(arrow, 0)).find(({ kind }) => kind !== 'symbol')?.name
    if (parameter === undefined) return 1
    return Math.max(1, tokens.slice(arrow).filter(({ kind, name }) => kind !== 'symbol' && name === parameter).length)
  }

  #nameWidth(name: TokenRange, scope: number): number {
    const alias = this.#alias(this.#text(name), name.start, scope)
    if (alias !== undefined) return this.#aliasWidth(alias)
    const column = this.#parsed.tokens[name.end - 1]?.name ?? ''
    const { widths, otherWidth } = this.#sourcesOf(scope)
    return widths.get(column) ?? otherWidth
  }

  #aliasWidth({ named, scope }: Alias): number {
    const known = this.#widths.get(named)
    if (known !== undefined) return known
    const width = this.#within(named, Number.POSITIVE_INFINITY, () => this.#width(named, scope))
    this.#widths.set(named, width)
    return width
  }

  /** Elements of what an expression gives: those of all that a tuple is made of, else of the largest that it names. */
  #width(range: TokenRange, scope: number): number {
    const isTuple = this.#makesTuple(range)
    let width = isTuple ? 0 : 1
    for (let index = range.start; index < range.end; index += 1) {
      const name = this.#names.get(index)
      if (name === undefined || this.#stars.has(index)) continue
      const one = this.#nameWidth(name, scope)
      width = isTuple ? width + one : Math.max(width, one)
    }
    return Math.max(1, width)
  }

  #makesTuple({ start, end }: TokenRange): boolean {
    const { tokens } = this.#parsed
    let isInBracket = false
    for (let index = start; index < end; index += 1) {
      const call = this.#calls.get(index)
      if (call !== undefined && tupleMaking.test(call.name)) return true
      const key = tokens[index]?.key
      if (key === '(' && isBracketAlone(tokens[index - 1])) isInBracket = true
      if (key === ',' && isInBracket) return true
    }
    return false
  }

  /** Runs what may come back to `thing`; `otherwise` when it is too deep within others. */
  #within<Value>(thing: unknown, otherwise: Value, measure: () => Value): Value {
    if (this.#open.size > depthMax) return otherwise
    this.#open.add(thing)
    const value = measure()
    this.#open.delete(thing)
    return value
  }
}

interface Alias {
  readonly named: NamedExpression
  readonly scope: number
}

const sizeFree = 100
const quantifiers: ReadonlySet<string> = new Set(['ANY', 'ALL'])
const comparisons: ReadonlySet<string> = new Set(['=', '==', '!=', '<>', '<', '>', '<=', '>='])
const tupleMaking = /tuple|zip|^map|state$/i
const beforeTuple: ReadonlySet<string> = new Set(['', 'AS', 'SELECT', 'DISTINCT', 'THEN', 'ELSE', 'WHEN', 'BY'])

/** False for the bracket of a call, and for the list behind IN. */
function isBracketAlone(before: Token | undefined): boolean {
  if (before === undefined || before.kind === 'symbol') return before?.key !== ')'
  return before.kind === 'word' && beforeTuple.has(before.key)
}

const chaining: ReadonlySet<string> = new Set(['AND', 'OR'])
const operators: ReadonlySet<string> = new Set(
  `+ - * / % = == != <> < > <= >= <=> || ? :: DIV MOD LIKE ILIKE REGEXP IN BETWEEN NOT IS CASE WHEN`.split(/\s+/),
)

/** Units of a token that is neither name, call nor asterisk. */
function tokenWeight(tokens: readonly Token[], index: number): number {
  const token = tokens[index]
  if (token === undefined) return 0
  const { kind, key } = token
  if (kind === 'number' || kind === 'string') return units.literal
  if (chaining.has(key)) return units.chained
  if (key === '(' || key === '[') return isSubscript(tokens, index) ? 1 : units.bracket
  if (!operators.has(key)) return 0
  return isSign(tokens, index) ? units.literal : 1
}

function isSubscript(tokens: readonly Token[], index: number): boolean {
  const before = tokens[index - 1]
  if (tokens[index]?.key !== '[' || before === undefined) return false
  return before.kind !== 'symbol' || before.key === ')' || before.key === ']'
}

/** `-1` behind a bracket or a comma. */
function isSign(tokens: readonly Token[], index: number): boolean {
  const before = tokens[index - 1]?.key ?? ''
  return tokens[index + 1]?.kind === 'number' && (before === '(' || before === '[' || before === ',')
}

/** At least one. */
function largest(values: Iterable<number>): number {
  let found = 1
  for (const value of values) found = Math.max(found, value)
  return found
}

function sum(values: Iterable<number>): number {
  let total = 0
  for (const value of values) total += value
  return total
}

function joinedWidths(relations: readonly Relation[]): ReadonlyMap<string, number> {
  const widths = new Map<string, number>()
  for (const relation of relations) {
    for (const [name, width] of relation.widths) widths.set(name, Math.max(width, widths.get(name) ?? 0))
  }
  return widths
}

function push<Key, Value>(map: Map<Key, Value[]>, key: Key, value: Value): void {
  const known = map.get(key)
  if (known === undefined) map.set(key, [value])
  else known.push(value)
}
