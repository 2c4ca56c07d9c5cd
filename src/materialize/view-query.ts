// What a SELECT is as a view: whose rows it sees, what it keeps of them, and what of it means something else there.
//
// The engine runs a view over one block of the first table that its query reads, wherever that stands: behind FROM of the
// outermost SELECT, of the subquery there, of the common table there. All else it reads as it is at that moment.

import type { CheckedQuery } from '../schema/expressions/checked-text.types.ts'
import { isAllowedAggregate } from '../schema/functions/function-policy.ts'
import type { ParsedQuery, QueryScope, TableRead, TokenRange } from '../schema/syntax/parsed-query.types.ts'
import { assert } from '../shared/assert.ts'
import type { OtherResource } from '../shared/errors/definition.ts'
import { isFickleFunction, timeFunctions } from '../sql/fickle-functions.ts'
import { parseStatement } from '../sql/parse-statement.ts'
import { findCommonTable } from '../sql/scope-lookup.ts'

export interface ViewQuery {
  /** The name of the table whose blocks it sees. */
  readonly source: string
  /** The names of all other tables that it reads, each once. */
  readonly others: readonly string[]
  /** Names of what it gives that come of no aggregate, those that it groups by first and in that order. */
  readonly keys: readonly string[]
  /** Names of all that the outermost SELECT groups by; null where it does not, gives not all of that, or gives totals too. */
  readonly groups: readonly string[] | null
  /** Whether the outermost SELECT aggregates rows. */
  readonly isGrouped: boolean
  /**
   * Whether it gives a row for a group, or fewer: those of a GROUP BY on the way of its rows, which nothing multiplies behind that. Then
   * it reads nothing else, and holds no rows.
   */
  readonly givesGroups: boolean
  /** Sentences about what means something else in a view. */
  readonly warnings: readonly string[]
  /** Why all rows together give something else than its blocks do; clauses. */
  readonly blockwise: readonly string[]
  /** Whether it makes the same rows of a block whenever it is run. */
  readonly isSteady: boolean
  /** All aggregate functions that it calls, in lower case. */
  readonly aggregateNames: ReadonlySet<string>
  /** Names of what comes of aggregates, with the function where it is nothing but a call of one, in lower case. */
  readonly aggregates: ReadonlyMap<string, string | null>
}

/** Why a SELECT cannot be a view, as a clause that goes on a sentence about it. */
export class ViewQueryFault extends Error {
  override readonly name = 'ViewQueryFault'
  /** What it names beside what stands in the query. */
  readonly others: readonly OtherResource[]

  constructor(reason: string, { others = [], ...options }: FaultOptions = {}) {
    super(reason, options)
    this.others = others
  }
}

interface FaultOptions extends ErrorOptions {
  readonly others?: readonly OtherResource[]
}

/** A set operation on the way of its rows. */
class UnionFault extends ViewQueryFault {
  /** Its scope. */
  readonly union: number

  constructor(union: number) {
    super('it reads its rows through UNION, INTERSECT or EXCEPT, and a view sees those of the first SELECT alone')
    this.union = union
  }
}

/** The scope of the outermost set operation through which a query reads its rows; null where there is none, or where it reads none. */
export function unionOnTheWay(parsed: ParsedQuery): number | null {
  try {
    triggerOf(parsed, 0, [])
    return null
  } catch (thrown) {
    if (thrown instanceof UnionFault) return thrown.union
    // Whatever else is wrong is told of each of its views.
    if (thrown instanceof ViewQueryFault) return null
    throw thrown
  }
}

/** The set operators between the SELECTs of a query, those in its brackets left out. */
export function setOperatorsIn(parsed: ParsedQuery, range: TokenRange): readonly PlacedWord[] {
  return wordsAt(parsed, range).filter(({ key }) => key === 'UNION' || key === 'INTERSECT' || key === 'EXCEPT')
}

/**
 * @param sql a whole query, each of whose tables is qualified.
 * @throws ViewQueryFault when it sees no rows of a table, or not all that it reads like that.
 */
