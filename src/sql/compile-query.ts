// The entry of the module: a user's query made into one that the store can run.
//
// What holds for the text that comes out:
// - Every table in it is qualified. The reader's current database is empty, so the engine finds nothing that was overlooked.
// - Every pipe and node stands in it as a subquery, whose text was made in the same way.
// - Every read of a table with a row filter is a subquery with that filter.

import type { CheckedQuery } from '../schema/expressions/checked-text.types.ts'
import { blockRowsMax, boundArguments } from '../schema/functions/bounded-calls.ts'
import { checkCalls } from '../schema/functions/call-policy.ts'
import { checkTextArguments } from '../schema/functions/function-arguments.ts'
import { checkInternalColumns } from '../schema/syntax/internal-columns.ts'
import type { ParsedQuery, SettingUse } from '../schema/syntax/parsed-query.types.ts'
import { type Edit, originOf, type SplicedText, splice } from '../schema/syntax/splice.ts'
import { placeInText, SqlFault, toSqlError } from '../schema/syntax/sql-fault.ts'
import { wrapArguments } from '../schema/syntax/wrapped-arguments.ts'
import { zoneArguments } from '../schema/time-zones/time-zones.ts'
import { errors } from '../shared/errors/errors.ts'
import type { AppliedFilter, Compilation, CompiledText, EngineReading, QueryText } from './compilation.types.ts'
import { resolveReads } from './name-resolver.ts'
import { parseStatement } from './parse-statement.ts'
import { planWeightMax, weighQuery } from './plan-weight.ts'
import { checkSettings, filteredSettings, settingValue } from './query-policy.ts'
import type { NameScope } from './source.types.ts'
import { checkTableFunctions, writtenFunctions } from './table-functions.ts'
import { TextMemo } from './text-memo.ts'

/** A user's query, ready for the store. */
export interface CompiledQuery {
  /** One SELECT without FORMAT and comments; every data source in it is qualified, every pipe and node put in. */
  readonly sql: CheckedQuery
  /** The name after FORMAT as it was written, or null. */
  readonly format: string | null
  /** Names of what it reads itself, each once, in order of first appearance: data sources, pipes and nodes. */
  readonly dependencies: readonly string[]
  /** The columns of the tables that its own text reads, whatever these are called in it. Not for hot paths. */
  ownColumns(): readonly string[]
  /** The tables that it reads itself or through pipes and nodes, as `database.table`, each once. */
  readonly tables: readonly string[]
  /** Settings of the whole query, all of them harmless or ours; they are no part of `sql`. */
  readonly settings: Readonly<Record<string, string | number>>
  /** The names of those that stand in its SETTINGS. */
  readonly writtenSettings: readonly string[]
  /** What people call the tables in messages of the engine: by `database.table`, the name of the data source. */
  readonly tableNames: ReadonlyMap<string, string>
  /** Whether a filter hides rows of anything that it reads. */
  readonly isFiltered: boolean
  /** Those filters. */
  readonly filters: readonly AppliedFilter[]
  /** Whether pipes compute with what the reader may not know: then it is told nothing of what fails in them. */
  readonly isOpaque: boolean
  /** What the engine must find in `sql`, for `checkAgreement`. */
  readonly reading: EngineReading
  /** Where a byte of `sql`, counted from 0 in UTF-8, comes from. Not for hot paths. */
  placeOf(byteOffset: number): SourcePlace
}

/** A place in a text that somebody wrote. */
export interface SourcePlace {
  /** The pipe or node whose text it is; null for the caller's own query. */
  readonly source: string | null
  /** Both counted from 1. */
  readonly line: number
  readonly column: number
}

export interface CompileOptions {
  readonly scope: NameScope
  /** The columns that a query gives, as far as they are known; absent knows none. */
  readonly outputOf?: Compilation['outputOf']
}

/**
 * Checks one query and puts what its names stand for in their place: `FROM events` becomes
 * `` FROM `ws_0001`.`t_…` AS `events` ``, and a pipe its query in brackets.
 *
 * @throws SQL_INVALID (400) when it is no single SELECT, does what a query may not, or reads an unknown table;
 *   SQL_TOO_COMPLEX (400) when the engine would be kept busy by its plan; SQL_EMPTY (400) when there is no token; and what the texts of nodes raise when they are rendered; READ_DENIED, FILTER_BROKEN (403). `UndescribedOutput` where
 *   `outputOf` does not know a query that is filtered.
 */
export function compileQuery(sql: string, { scope, outputOf = () => undefined }: CompileOptions): CompiledQuery {
  const tableNames = new Map<string, string>()
  const reading = {
    functions: new Set<string>(),
    tableFunctions: new Set<string>(),
    commonTables: new Set<string>(),
  }
  const hidden = {
    filtered: new Map<string, AppliedFilter>(),
    filteredPaths: new Set<string>(),
    hiddenNames: new Set<string>(),
  }
  const compilation: Compilation = { ...reading, tableNames, ...hidden, outputOf, done: new Map(), open: [], compile }
  const { spliced, dependencies, parsed, tables, sources } = compile({ sql, scope, node: null }, compilation)
  const isFiltered = hidden.filtered.size > 0
  const tableColumns = [...sources.values()].flatMap((source) => (source.kind === 'table' ? [source.columns] : []))
  if (isFiltered) checkFiltered(reading.functions, hidden.filteredPaths.size > 0)
  const written = settingsOf(parsed.settings)
  return {
    // It is parsed, and all that it reads is resolved.
    sql: spliced.text as CheckedQuery,
    format: parsed.format,
    dependencies,
    ownColumns: () => tableColumns.flat(),
    tables: [...tables.keys()],
    settings: {
      ...written,
      ...functionSettings(reading.functions),
      ...(isFiltered ? filteredSettings : {}),
    },
    writtenSettings: Object.keys(written),
    tableNames,
    isFiltered,
    filters: [...hidden.filtered.values()],
    isOpaque: hidden.hiddenNames.size > 0,
    reading: { ...reading, tables, tableNames },
    placeOf: (byteOffset) => placeOf(spliced, byteOffset),
  }
}

