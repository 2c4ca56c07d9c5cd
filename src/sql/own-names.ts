// What a query reads stays known by its own name beside its alias, as in ClickHouse: `SELECT events.id FROM events e`.
//
// The engine knows a table only by what it is called in the store, and a pipe not at all, so the alias is written in the
// place of the name. A name goes to where the engine would find it: to the innermost SELECT that has such a table, in
// there to an alias before a name, and to the first table of several. Where a column or an alias of that name may have
// elements, `events.id` is such an element, and stays as it is.

import type {
  ParsedQuery,
  QueryScope,
  SelectedColumn,
  TableRead,
  TokenRange,
} from '../schema/syntax/parsed-query.types.ts'
import type { Edit } from '../schema/syntax/splice.ts'
import type { Token } from '../schema/syntax/token.types.ts'
import type { ColumnType } from '../schema/types/column-type.types.ts'
import { quoteName } from '../shared/text-escapes.ts'
import type { QuerySource, Source } from './source.types.ts'

/** One text of SQL with what its reads stand for. */
export interface ReadText {
  readonly parsed: ParsedQuery
  readonly sources: ReadonlyMap<TableRead, Source>
}

export interface OwnNames {
  /** The text with aliases in the place of own names; the same object when there are none. */
  readonly parsed: ParsedQuery
  /** Names of columns that would be called by the alias. */
  readonly edits: readonly Edit[]
}

/** @param textOf the text of a pipe or a node that is read. */
export function replaceOwnNames(text: ReadText, textOf: (source: QuerySource) => ReadText): OwnNames {
  const { parsed } = text
  const replaced = new Map<number, Token>()
  const edits: Edit[] = []
  for (const name of qualifiedNames(parsed)) {
    const owner = findOwner(text, name)
    const [first = ''] = name.parts
    if (owner === undefined || mayHaveElements(text, first, { textOf, seen: new Set() })) continue
    const { alias, count } = owner
    for (const [index, token] of aliasTokens(parsed.tokens, { start: name.start, alias, count })) {
      replaced.set(index, token)
    }
    edits.push(...columnName(text, name, owner, textOf))
  }
  if (replaced.size === 0) return { parsed, edits }
  const tokens = parsed.tokens.map((token, index) => replaced.get(index) ?? token)
  return { parsed: { ...parsed, tokens }, edits }
}

interface QualifiedName extends TokenRange {
  /** Without the asterisk, if it ends with one. */
  readonly parts: readonly string[]
  /** True for `t.*` and `t.COLUMNS(…)`. */
  readonly isStar: boolean
}

function qualifiedNames({ tokens, names, stars }: ParsedQuery): readonly QualifiedName[] {
  const found: QualifiedName[] = []
  for (const { start, end } of names) {
    if (tokens[start + 1]?.key === '.' && end > start + 2)
      found.push({ start, end, parts: partsOf(tokens, start, end), isStar: false })
  }
  for (const { start: end, isQualified } of stars) {
    if (!isQualified) continue
    let start = end - 2
    while (tokens[start - 1]?.key === '.') start -= 2
    found.push({ start, end: end - 1, parts: partsOf(tokens, start, end - 1), isStar: true })
  }
  return found
}

function partsOf(tokens: readonly Token[], start: number, end: number): readonly string[] {
  return tokens.slice(start, end).flatMap(({ kind, name }) => (kind === 'symbol' ? [] : [name]))
}

interface Owner {
  readonly read: TableRead
  readonly alias: string
  /** How many parts of the name say which table it is. */
  readonly count: number
}

/** The table whose own name stands before a column; undefined when that is an alias, or nothing that was read. */
function findOwner({ parsed, sources }: ReadText, name: QualifiedName): Owner | undefined {
  const { scopes, reads } = parsed
  for (let index = innermostScope(scopes, name.start); index >= 0; index = scopes[index]?.parent ?? -1) {
    const scope = scopes[index]
    if (scope === undefined || scope.tables.some(({ alias }) => alias === name.parts[0])) return undefined
    for (const read of reads) {
      if (read.scope !== index || read.kind !== 'table') continue
      const source = sources.get(read)
      const count = source === undefined ? commonTableParts(read, name) : ownParts(read, source, name)
      // The engine itself knows common tables by both names.
      if (count > 0) return source === undefined || read.alias === null ? undefined : { read, alias: read.alias, count }
    }
  }
  return undefined
}

function innermostScope(scopes: readonly QueryScope[], at: number): number {
  return scopes.findLastIndex(({ start, end }) => start <= at && at < end)
}

function commonTableParts({ parts }: TableRead, name: QualifiedName): number {
  return parts?.length === 1 && parts[0] === name.parts[0] ? 1 : 0
}

/** How many parts of a name are one of those that its table has: as it was written, with its workspace or without, or its own. */
function ownParts({ parts }: TableRead, source: Source, name: QualifiedName): number {
  const written = parts ?? []
  const id = source.kind === 'table' ? source.table : source.id
  const known = [written, written.slice(-1), [source.name], [id]]
  const found = known.find(
    (own) =>
      own.every((part, index) => part === name.parts[index]) && name.parts.length >= own.length + (name.isStar ? 0 : 1),
  )
  return found?.length ?? 0
}

