// The door of the room: a user's query made into one that the store can run.
//
// What holds for the text that comes out:
// - Every table in it is qualified. The reader's current database is empty, so the engine finds nothing that was overlooked.
// - Every pipe and node stands in it as a subquery, whose text was made in the same way.
// - Every read of a table with a row filter is a subquery with that filter.

import { errors } from '../shared/errors.ts'
import type { Compilation, CompiledText, EngineReading, QueryText } from './compilation.types.ts'
import { checkFunction, checkPassedFunction } from './function-policy.ts'
import { resolveReads } from './name-resolver.ts'
import { parseStatement } from './parse-statement.ts'
import type { ParsedQuery, SettingUse } from './parsed-query.types.ts'
import { checkQueryParts, settingValue } from './query-policy.ts'
import { findAlias } from './scope-lookup.ts'
import type { NameScope } from './source.types.ts'
import { originOf, type SplicedText, splice } from './splice.ts'
import { placeInText, SqlFault, toSqlError } from './sql-fault.ts'
import { TextMemo } from './text-memo.ts'

/** A user's query, ready for the store. */
export interface CompiledQuery {
  /** One SELECT without FORMAT and comments; every data source in it is qualified, every pipe and node put in. */
  readonly sql: string
  /** The name after FORMAT as it was written, or null. */
  readonly format: string | null
  /** Names of what it reads itself, each once, in order of first appearance: data sources, pipes and nodes. */
  readonly dependencies: readonly string[]
  /** The tables that it reads itself or through pipes and nodes, as `database.table`, each once. */
  readonly tables: readonly string[]
  /** Settings of the whole query, all of them harmless; they are no part of `sql`. */
  readonly settings: Readonly<Record<string, string | number>>
  /** What people call the tables in messages of the engine: by `database.table`, the name of the data source. */
  readonly tableNames: ReadonlyMap<string, string>
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
}

/**
 * Checks one query and puts what its names stand for in their place: `FROM events` becomes
 * `` FROM `ws_0001`.`t_…` AS `events` ``, and a pipe its query in brackets.
 *
 * @throws SQL_INVALID (400) when it is no single SELECT, does what a query may not, or reads an unknown table;
 *   SQL_EMPTY (400) when there is no token; and what the texts of nodes raise when they are rendered.
 */
export function compileQuery(sql: string, { scope }: CompileOptions): CompiledQuery {
  const tableNames = new Map<string, string>()
  const reading = {
    functions: new Set<string>(),
    tableFunctions: new Set<string>(),
    commonTables: new Set<string>(),
  }
  const compilation: Compilation = { ...reading, tableNames, done: new Map(), open: [], compile }
  const { spliced, dependencies, parsed } = compile({ sql, scope, node: null }, compilation)
  const tables = [...tableNames.keys()]
  return {
    sql: spliced.text,
    format: parsed.format,
    dependencies,
    tables,
    settings: settingsOf(parsed.settings),
    tableNames,
    reading: { ...reading, tables: new Set(tables) },
    placeOf: (byteOffset) => placeOf(spliced, byteOffset),
  }
}

const parsedTexts = new TextMemo<ParsedQuery>()

/** Longest query with everything put into it, in UTF-16 units. */
const expandedLengthMax = 256 * 1024
const readsMax = 256

function compile({ sql, scope, node }: QueryText, compilation: Compilation): CompiledText {
  try {
    const parsed = parsedTexts.get(sql, () => parse(sql, node))
    checkQueryParts(parsed)
    checkCalls(parsed)
    note(parsed, compilation)
    const { edits, dependencies, readCount } = resolveReads(parsed, scope, compilation)
    if (readCount > readsMax) throw new SqlFault(`The query is too complex: it reads more than ${readsMax} tables`)
    const end = node === null ? parsed.bodyEnd : parsed.queryEnd
    const spliced = splice({ source: sql, node, tokens: parsed.tokens, end, edits })
    if (spliced.text.length > expandedLengthMax) {
      throw new SqlFault('The query is too complex: it is too long with the queries of its pipes put in')
    }
    return { spliced, dependencies, parsed, readCount }
  } catch (thrown) {
    throw toSqlError(thrown, sql, node)
  }
}

function parse(sql: string, node: string | null): ParsedQuery {
  const parsed = parseStatement(sql)
  if (parsed === null) throw node === null ? errors.SQL_EMPTY() : new SqlFault('The query is empty')
  return parsed
}

function checkCalls({ calls, scopes }: ParsedQuery): void {
  for (const { name, scope, isCalled } of calls) {
    // A name alone may be that of a column; only what must not be called at all is looked for.
    if (isCalled) checkFunction(name, () => findAlias(scopes, scope, name) === 'lambda')
    else checkPassedFunction(name)
  }
}

function note({ calls, tableFunctions, scopes }: ParsedQuery, compilation: Compilation): void {
  for (const { name } of calls) compilation.functions.add(name)
  for (const name of tableFunctions) compilation.tableFunctions.add(name)
  for (const { commonTables } of scopes) for (const { name } of commonTables) compilation.commonTables.add(name)
}

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
