// Finds what each table of a query is, and what is written in its place.

import type { CommonTable, ParsedQuery, SelectedColumn, TableRead } from '../schema/syntax/parsed-query.types.ts'
import { findAlias } from '../schema/syntax/scope-aliases.ts'
import type { Edit } from '../schema/syntax/splice.ts'
import { SqlFault } from '../schema/syntax/sql-fault.ts'
import { errors } from '../shared/errors/errors.ts'
import { quoteName, quoteString } from '../shared/text-escapes.ts'
import type { Compilation, CompiledText } from './compilation.types.ts'
import { filterProbe } from './filter-probe.ts'
import { toHiddenFault } from './hidden-fault.ts'
import { replaceOwnNames } from './own-names.ts'
import { type ReadRelations, type Relation, tableRelation } from './plan-weight.ts'
import { systemTables } from './query-policy.ts'
import { hasPaths, mayHavePaths, rebuiltColumns } from './rebuilt-columns.ts'
import { type RowFilter, readRowFilter } from './row-filter.ts'
import { countReads, findCommonTable, type WeighedRead } from './scope-lookup.ts'
import type { NameScope, OutputColumn, QuerySource, Source, TableSource } from './source.types.ts'
import { TextMemo } from './text-memo.ts'
import { UndescribedOutput } from './undescribed-output.ts'

export interface ResolvedReads {
  /** In the order of the text. */
  readonly edits: readonly Edit[]
  /** Names of the sources that are read, each once, in the order of the text. */
  readonly dependencies: readonly string[]
  readonly readCount: number
  /** By `database.table`, how often it stands in the text with everything put in. */
  readonly tables: ReadonlyMap<string, number>
  /** What each read gives; none for those that are columns. */
  readonly relations: ReadRelations
  /** The text that the edits are for. */
  readonly parsed: ParsedQuery
  readonly sources: ReadonlyMap<TableRead, Source>
}

/**
 * Finds what every name of a table stands for.
 *
 * @throws SqlFault for one that stands for nothing, or may not be read.
 */
export function resolveReads(text: ParsedQuery, scope: NameScope, compilation: Compilation): ResolvedReads {
  const resolution: Resolution = {
    parsed: text,
    compilation,
    edits: [],
    weights: [],
    relations: new Map(),
    filteredScopes: new Set(),
    tables: new Map(),
    named: new Set(),
  }
  const dependencies = new Set<string>()
  const sources = new Map<TableRead, Source>()
  for (const read of text.reads) {
    const source = findSource(read, scope, resolution)
    if (source === undefined) continue
    sources.set(read, source)
    dependencies.add(source.name)
    if (source.isHidden === true) compilation.hiddenNames.add(source.name)
    putSource(read, source, resolution)
  }
  const { edits, weights, relations, filteredScopes, tables } = resolution
  for (const read of text.reads) edits.push(...columnName(read, resolution))
  const own = replaceOwnNames({ parsed: text, sources }, (source) => compileSource(source, compilation))
  const { parsed } = own
  edits.push(...own.edits)
  for (const index of filteredScopes) edits.push(...foldedPrewhere(parsed, index))
  edits.sort((one, other) => one.start - other.start || one.end - other.end)
  const readCount = countReads(parsed.scopes, weights)
  return { edits, dependencies: [...dependencies], readCount, tables, relations, parsed, sources }
}

interface Resolution {
  readonly parsed: ParsedQuery
  readonly compilation: Compilation
  readonly edits: Edit[]
  readonly weights: WeighedRead[]
  readonly relations: Map<TableRead, Relation | CommonTable>
  /** Scopes whose FROM has a table with a row filter. */
  readonly filteredScopes: Set<number>
  readonly tables: Map<string, number>
  /** Columns that got the caller's text for a name. */
  readonly named: Set<SelectedColumn>
}

