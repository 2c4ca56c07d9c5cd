// A query that reads its rows through UNION ALL, as one query for each of its SELECTs: the engine has a view see the rows of the
// first alone.
//
// What stands around the UNION is put around each SELECT. That is right for a view: it makes rows out of one block of one table, so
// what is around sees the rows of one SELECT at a time anyway.

import type { ViewColumn } from '../catalog/pipe.types.ts'
import type { CheckedQuery } from '../schema/expressions/checked-text.types.ts'
import type { ParsedQuery, TokenRange } from '../schema/syntax/parsed-query.types.ts'
import { splice } from '../schema/syntax/splice.ts'
import { assert } from '../shared/assert.ts'
import { parseStatement } from '../sql/parse-statement.ts'
import { findCommonTable } from '../sql/scope-lookup.ts'
import { behindHeadText, renamedText } from '../store/sql/branch-texts.ts'
import { StoreError } from '../store/store-error.ts'
import { setOperatorsIn, unionOnTheWay, ViewQueryFault } from './view-query.ts'

/** One SELECT of a node, as a query that sees the rows of one table. */
export interface BranchQuery {
  readonly sql: CheckedQuery
  /** By the names of the first SELECT. */
  readonly columns: readonly ViewColumn[]
}

/** The columns that a query gives. Raises `StoreError`. */
export type DescribeQuery = (sql: CheckedQuery) => Promise<readonly ViewColumn[]>

/** Each is a view of its own, which every block of its table passes. */
export const branchesMax = 50

/**
 * The queries of a node, of which each is a view; one alone where it has no UNION on the way of its rows.
 *
 * @param sql a whole query, each of whose tables is qualified.
 * @param columns what it gives.
 * @throws ViewQueryFault for other set operations, and for what cannot be told apart; raises `StoreError`.
 */
export async function branchQueries(
  sql: CheckedQuery,
  columns: readonly ViewColumn[],
  describe: DescribeQuery,
): Promise<readonly BranchQuery[]> {
  const queries: CheckedQuery[] = []
  const waiting = [sql]
  for (let query = waiting.shift(); query !== undefined; query = waiting.shift()) {
    const parts = await partsOf(query, describe)
    if (parts === null) queries.push(query)
    else waiting.unshift(...parts)
    if (queries.length + waiting.length > branchesMax) {
      throw new ViewQueryFault(`it reads its rows through more than ${branchesMax} SELECTs of UNION ALL; ${remedy}`)
    }
  }
  if (queries.length === 1) return [{ sql, columns }]
  const branches: BranchQuery[] = []
  for (const query of queries) branches.push({ sql: query, columns: await describe(query) })
  branches.forEach((branch, index) => {
    refuseUntyped(branch, index, columns)
  })
  return branches
}

/** What is NULL or empty by itself has the type of the others in a UNION ALL, and none in a view of its own. @throws ViewQueryFault */
function refuseUntyped({ columns }: BranchQuery, index: number, whole: readonly ViewColumn[]): void {
  const position = columns.findIndex(({ typeText }) => /\bNothing\b/.test(typeText))
  const { name, typeText } = whole[position] ?? {}
  if (position < 0) return
  const type = typeText === undefined || /\bNothing\b/.test(typeText) ? '<type>' : typeText
  throw new ViewQueryFault(
    `column '${name ?? position + 1}' of SELECT ${index + 1} has no type by itself; write CAST(… AS ${type})`,
  )
}

const remedy = 'make a materialized node of each, with the same datasource'

/** The query once for each SELECT of its first UNION on the way of its rows; null where it has none. */
async function partsOf(sql: CheckedQuery, describe: DescribeQuery): Promise<readonly CheckedQuery[] | null> {
  const parsed = parseStatement(sql)
  assert(parsed !== null, 'a checked query has tokens')
  const union = unionOnTheWay(parsed)
  if (union === null) return null
  const scope = parsed.scopes[union]
  assert(scope !== undefined, 'a union has a scope')
  refuseReadTwice(parsed, union)
  const operands = operandsOf(parsed, scope).map((range) => operandText(parsed, union, range))
  const renamed = await withSameNames(operands, describe)
  const source = sql
  return renamed.map((before) => {
    if (union === 0) return checked(before)
    const edits = [{ start: scope.start, end: scope.end, before, inner: null, after: '' }]
    return checked(splice({ source, node: null, tokens: parsed.tokens, end: parsed.queryEnd, edits }).text)
  })
}

/** @throws ViewQueryFault for set operations of which a view of each SELECT would give other rows. */
function operandsOf(parsed: ParsedQuery, scope: TokenRange): readonly TokenRange[] {
  const operators = setOperatorsIn(parsed, scope)
  let start = scope.start
  const operands: TokenRange[] = []
  for (const { key, index } of operators) {
    const isAll = key === 'UNION' && parsed.tokens[index + 1]?.key === 'ALL'
    if (!isAll) throw new ViewQueryFault(otherOperator(key))
    operands.push({ start, end: index })
    start = index + 2
  }
  return [...operands, { start, end: scope.end }]
}