export function readViewQuery(sql: CheckedQuery): ViewQuery {
  const parsed = parseStatement(sql)
  assert(parsed !== null, 'a checked query has tokens')
  const path: number[] = []
  const read = triggerOf(parsed, 0, path)
  const source = tableOf(read)
  assert(source !== null, 'a trigger is a table')
  const others = new Set(parsed.reads.flatMap((other) => tableOf(other) ?? []))
  others.delete(source)
  const outermost = selectIn(parsed, path)
  return {
    source,
    others: [...others],
    keys: keysOf(parsed, outermost),
    groups: groupsOf(parsed, path, outermost),
    isGrouped: isGrouped(parsed, outermost),
    givesGroups: givesGroups(parsed, path),
    warnings: warningsOf(parsed, { path, source, read }),
    blockwise: blockwiseOf(parsed, { path, source, read }, outermost),
    isSteady: others.size === 0 && isSteady(parsed, { path, source, read }),
    aggregateNames: new Set(parsed.calls.flatMap(({ name }) => (isAllowedAggregate(name) ? [name.toLowerCase()] : []))),
    aggregates: aggregatesOf(parsed, outermost),
  }
}

/** The unqualified name of a table; null for a common table, and for a column that may stand behind IN. */
function tableOf({ parts }: Pick<TableRead, 'parts'>): string | null {
  return parts?.length === 2 ? (parts[1] ?? null) : null
}

/** @param path gets the scopes of the SELECTs that the rows pass, outermost first. */
function triggerOf(parsed: ParsedQuery, union: number, path: number[]): TableRead {
  const scope = parsed.scopes[union]
  assert(scope !== undefined, 'a query has a scope')
  if (setOperatorsIn(parsed, scope).length > 0) throw new UnionFault(union)
  const select = parsed.scopes.findIndex(({ parent, columns }) => parent === union && columns.length > 0)
  if (select < 0) return triggerOf(parsed, innerQuery(parsed, union), path)
  path.push(select)
  return firstTable(parsed, select, path)
}

/** The query in brackets that is all of another one. */
function innerQuery({ scopes }: ParsedQuery, union: number): number {
  const inner = scopes.findLastIndex(({ parent, definition }) => parent === union && definition === null)
  assert(inner > union, 'what is no SELECT is one in brackets')
  return inner
}

function firstTable(parsed: ParsedQuery, select: number, path: number[]): TableRead {
  const { scopes, reads, tableFunctions } = parsed
  const [first] = scopes[select]?.tables ?? []
  if (first === undefined) throw new ViewQueryFault('it reads no Data Source, so no row would ever come to it')
  if (first.query >= 0) return triggerOf(parsed, first.query, path)
  const isHere = ({ scope }: { readonly scope: number }): boolean => scope === select
  const read = reads.find((one) => isHere(one) && one.kind === 'table')
  const called = tableFunctions.find(isHere)
  if (read === undefined || (called !== undefined && called.start < read.start)) {
    const reason = `it reads ${called?.name ?? 'no Data Source'}() first, and a view sees the rows of a Data Source; put that after FROM, and the other after JOIN`
    throw new ViewQueryFault(reason)
  }
  const [name = ''] = read.parts ?? []
  if (read.parts?.length !== 1) return read
  const common = findCommonTable(scopes, select, name)
  if (common === undefined) throw new ViewQueryFault(`it reads '${name}' first, which is no Data Source`)
  if (common.isRecursive) throw new ViewQueryFault(`it reads '${name}' first, which is recursive`)
  return triggerOf(parsed, bodyOf(parsed, common), path)
}

function bodyOf({ scopes }: ParsedQuery, common: QueryScope['definition']): number {
  const body = scopes.findIndex(({ definition }) => definition === common)
  assert(body >= 0, 'a common table has a body')
  return body
}

export interface PlacedWord {
  readonly key: string
  readonly index: number
}

/** The words of a query that stand in none of its brackets. */
function wordsAt({ tokens }: ParsedQuery, { start, end }: TokenRange): readonly PlacedWord[] {
  const words: PlacedWord[] = []
  let depth = 0
  for (let index = start; index < end; index += 1) {
    const { key = '', kind } = tokens[index] ?? {}
    if (key === '(' || key === '[' || key === '{') depth += 1
    else if (key === ')' || key === ']' || key === '}') depth -= 1
    // What EXCEPT takes away of an asterisk stands in brackets, or is a name.
    else if (depth === 0 && kind === 'word' && !isOfStar(tokens, index)) words.push({ key, index })
  }
  return words
}