const parsedTexts = new TextMemo<ParsedQuery>()

/** Longest query with everything put into it, in UTF-16 units. */
const expandedLengthMax = 256 * 1024
const readsMax = 256

function compile({ sql, scope, node }: QueryText, compilation: Compilation): CompiledText {
  try {
    const written = parsedTexts.get(sql, () => parse(sql, node))
    const texts = [...checkTableFunctions(written), ...checkTextArguments(written)]
    checkSettings(written)
    checkInternalColumns(written)
    checkCalls(written)
    note(written, compilation)
    const resolved = resolveReads(written, scope, compilation)
    const { edits: tableEdits, dependencies, readCount, tables, parsed, sources } = resolved
    if (readCount > readsMax) throw tooComplex(`it reads more than ${readsMax} tables`, node)
    const relation = weighQuery(parsed, resolved.relations)
    if (!(relation.weight <= planWeightMax)) throw tooComplex(tooHeavy, node)
    const wrapped = wrapArguments(parsed, [...boundArguments(parsed, compilation.functions), ...zoneArguments(parsed)])
    const edits = inOrder(inOrder(tableEdits, texts), wrapped)
    const end = node === null ? parsed.bodyEnd : parsed.queryEnd
    const spliced = splice({ source: sql, node, tokens: parsed.tokens, end, edits })
    if (spliced.text.length > expandedLengthMax) {
      throw tooComplex('it is too long with the queries of its pipes put in', node)
    }
    return { spliced, dependencies, parsed, sources, readCount, tables, relation }
  } catch (thrown) {
    throw toSqlError(thrown, sql, node)
  }
}

const tooHeavy =
  'with its columns, expressions and joins, each as often as it is read, it would keep the database busy before it runs. Select fewer columns in place of *, write what is repeated once, or store a part of it in a Data Source'

function tooComplex(reason: string, node: string | null): Error {
  return errors.SQL_TOO_COMPLEX({ reason, node })
}

/** The edits of two lists, which never overlap, in the order of the text. */
function inOrder(some: readonly Edit[], others: readonly Edit[]): readonly Edit[] {
  if (others.length === 0) return some
  return [...some, ...others].sort((one, other) => one.start - other.start || one.end - other.end)
}

function parse(sql: string, node: string | null): ParsedQuery {
  const parsed = parseStatement(sql)
  if (parsed === null) throw node === null ? errors.SQL_EMPTY() : new SqlFault('The query is empty')
  return parsed
}

/** In lower case. They count the rows that are read together, and so those that a filter hides between others. */
const blockFunctions: ReadonlySet<string> = new Set([
  'blocknumber',
  'blocksize',
  'blockserializedsize',
  'rownumberinblock',
  'runningaccumulate',
  'runningdifference',
  'runningdifferencestartingwithfirstvalue',
  'neighbor',
])

/** In lower case, perhaps with a combinator behind: they tell how the values of all rows are kept together. */
const layoutFunctions = /^(?:dumpcolumnstructure|lowcardinality(?:indices|keys)|estimatecompressionratio)/

/** The same of a column of JSON: which paths have a column of their own, and how many. */
const pathFunctions = /^(?:json(?:dynamic|shareddata)paths|bytesize)/

function checkFiltered(functions: ReadonlySet<string>, hasPaths: boolean): void {
  for (const name of functions) {
    const lower = name.toLowerCase()
    const isRefused = blockFunctions.has(lower) || layoutFunctions.test(lower)
    if (!isRefused && !(hasPaths && pathFunctions.test(lower))) continue
    throw errors.SQL_INVALID({ reason: `Function '${name}' can not be used where the token filters rows` })
  }
}

function note({ calls, tableFunctions, scopes }: ParsedQuery, compilation: Compilation): void {
  for (const { name } of calls) compilation.functions.add(name)
  for (const { name } of tableFunctions) {
    const written = writtenFunctions(name)
    for (const one of written.functions) compilation.functions.add(one)
    for (const one of written.tableFunctions) compilation.tableFunctions.add(one)
  }
  for (const { commonTables } of scopes) for (const { name } of commonTables) compilation.commonTables.add(name)
}

function functionSettings(functions: ReadonlySet<string>): Readonly<Record<string, number>> {
  const rows = blockRowsMax(functions)
  const readsWhole = [...functions].some((name) => multipliesRows.has(name.toLowerCase()))
  return {
    ...(rows === null ? {} : { max_block_size: rows }),
    ...(readsWhole ? { optimize_functions_to_subcolumns: 0 } : {}),
  }
}

/**
 * The engine reads the paths of a JSON column in its place and makes a row of each: what else the SELECT aggregates is wrong
 * then (of 55 functions that are read through subcolumns, in eight queries each, this one alone).
 */
const multipliesRows: ReadonlySet<string> = new Set(['distinctjsonpaths'])

function settingsOf(settings: readonly SettingUse[]): Readonly<Record<string, string | number>> {
  return Object.fromEntries(
    settings.flatMap((setting) => (setting.isOuter ? [[setting.name, settingValue(setting)]] : [])),
  )
}

function placeOf(spliced: SplicedText, byteOffset: number): SourcePlace {
  const offset = Buffer.from(spliced.text).subarray(0, byteOffset).toString().length
  const origin = originOf(spliced, offset)
  return { source: origin.node, ...placeInText(origin.source, origin.offset) }
}
