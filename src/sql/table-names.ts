// Finds every place of a query where a table is read, by walking its tokens once with a stack of brackets.
//
// It fails closed: a table that it overlooks stays unqualified, and the restricted reader's current database is empty,
// so the engine does not find it. What it finds is either a common table name, a data source, or an error.

import { errors } from '../shared/errors.ts'
import { type CommonTable, readCommonTables } from './common-table-names.ts'
import { allowedSystemTables, checkTableFunction, isNamePart, isWordOf, refuseToken } from './policy.ts'
import type { Token } from './token.types.ts'

export interface TokenizedQuery {
  readonly sql: string
  readonly tokens: readonly Token[]
  /** For each opening bracket the closing one. */
  readonly brackets: ReadonlyMap<number, number>
}

/** A data source read by a query. */
export interface TableRead {
  /** Indexes of the first token of the name and of the one after its last. */
  readonly start: number
  readonly end: number
  /** The name as the user wrote it, without quotes. */
  readonly name: string
  readonly table: string
  /** True when the read needs the user's name as its alias: columns may be qualified by it. */
  readonly needsAlias: boolean
}

/** The table of a data source by name or id; undefined when there is none. */
export type TableOf = (nameOrId: string) => string | undefined

/**
 * Every read of a data source, in the order of the text.
 *
 * @throws SQL_INVALID (400) for a table that is neither a data source nor a common table name, or may not be read.
 */
export function findTableReads(query: TokenizedQuery, tableOf: TableOf): readonly TableRead[] {
  const walk: Walk = { ...query, tableOf, reads: [], frames: [openFrame('select')] }
  let index = 0
  while (index < query.tokens.length) index = step(walk, index)
  const last = walk.frames.at(-1)
  if (last?.place === 'table') refuseToken(query.sql, undefined, 'a table is missing')
  return walk.reads
}

interface Walk extends TokenizedQuery {
  readonly tableOf: TableOf
  readonly reads: TableRead[]
  readonly frames: Frame[]
}

/**
 * What a pair of brackets holds, and where in it the walk stands.
 *
 * Only `select` (a query) and `tables` (a group of joins) have a FROM list; in an `expression` the word FROM belongs to
 * a function, as in `trim(BOTH 'x' FROM s)`.
 */
interface Frame {
  readonly kind: 'select' | 'tables' | 'expression'
  readonly commonTables: CommonTable[]
  /** The token before the opening bracket: a function's name, if it is one. */
  readonly caller: Token | undefined
  /** `table`: a table must follow; `list`: a comma brings the next table; `joined`: a comma does not. */
  place: 'outside' | 'table' | 'list' | 'joined'
}

interface FrameStart {
  readonly caller?: Token | undefined
  readonly place?: Frame['place']
}

function openFrame(kind: Frame['kind'], { caller, place = 'outside' }: FrameStart = {}): Frame {
  return { kind, commonTables: [], caller, place }
}

/** Takes what stands at `index` and returns the index of what comes next. */
function step(walk: Walk, index: number): number {
  const frame = walk.frames.at(-1)
  const token = walk.tokens[index]
  if (frame === undefined || token === undefined) refuseToken(walk.sql, token, 'a bracket closes nothing')
  if (token.text === '(' || token.text === '[') return openBracket(walk, frame, index)
  if (token.text === ')' || token.text === ']') return closeBracket(walk, frame, token, index)
  if (frame.place === 'table') return takeTable(walk, frame, index)
  if (token.text === ',') {
    if (frame.place === 'list') frame.place = 'table'
    return index + 1
  }
  if (token.kind === 'word' && !isNamePart(walk.tokens, index) && !isWordOf(walk.tokens[index - 1], 'AS')) {
    if (isWordOf(token, 'IN')) return takeMembership(walk, index + 1)
    if (frame.kind === 'expression') checkWord(walk, frame, index)
    else takeKeyword(walk, frame, index)
  }
  return index + 1
}