interface AliasPlace {
  readonly start: number
  readonly alias: string
  readonly count: number
}

/** The alias for the first part, and nothing for the others with their dots. */
function aliasTokens(
  tokens: readonly Token[],
  { start, alias, count }: AliasPlace,
): readonly (readonly [number, Token])[] {
  const { offset = 0, isSpaced = false } = tokens[start] ?? {}
  const first: Token = { kind: 'quotedName', text: quoteName(alias), name: alias, key: '', offset, isSpaced }
  const nothing: Token = { kind: 'symbol', text: '', name: '', key: '', offset, isSpaced: false }
  return Array.from({ length: 2 * count - 1 }, (_, index) => [start + index, index === 0 ? first : nothing] as const)
}

interface Search {
  readonly textOf: (source: QuerySource) => ReadText
  readonly seen: Set<string>
}

/** Whether a column or an alias of that name, anywhere in what is read, may be something with elements. */
function mayHaveElements(text: ReadText, name: string, search: Search): boolean {
  const { parsed, sources } = text
  for (const { aliases } of parsed.scopes) {
    const named = aliases.get(name)
    if (named !== undefined && !isElementless(text, named, search)) return true
  }
  const isInStructure = parsed.tableFunctions.some(({ arguments: given }) =>
    given.some(({ start, end }) =>
      // A structure is a text, or a name that stands for one: what stands in a query there is none.
      parsed.tokens.slice(start, end).some(({ kind, text }) => kind === 'string' && text.includes(name)),
    ),
  )
  return isInStructure || [...sources.values()].some((source) => hasElements(source, name, search))
}

function hasElements(source: Source, name: string, search: Search): boolean {
  if (source.kind === 'table') {
    const { columns, typedColumns } = source
    if (columns.some((column) => column.startsWith(`${name}.`))) return true
    if (typedColumns === undefined) return columns.includes(name)
    return typedColumns.some((column) => column.name === name && isCompound(column.type))
  }
  if (search.seen.has(source.id)) return false
  search.seen.add(source.id)
  return mayHaveElements(search.textOf(source), name, search)
}

function isCompound(type: ColumnType): boolean {
  switch (type.kind) {
    case 'tuple':
    case 'map':
    case 'json':
      return true
    case 'array':
      return isCompound(type.element)
    case 'nullable':
    case 'lowCardinality':
    case 'simpleAggregateFunction':
      return isCompound(type.inner)
    default:
      return false
  }
}

const compoundWords = /tuple|json|map|nested|variant|dynamic|zip|point|ring|polygon/i

/** Whether an expression is sure to give nothing with elements: no name in it is a column of such, nor is one made. */
function isElementless({ parsed, sources }: ReadText, range: TokenRange, search: Search): boolean {
  const tokens = parsed.tokens.slice(range.start, range.end)
  if (tokens[0]?.key === '(' || tokens.some(({ text }) => compoundWords.test(text))) return false
  const known = [...sources.values()]
  return tokens.every(
    ({ kind, name }, index) =>
      (kind !== 'word' && kind !== 'quotedName') ||
      tokens[index + 1]?.key === '(' ||
      tokens[index + 1]?.key === '.' ||
      known.every((source) => !hasElements(source, name, { ...search, seen: new Set() })),
  )
}

/**
 * A column alone is called by its table too where another table has one of that name; but for the first of two tables, where
 * the engine takes it without a table for that one's.
 */
function columnName(
  text: ReadText,
  name: QualifiedName,
  { read, count }: Owner,
  textOf: Search['textOf'],
): readonly Edit[] {
  const { scopes, reads, tokens } = text.parsed
  const scope = scopes[read.scope]
  const column = scope?.columns.find(({ start, end }) => start === name.start && end === name.end)
  const isFirstOfTwo = scope?.tables.length === 2 && scope.tables[0]?.alias === read.alias
  if (scope === undefined || column === undefined || name.isStar || isFirstOfTwo) return []
  const own = name.parts.slice(count).join('.')
  const others = reads.filter((other) => other !== read && other.scope === read.scope)
  const isShared =
    others.some((other) => gives(text.sources.get(other), own, textOf)) ||
    scope.tables.some(({ query }) => query >= 0 && selects(text.parsed, query, own))
  if (!isShared) return []
  const written = tokens.slice(name.start, name.end).map((token) => token.name)
  return [{ start: column.end, end: column.end, before: ` AS ${quoteName(written.join(''))}`, inner: null, after: '' }]
}

function gives(source: Source | undefined, column: string, textOf: Search['textOf']): boolean {
  if (source === undefined) return false
  return source.kind === 'table' ? source.columns.includes(column) : selects(textOf(source).parsed, 0, column)
}

function selects({ scopes }: ParsedQuery, query: number, column: string): boolean {
  const isIn = (at: number): boolean => at === query || (at >= 0 && isIn(scopes[at]?.parent ?? -1))
  const columns: readonly SelectedColumn[] = scopes.flatMap((scope, index) => (isIn(index) ? scope.columns : []))
  return columns.some(({ name }) => name === column)
}