function isOfStar(tokens: ParsedQuery['tokens'], index: number): boolean {
  const { key } = tokens[index] ?? {}
  if (key !== 'EXCEPT') return false
  const next = tokens[index + 1]
  const isQuery = next?.key === 'SELECT' || next?.key === 'WITH' || next?.key === 'ALL' || next?.key === 'DISTINCT'
  return !isQuery && !(next?.key === '(' && tokens[index + 2]?.key === 'SELECT')
}

/** The first SELECT on the way that does more than to give all of another one. */
function selectIn({ scopes, tokens }: ParsedQuery, path: readonly number[]): QueryScope {
  const chosen = path.find((index) => {
    const [column, ...others] = scopes[index]?.columns ?? []
    return column === undefined || others.length > 0 || tokens[column.start]?.key !== '*'
  })
  const scope = scopes[chosen ?? path[0] ?? -1]
  assert(scope !== undefined, 'a query has a SELECT')
  return scope
}

function isGrouped(parsed: ParsedQuery, scope: QueryScope): boolean {
  return groupRange(parsed, scope) !== null || scope.columns.some((column) => hasAggregate(parsed, column))
}

function givesGroups(parsed: ParsedQuery, path: readonly number[]): boolean {
  if (parsed.reads.length > 1 || parsed.tableFunctions.length > 0) return false
  // Both hold what they have seen of the rows.
  if (parsed.tokens.some(({ key }) => key === 'DISTINCT' || key === 'ORDER')) return false
  for (const [at, index] of path.entries()) {
    const scope = parsed.scopes[index]
    assert(scope !== undefined, 'a way has scopes')
    const below = path.slice(at + 1)
    const isOfGroups = groupRange(parsed, scope) !== null
    const hasJoin = wordsAt(parsed, scope).some(({ key }) => key === 'JOIN')
    // An array that is unfolded may be one of a group, whose rows are as many as those that were read.
    const unfolds = parsed.calls.some(
      (call) => !below.includes(call.scope) && /^(?:arrayJoin|unnest)$/i.test(call.name),
    )
    if (unfolds || (hasJoin && !isOfGroups)) return false
    if (isOfGroups) return true
  }
  return false
}

/** Whether an aggregate function stands in the range that has no window and is of no subquery there. */
function hasAggregate({ calls, scopes, tokens }: ParsedQuery, { start, end }: TokenRange): boolean {
  return calls.some(({ name, isCalled, start: at, scope }) => {
    if (!isCalled || at < start || at >= end || !isAllowedAggregate(name)) return false
    const inner = scopes[scope]
    const isOfSubquery = inner !== undefined && inner.start > start && inner.end <= end
    return !isOfSubquery && !isWindowed(tokens, at)
  })
}

function isWindowed(tokens: ParsedQuery['tokens'], start: number): boolean {
  let depth = 0
  for (let index = start + 1; index < tokens.length; index += 1) {
    const key = tokens[index]?.key ?? ''
    if (key === '(') depth += 1
    else if (key === ')') depth -= 1
    if (depth < 0) return false
    if (depth === 0 && tokens[index + 1]?.key !== '(') return tokens[index + 1]?.key === 'OVER'
  }
  return false
}

const groupEnds: ReadonlySet<string> = new Set(
  'WITH HAVING WINDOW QUALIFY ORDER LIMIT OFFSET FETCH SETTINGS'.split(' '),
)

/** What stands behind GROUP BY. */
function groupRange(parsed: ParsedQuery, scope: QueryScope): TokenRange | null {
  const words = wordsAt(parsed, scope)
  const group = words.find(({ key, index }) => key === 'GROUP' && parsed.tokens[index + 1]?.key === 'BY')
  if (group === undefined) return null
  const end = words.find(({ key, index }) => index > group.index + 1 && groupEnds.has(key))
  return { start: group.index + 2, end: end?.index ?? scope.end }
}