/** Undefined for what is no name of the workspace: a common table, a column, a table of the engine. */
function findSource(read: TableRead, scope: NameScope, { parsed, weights, relations }: Resolution): Source | undefined {
  const { kind, parts } = read
  if (parts === null) throw new SqlFault('joinGet needs a constant table name')
  const [first = ''] = parts
  const name = parts.join('.')
  const weigh = (weight: number | CommonTable): void => void weights.push({ scope: read.scope, weight })
  if (parts.length === 1 && kind !== 'joinGet') {
    const table = findCommonTable(parsed.scopes, read.scope, first)
    if (table !== undefined) {
      weigh(table)
      relations.set(read, table)
      return undefined
    }
  }
  if (kind === 'in') {
    // An id with a label is no name of a database and a table; the engine never sees it.
    if (parts.length > 1 && (!first.startsWith('t_') || look(scope, parts) === undefined)) {
      throw new SqlFault(`'${name}' can not be used after IN: use a subquery, or has() for an array`)
    }
    if (findAlias(parsed.scopes, read.scope, first) !== undefined) return undefined
  }
  const source = look(scope, parts)
  if (source === 'denied') throw errors.READ_DENIED({ name, hint: scope.advise?.(parts) })
  if (source !== undefined || kind === 'in') return source
  if (kind === 'joinGet' || !systemTables.has(name)) throw missing(scope, parts)
  weigh(1)
  return undefined
}

/** Where what is denied must look like what is missing, it is looked at as missing from here on. */
function look(scope: NameScope, parts: readonly string[]): ReturnType<NameScope['find']> {
  const found = scope.find(parts)
  return found === 'denied' && scope.isDiscreet === true ? undefined : found
}

function missing(scope: NameScope, parts: readonly string[]): Error {
  if (scope.isForeign === true) return new SqlFault('It reads something that is not there any more')
  const name = parts.join('.')
  const hint = scope.advise?.(parts)
  return scope.isDiscreet === true
    ? errors.READ_DENIED({ name, hint })
    : new SqlFault(`Resource '${name}' not found`, { hint })
}

function putSource(read: TableRead, source: Source, resolution: Resolution): void {
  const { compilation, weights, relations, edits } = resolution
  if (read.kind === 'joinGet') {
    edits.push(joinEdit(read, source, resolution))
    weights.push({ scope: read.scope, weight: 1 })
    return
  }
  const { start, end } = read
  // A name behind IN gets no alias.
  const alias = read.hasAlias ? '' : ` AS ${quoteName(read.parts?.at(-1) ?? '')}`
  if (source.kind === 'query') {
    const compiled = compileSource(source, compilation)
    for (const [table, count] of compiled.tables) addReads(resolution.tables, table, count)
    weights.push({ scope: read.scope, weight: Math.max(1, compiled.readCount) })
    const { before, after, columnCount } = aroundOutput(source, compiled, compilation)
    edits.push({ start, end, before, inner: compiled.spliced, after: `${after}${alias}` })
    const { relation } = compiled
    relations.set(read, { ...relation, weight: relation.weight + 2 * columnCount })
    return
  }
  weights.push({ scope: read.scope, weight: 1 })
  // A filter stands in two queries around the table.
  const columnCount = source.columns.length
  relations.set(read, tableRelation(columnCount, source.filter === null ? 0 : 2 * columnCount))
  const qualified = qualify(source, resolution)
  if (source.filter === null) edits.push({ start, end, before: qualified, inner: null, after: alias })
  else {
    const { isMergeTree = !source.isJoin, typedColumns = [], computedColumns = [] } = source
    const filter = filterOf(source.columns, source.filter, compilation)
    if (typedColumns.some(({ type }) => hasPaths(type))) compilation.filteredPaths.add(source.name)
    const rebuilt = rebuiltColumns(typedColumns)
    const named = { name: source.name, text: source.filter, qualified, alias }
    const putIn = { ...named, filter, rebuilt, isMergeTree, computedColumns }
    putFiltered(read, putIn, resolution)
  }
}

/** What stands around the query of a pipe or a node. */
interface Surrounds {
  readonly before: string
  readonly after: string
  /** Columns that are written once more. */
  readonly columnCount: number
}

/**
 * The engine may judge rows by the filter before it computes what the pipe gives, as both are of authors. What the reader writes
 * stays behind the LIMIT.
 */
function aroundOutput(source: QuerySource, compiled: CompiledText, compilation: Compilation): Surrounds {
  const { filter: text = null, name } = source
  if (text === null) return { before: '(', after: ')', columnCount: 0 }
  const { text: sql } = compiled.spliced
  const columns = compilation.outputOf(sql)
  if (columns === undefined) throw new UndescribedOutput(source, sql)
  const names = columns.map((column) => column.name)
  const filter = filterOf(names, text, compilation)
  const rebuilt = rebuiltColumns(columns)
  if (columns.some(mayHavePaths)) compilation.filteredPaths.add(name)
  const opening = '(SELECT * FROM ('
  const closing = `) AS ${filter.alias} WHERE (${filter.sql}) LIMIT ${allRows})`
  // What the pipe computes of hidden rows may fail, and say so in their values.
  compilation.hiddenNames.add(name)
  // Nor may it be taken for the filter's failure: that is tried without the pipe.
  const rows = columns.some(({ type }) => type === undefined) ? `(${sql})` : emptyTable(columns)
  compilation.filtered.set(name, { filter: text, isTotal: false, probe: () => filterProbe(rows, filter) })
  const columnCount = columns.length
  if (rebuilt === '') return { before: opening, after: closing, columnCount }
  return { before: `(SELECT *${rebuilt} FROM ${opening}`, after: `${closing})`, columnCount }
}