function openBracket(walk: Walk, frame: Frame, index: number): number {
  const first = walk.tokens[index + 1]
  const isQuery = walk.tokens[index]?.text === '(' && isWordOf(first, 'SELECT', 'WITH', 'FROM')
  if (isQuery) walk.frames.push(openFrame('select'))
  else if (frame.place === 'table') walk.frames.push(openFrame('tables', { place: 'table' }))
  else walk.frames.push(openFrame('expression', { caller: walk.tokens[index - 1] }))
  if (frame.place === 'table') frame.place = 'list'
  return index + 1
}

function closeBracket(walk: Walk, frame: Frame, token: Token, index: number): number {
  if (frame.place === 'table') refuseToken(walk.sql, token, 'a table is missing')
  walk.frames.pop()
  return index + 1
}

const functionsWithFrom = ['EXTRACT', 'TRIM', 'LTRIM', 'RTRIM', 'SUBSTRING', 'SUBSTR', 'MID', 'OVERLAY'] as const

function checkWord({ sql, tokens }: Walk, { caller }: Frame, index: number): void {
  const isOdd = isWordOf(tokens[index], 'FROM') && isTableFrom(tokens, index) && !isWordOf(caller, ...functionsWithFrom)
  if (isOdd) refuseToken(sql, tokens[index], 'FROM stands outside of a query')
}

const afterFromWords = ['PREWHERE', 'WHERE', 'GROUP', 'HAVING', 'QUALIFY', 'ORDER', 'LIMIT', 'OFFSET', 'FETCH'] as const
const betweenQueriesWords = ['UNION', 'EXCEPT', 'INTERSECT', 'SELECT'] as const

function takeKeyword(walk: Walk, frame: Frame, index: number): void {
  const { tokens } = walk
  const token = tokens[index]
  if (isWordOf(token, 'WITH') && startsQuery(tokens, index)) {
    frame.commonTables.push(...readCommonTables(walk, index))
  } else if (isWordOf(token, 'FROM') && isTableFrom(tokens, index)) {
    frame.place = 'table'
  } else if (frame.place === 'outside') {
    return
  } else if (isWordOf(token, 'JOIN')) {
    frame.place = isWordOf(tokens[index - 1], 'ARRAY') ? 'joined' : 'table'
  } else if (isWordOf(token, 'USING')) {
    // `USING a, b` takes the commas after it, `USING (a, b)` does not.
    frame.place = tokens[index + 1]?.text === '(' ? 'list' : 'joined'
  } else if (isWordOf(token, ...afterFromWords, ...betweenQueriesWords) || isWindowClause(tokens, index)) {
    frame.place = 'outside'
  }
}

/** True for the WITH of a query; `WITH FILL`, `WITH TOTALS` and `WITH TIES` stand elsewhere. */
function startsQuery(tokens: readonly Token[], index: number): boolean {
  const before = tokens[index - 1]
  return (
    before === undefined || before.text === '(' || isWordOf(before, 'ALL', 'DISTINCT', 'UNION', 'EXCEPT', 'INTERSECT')
  )
}

/** False for the FROM of `IS [NOT] DISTINCT FROM` and of `WITH FILL FROM`. */
function isTableFrom(tokens: readonly Token[], index: number): boolean {
  const [beforeBefore, before] = [tokens[index - 2], tokens[index - 1]]
  if (isWordOf(before, 'FILL')) return !isWordOf(beforeBefore, 'WITH')
  return !(isWordOf(before, 'DISTINCT') && isWordOf(beforeBefore, 'IS', 'NOT'))
}

function isWindowClause(tokens: readonly Token[], index: number): boolean {
  return isWordOf(tokens[index], 'WINDOW') && isWordOf(tokens[index + 2], 'AS')
}

interface WrittenName {
  readonly parts: readonly Token[]
  readonly end: number
}