function keysOf(parsed: ParsedQuery, scope: QueryScope): readonly string[] {
  const plain = scope.columns.filter((column) => !hasAggregate(parsed, column))
  const range = groupRange(parsed, scope)
  const grouped = range === null ? [] : itemsIn(parsed, range).flatMap((item) => nameOf(parsed, scope, item) ?? [])
  const names = plain.flatMap(({ name }) => name ?? [])
  return [...new Set([...grouped.filter((name) => names.includes(name)), ...names])]
}

function groupsOf(parsed: ParsedQuery, path: readonly number[], scope: QueryScope): readonly string[] | null {
  const range = groupRange(parsed, scope)
  if (range === null || parsed.tokens[range.end]?.key === 'WITH') return null
  const scopes = path.flatMap((index) => parsed.scopes[index] ?? [])
  const outer = scopes.slice(0, scopes.indexOf(scope))
  // Others leave columns out, or put something else in their place.
  if (!outer.every(({ columns: [column] }) => column !== undefined && column.end - column.start === 1)) return null
  const keys = keysOf(parsed, scope)
  const names: string[] = []
  for (const item of itemsIn(parsed, range)) {
    const name = nameOf(parsed, scope, item)
    if (name === null || !keys.includes(name) || parsed.tokens[item.start]?.key === 'ALL') return null
    names.push(name)
  }
  return names
}

function itemsIn({ tokens }: ParsedQuery, { start, end }: TokenRange): readonly TokenRange[] {
  const items: TokenRange[] = []
  let depth = 0
  let from = start
  for (let index = start; index < end; index += 1) {
    const key = tokens[index]?.key ?? ''
    if (key === '(' || key === '[') depth += 1
    else if (key === ')' || key === ']') depth -= 1
    if (key !== ',' || depth > 0) continue
    items.push({ start: from, end: index })
    from = index + 1
  }
  return [...items, { start: from, end }]
}

/** The column that an item of GROUP BY is: by its name, its number, or the same expression. */
function nameOf({ tokens }: ParsedQuery, { columns }: QueryScope, { start, end }: TokenRange): string | null {
  const last = tokens[end - 1]
  const number = end - start === 1 && last?.kind === 'number' ? Number(last.text) : 0
  if (number > 0) return columns[number - 1]?.name ?? null
  const text = textOf(tokens, { start, end })
  const same = columns.find(
    (column) => textOf(tokens, column) === text || textOf(tokens, column).startsWith(`${text} AS `),
  )
  return same?.name ?? (end - start === 1 ? (last?.name ?? null) : null)
}

function textOf(tokens: ParsedQuery['tokens'], { start, end }: TokenRange): string {
  return tokens
    .slice(start, end)
    .map(({ kind, key, text, name }) => (kind === 'word' && key === 'AS' ? 'AS' : kind === 'quotedName' ? name : text))
    .join(' ')
}

interface Seen {
  readonly path: readonly number[]
  readonly source: string
  readonly read: TableRead
}

const times: ReadonlySet<string> = new Set(timeFunctions)

function factsOf(parsed: ParsedQuery, { path, source }: Seen) {
  const { scopes, calls, reads } = parsed
  const words = path.flatMap((index) => wordsAt(parsed, scopes[index] ?? { start: 0, end: 0 }))
  const has = (key: string): boolean => words.some((word) => word.key === key)
  const names = calls.filter(({ isCalled }) => isCalled).map(({ name }) => name)
  const fickle = names.find(isFickleFunction)
  const time = names.find((name) => times.has(name.toLowerCase()))
  const ownReads = reads.filter((one) => tableOf(one) === source)
  return { has, fickle, time, ownReads }
}