function otherOperator(key: string): string {
  if (key !== 'UNION')
    return `it reads its rows through ${key}, which compares rows of blocks that no view sees together`
  return 'it reads its rows through UNION DISTINCT, which compares rows of blocks that no view sees together; use UNION ALL, and ReplacingMergeTree to keep one row of a key'
}

/** A common table that is read at two places gives all of its rows at both. */
function refuseReadTwice({ scopes, reads }: ParsedQuery, union: number): void {
  for (let index = union; index >= 0; index = scopes[index]?.parent ?? -1) {
    const definition = scopes[index]?.definition ?? null
    if (definition === null) continue
    const count = reads.filter(({ parts, scope }) => {
      const [name = ''] = parts ?? []
      return parts?.length === 1 && findCommonTable(scopes, scope, name) === definition
    }).length
    if (count < 2) return
    throw new ViewQueryFault(
      `it reads '${definition.name}', which has a UNION ALL, ${count} times, so that no view of one of its SELECTs gives its rows; ${remedy}`,
    )
  }
}

/** One SELECT as a query of its own, with what the WITH of the first one names where it may use that. */
function operandText(parsed: ParsedQuery, union: number, range: TokenRange): string {
  const { scopes, tokens } = parsed
  const scope = scopes[union]
  assert(scope !== undefined, 'a union has a scope')
  const text = textOf(parsed, range)
  const isFirst = range.start === scope.start
  if (isFirst) return text
  const names = new Set([...scope.commonTables.map(({ name }) => name), ...scope.aliases.keys()])
  const isUsed = tokens.slice(range.start, range.end).some(({ name }) => names.has(name))
  if (!isUsed) return text
  const head = withHead(parsed, scope)
  if (head === null) throw new ViewQueryFault(`the SELECTs of its UNION ALL share a WITH in brackets; ${remedy}`)
  const first = tokens[range.start]?.key
  return first === 'SELECT' || first === 'FROM' ? `${head} ${text}` : behindHeadText(head, text)
}

/** `WITH …` of the first SELECT; null where it has none of its own. */
function withHead(parsed: ParsedQuery, { start, end }: TokenRange): string | null {
  const { tokens } = parsed
  if (tokens[start]?.key !== 'WITH') return null
  let depth = 0
  for (let index = start; index < end; index += 1) {
    const key = tokens[index]?.key ?? ''
    if (key === '(' || key === '[') depth += 1
    else if (key === ')' || key === ']') depth -= 1
    else if (depth === 0 && (key === 'SELECT' || key === 'FROM')) return textOf(parsed, { start, end: index })
  }
  return null
}

/** The columns of a UNION go by their places and have the names of the first SELECT; those of a view go by their names. */
async function withSameNames(operands: readonly string[], describe: DescribeQuery): Promise<readonly string[]> {
  const given: (readonly string[])[] = []
  for (const [index, operand] of operands.entries()) {
    // The engine does not describe such a query.
    if (hasNameTwice(operand)) throw nameTwice(index)
    given.push(await namesOf(operand, describe))
  }
  const [names = []] = given
  return operands.map((operand, index) => {
    const own = given[index] ?? []
    if (own.length === names.length && own.every((name, at) => name === names[at])) return operand
    if (own.length !== names.length || new Set(own).size < own.length) throw nameTwice(index)
    return renamedText(
      operand,
      own.map((from, at) => ({ from, to: names[at] ?? from })),
    )
  })
}

function nameTwice(index: number): ViewQueryFault {
  return new ViewQueryFault(
    `two columns of SELECT ${index + 1} of its UNION ALL have one name; write AS with a name of its own behind each`,
  )
}

function hasNameTwice(operand: string): boolean {
  const select = parseStatement(operand)?.scopes.find(({ columns }) => columns.length > 0)
  const names = (select?.columns ?? []).flatMap(({ name }) => name ?? [])
  return new Set(names).size < names.length
}

async function namesOf(operand: string, describe: DescribeQuery): Promise<readonly string[]> {
  try {
    return (await describe(checked(operand))).map(({ name }) => name)
  } catch (thrown) {
    if (!(thrown instanceof StoreError) || thrown.kind !== 'engine') throw thrown
    // It reads what stands around the UNION.
    const reason = `a SELECT of its UNION ALL uses names from outside of it, so that it is no view of its own; ${remedy}`
    throw new ViewQueryFault(reason, { cause: thrown })
  }
}

function textOf({ tokens }: ParsedQuery, { start, end }: TokenRange): string {
  return splice({ source: '', node: null, tokens: tokens.slice(start, end), end: end - start, edits: [] }).text
}

/** Parts of a query that is checked, put together by us. */
function checked(text: string): CheckedQuery {
  return text as CheckedQuery
}