/** A name with its dots, from `index` on; no parts when none stands there. */
function readName(tokens: readonly Token[], index: number): WrittenName {
  const parts: Token[] = []
  let end = index
  for (;;) {
    const token = tokens[end]
    if (token?.kind !== 'word' && token?.kind !== 'quotedName' && !(parts.length > 0 && token?.kind === 'number')) break
    parts.push(token)
    end += 1
    if (tokens[end]?.text !== '.') break
    end += 1
  }
  return { parts, end }
}

function takeTable(walk: Walk, frame: Frame, index: number): number {
  const { tokens, sql } = walk
  const first = tokens[index]
  if (first?.kind === 'string') throw errors.SQL_INVALID({ reason: 'A string literal can not be used as a table' })
  const { parts, end } = readName(tokens, index)
  if (parts.length === 0) refuseToken(sql, first, 'a table is missing')
  frame.place = 'list'
  const name = parts.map((part) => part.name).join('.')
  if (tokens[end]?.text === '(') {
    checkTableFunction(name)
    return end
  }
  if (parts.length === 1 && isCommonTable(walk, name, index)) return end
  const table = walk.tableOf(name)
  if (table !== undefined) {
    walk.reads.push({ start: index, end, name, table, needsAlias: !hasAlias(tokens, end) })
    return end
  }
  if (parts.length === 2 && allowedSystemTables.has(name)) return end
  throw errors.SQL_INVALID({ reason: `Resource '${name}' not found` })
}

/** `x IN name` and `x IN ((name))` read a table when the name is one; otherwise the name is a column or an alias. */
function takeMembership(walk: Walk, start: number): number {
  const { tokens, brackets } = walk
  let index = start
  while (tokens[index]?.text === '(') index += 1
  // `SELECT in FROM events` reads a column of that name.
  if (isWordOf(tokens[index], 'FROM')) return start
  const { parts, end } = readName(tokens, index)
  const isNameAlone = parts.length > 0 && tokens[end]?.text !== '(' && closes(brackets, { start, index, end })
  if (!isNameAlone) return start
  const name = parts.map((part) => part.name).join('.')
  const isTableName = parts.length === 1 && !isCommonTable(walk, name, index)
  const table = isTableName ? walk.tableOf(name) : undefined
  if (table !== undefined) walk.reads.push({ start: index, end, name, table, needsAlias: false })
  if (parts.length > 1) {
    const reason = `'${name}' can not be used after IN: use a subquery, or has() for an array`
    throw errors.SQL_INVALID({ reason })
  }
  // The brackets are walked as usual; the name itself is no keyword.
  return index === start ? end : start
}

/** True when the brackets from `start` to `index` all close directly after `end`. */
function closes(
  brackets: ReadonlyMap<number, number>,
  { start, index, end }: Record<'start' | 'index' | 'end', number>,
) {
  for (let opening = start; opening < index; opening += 1) {
    if (brackets.get(opening) !== end + (index - 1 - opening)) return false
  }
  return true
}

function isCommonTable({ frames }: Walk, name: string, index: number): boolean {
  return frames.some(({ commonTables }) =>
    commonTables.some((table) => {
      if (table.name !== name) return false
      const isInOwnBody = table.bodyStart < index && index < table.bodyEnd
      return table.isRecursive || !isInOwnBody
    }),
  )
}

// Words that go on with the query after a table, so that they are no alias of it. The engine's list is the same in effect.
const notAliases = new Set(
  `ALL ANTI ANY ARRAY ASOF CROSS EXCEPT FETCH FINAL FORMAT FROM FULL GLOBAL GROUP HAVING INNER INTERSECT INTO JOIN LEFT
   LIMIT NATURAL OFFSET ON ORDER PASTE PREWHERE QUALIFY RIGHT SAMPLE SELECT SEMI SETTINGS UNION USING WHERE WINDOW WITH`.split(
    /\s+/,
  ),
)

function hasAlias(tokens: readonly Token[], index: number): boolean {
  const token = tokens[index]
  if (token?.kind === 'quotedName') return true
  return token?.kind === 'word' && !notAliases.has(token.text.toUpperCase())
}