function emptyTable(columns: readonly OutputColumn[]): string {
  return `null(${quoteString(columns.map(({ name, typeText }) => `${quoteName(name)} ${typeText}`).join(', '))})`
}

interface FilteredTable {
  /** Of the data source. */
  readonly name: string
  /** The filter as it was given to the token. */
  readonly text: string
  readonly qualified: string
  readonly alias: string
  readonly filter: RowFilter
  /** What is done to the columns of the rows that are left. */
  readonly rebuilt: string
  readonly isMergeTree: boolean
  readonly computedColumns: readonly string[]
}

/**
 * The filter must judge a row before any other condition does: what that raises tells of the row. A WHERE is no help, as the
 * engine moves the conditions around the subquery into it and sorts them by the sizes of their columns. Behind a PREWHERE
 * of the query's own they stay where they are. With FINAL it would hide the newest version of a row and show an older one;
 * but then nothing is moved before the filter either.
 */
function filterKeyword({ isMergeTree }: FilteredTable, words: readonly string[]): 'PREWHERE' | 'WHERE' {
  return isMergeTree && !words.includes('FINAL') ? 'PREWHERE' : 'WHERE'
}

/**
 * More rows than there are. The engine moves no condition into a subquery with a LIMIT: it would try it on what partitions,
 * keys and indexes hold of hidden rows, and raise errors, or leave out parts, by these.
 */
const allRows = 10n ** 18n

/** FINAL and SAMPLE belong to the table and go into the subquery with it. */
function putFiltered(read: TableRead, filtered: FilteredTable, resolution: Resolution): void {
  const { name, text, qualified, alias, filter, rebuilt } = filtered
  const { parsed, edits, filteredScopes, compilation } = resolution
  const { start, end, modifiers } = read
  const words = parsed.tokens.slice(modifiers.start, modifiers.end).map(({ key, text }) => (key === '' ? text : key))
  checkSample(words)
  const keyword = filterKeyword(filtered, words)
  const from = [qualified, 'AS', filter.alias, ...words].join(' ')
  const rows = `(SELECT * FROM ${from} ${keyword} (${filter.sql}) LIMIT ${allRows})`
  const isTotal = filter.isTotal && !mayFailFirst(filtered, words)
  compilation.filtered.set(name, { filter: text, isTotal, probe: () => filterProbe(qualified, filter) })
  // In one SELECT the filter would read the columns as they are rebuilt, all rows of them.
  const before = rebuilt === '' ? rows : `(SELECT *${rebuilt} FROM ${rows})`
  edits.push({ start, end, before, inner: null, after: alias })
  if (words.length > 0) edits.push({ ...modifiers, before: '', inner: null, after: '' })
  if (read.kind === 'table') filteredScopes.add(read.scope)
}

/** Whether the engine may compute something of a hidden row that fails, or that tells by its place which row did. */
function mayFailFirst({ isMergeTree, computedColumns, filter }: FilteredTable, words: readonly string[]): boolean {
  // Other engines give rows in an order that hidden ones decide, and a message tells which row was the first to fail.
  if (!isMergeTree) return true
  // With FINAL a DEFAULT is computed for the rows that are merged, before the filter is.
  return computedColumns.some((column) => words.includes('FINAL') || filter.columns.has(column))
}

/** `SAMPLE 1000` takes a share that the engine computes from all rows of the table, hidden ones among them. */
function checkSample(words: readonly string[]): void {
  const [share = '0', divisor = '1'] = words.slice(words.indexOf('SAMPLE') + 1).filter((word) => word !== '/')
  const isDivided = words[words.indexOf('SAMPLE') + 2] === '/'
  if (!words.includes('SAMPLE') || Number(share) / (isDivided ? Number(divisor) : 1) <= 1) return
  throw new SqlFault('SAMPLE takes a share of the rows, 1 at most, where the token filters rows')
}