function warningsOf(parsed: ParsedQuery, seen: Seen): readonly string[] {
  const { scopes, windows } = parsed
  const { path, read } = seen
  const { has, fickle, time, ownReads } = factsOf(parsed, seen)
  const joined = path.some((index) => (scopes[index]?.tables.length ?? 0) > 1)
  const warnings: readonly (readonly [boolean, string])[] = [
    [has('ORDER'), 'ORDER BY sorts the rows of each block alone; a Data Source keeps its rows by its sorting key'],
    [has('LIMIT') || has('OFFSET'), 'LIMIT counts the rows of each block alone, not those of the Data Source'],
    [
      has('DISTINCT'),
      'DISTINCT compares the rows of each block alone; use ReplacingMergeTree to keep one row of a key',
    ],
    [windows.length > 0, 'window functions see the rows of each block alone'],
    [
      fickle !== undefined,
      `the function ${fickle ?? ''}() gives another value each time: a populate will not give the same rows`,
    ],
    [
      time !== undefined,
      `the function ${time ?? ''}() is the time at which a block is stored; a populate gives another one`,
    ],
    [
      joined,
      'JOIN reads the other tables as they are when a block comes; rows that come to them later change nothing in what is stored',
    ],
    [ownReads.length > 1, 'it reads its Data Source more than once, and sees the rows of the block alone in each'],
    [read.modifiers.end > read.modifiers.start, 'FINAL and SAMPLE mean nothing for the rows of a block'],
  ]
  return warnings.flatMap(([isSo, text]) => (isSo ? [text] : []))
}

function blockwiseOf(parsed: ParsedQuery, seen: Seen, outermost: QueryScope): readonly string[] {
  const { scopes, windows, reads } = parsed
  const { path, source } = seen
  const { has, fickle, time, ownReads } = factsOf(parsed, seen)
  const grouped = path.flatMap((index) => scopes[index] ?? []).filter((scope) => isGrouped(parsed, scope))
  const reasons: readonly (readonly [boolean, string])[] = [
    [has('LIMIT') || has('OFFSET') || has('FETCH'), 'its LIMIT counts the rows of each block alone'],
    [has('DISTINCT'), 'its DISTINCT compares the rows of each block alone'],
    [has('HAVING'), 'its HAVING looks at the groups of each block alone'],
    [windows.length > 0, 'its window functions see the rows of each block alone'],
    [fickle !== undefined, `its function ${fickle ?? ''}() gives another value each time`],
    [time !== undefined, `its function ${time ?? ''}() is the time at which a block was stored`],
    [
      reads.some((one) => tableOf(one) !== null && tableOf(one) !== source),
      'it reads other Data Sources behind JOIN or IN, as they were when each block came',
    ],
    [ownReads.length > 1, 'it reads its Data Source more than once, and sees one block alone in each'],
    [
      grouped.some((scope) => scope !== outermost),
      'what it computes of groups in a subquery is computed of the groups of each block',
    ],
  ]
  return reasons.flatMap(([isSo, text]) => (isSo ? [text] : []))
}

function isSteady(parsed: ParsedQuery, seen: Seen): boolean {
  const { has, fickle, time } = factsOf(parsed, seen)
  // What is computed of groups may be another thing each time: sums of fractions in another order, some values of many.
  const groupings = seen.path.flatMap((index) => parsed.scopes[index] ?? []).filter((scope) => isGrouped(parsed, scope))
  const isFixed = groupings.length <= 1 && !['LIMIT', 'OFFSET', 'FETCH'].some(has)
  return isFixed && fickle === undefined && time === undefined
}

function aggregatesOf(parsed: ParsedQuery, scope: QueryScope): ReadonlyMap<string, string | null> {
  const columns = scope.columns.filter((column) => hasAggregate(parsed, column))
  return new Map(columns.flatMap((column) => (column.name === null ? [] : [[column.name, callIn(parsed, column)]])))
}

/** The function of which an expression is a call and nothing else, whatever AS calls it; null for any other. */
function callIn({ tokens }: ParsedQuery, { start, end }: TokenRange): string | null {
  const last = tokens[end - 2]?.key === 'AS' ? end - 2 : end
  const [name, bracket] = [tokens[start], tokens[start + 1]]
  if (name?.kind !== 'word' || bracket?.key !== '(') return null
  let depth = 0
  for (let index = start + 1; index < last; index += 1) {
    const key = tokens[index]?.key ?? ''
    if (key === '(' || key === '[') depth += 1
    else if (key === ')' || key === ']') depth -= 1
    // Behind the parameters of a function its arguments may follow.
    if (depth === 0 && key !== ')') return null
  }
  return name.name.toLowerCase()
}