/** A subquery has no PREWHERE: the condition goes to the others. */
function foldedPrewhere({ scopes }: ParsedQuery, index: number): readonly Edit[] {
  const { prewhere, where } = scopes[index] ?? {}
  if (prewhere === null || prewhere === undefined) return []
  const write = (start: number, end: number, before: string): Edit => ({ start, end, before, inner: null, after: '' })
  const opening = write(prewhere.start, prewhere.start + 1, 'WHERE (')
  if (where === null || where === undefined) return [opening, write(prewhere.end, prewhere.end, ')')]
  return [opening, write(where.start, where.start + 1, ') AND ('), write(where.end, where.end, ')')]
}

/**
 * A column that has no name is called by its text as the engine reads it, with the table in it that was put there: it gets the
 * text that the caller has written for its name.
 */
function columnName({ kind, start }: TableRead, { parsed, edits, named }: Resolution): readonly Edit[] {
  if (kind === 'table' || !edits.some((edit) => edit.start === start)) return []
  const columns = parsed.scopes.flatMap((scope) => scope.columns)
  return columns
    .filter((column) => column.name === null && column.start <= start && start < column.end && !named.has(column))
    .filter((column) => !isOfManyColumns(parsed, column))
    .map((column) => {
      named.add(column)
      const { start: from, end } = column
      const text = parsed.tokens
        .slice(from, end)
        .map(({ text, isSpaced }, index) => (isSpaced && index > 0 ? ` ${text}` : text))
      return { start: end, end, before: ` AS ${quoteName(text.join(''))}`, inner: null, after: '' }
    })
}

/** What gives several columns can have no name. */
function isOfManyColumns({ tokens }: ParsedQuery, { start, end }: SelectedColumn): boolean {
  const words = tokens.slice(start, end).map(({ key }) => key)
  return (
    words[0] === '*' ||
    words.includes('COLUMNS') ||
    words.includes('APPLY') ||
    words.includes('UNTUPLE') ||
    words[words.lastIndexOf('.') + 1] === '*'
  )
}

/** The engine reads the rows of `joinGet` past every filter. */
function joinEdit({ start, end }: TableRead, source: Source, resolution: Resolution): Edit {
  if (source.kind === 'query')
    throw new SqlFault(`joinGet can not be used on '${source.name}', which is not a data source`)
  if (source.filter !== null) throw new SqlFault(`joinGet can not be used on '${source.name}' with a token filter`)
  qualify(source, resolution)
  return { start, end, before: quoteString(`${source.database}.${source.table}`), inner: null, after: '' }
}

function qualify({ database, table, name }: TableSource, { compilation, tables }: Resolution): string {
  compilation.tableNames.set(`${database}.${table}`, name)
  addReads(tables, `${database}.${table}`, 1)
  return `${quoteName(database)}.${quoteName(table)}`
}

function addReads(tables: Map<string, number>, table: string, count: number): void {
  tables.set(table, (tables.get(table) ?? 0) + count)
}

const filters = new TextMemo<RowFilter>()

function filterOf(columns: readonly string[], filter: string, { functions }: Compilation): RowFilter {
  const key = JSON.stringify([filter, columns])
  try {
    const read = filters.get(key, () => readRowFilter(filter, columns))
    for (const one of read.functions) functions.add(one)
    return read
  } catch (thrown) {
    if (!(thrown instanceof SqlFault)) throw thrown
    throw errors.FILTER_BROKEN({ cause: thrown })
  }
}

/** The query of a pipe or a node, compiled when it is first read. */
function compileSource(source: QuerySource, compilation: Compilation): CompiledText {
  const { id, variant = '', name } = source
  const { done, open } = compilation
  const key = `${id}${variant}`
  const known = done.get(key)
  if (known !== undefined) return known
  if (open.some((one) => one.id === id)) throw circular(source, compilation)
  open.push({ id, name })
  const compiled = compileText(source, compilation)
  open.pop()
  done.set(key, compiled)
  return compiled
}

function circular({ name }: QuerySource, { open, hiddenNames }: Compilation): SqlFault {
  const path = [...open.map((one) => one.name), name]
  if (path.some((one) => hiddenNames.has(one))) return new SqlFault('It reads itself, through what it reads')
  return new SqlFault(`Circular dependency on '${name}': ${path.join(' → ')}`)
}

function compileText({ name, sql, scope, isHidden }: QuerySource, compilation: Compilation): CompiledText {
  try {
    return compilation.compile({ sql: sql(), scope, node: name }, compilation)
  } catch (thrown) {
    throw isHidden === true ? toHiddenFault(thrown) : thrown
  }
}
