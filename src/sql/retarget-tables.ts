import type { CheckedQuery } from '../schema/expressions/checked-text.types.ts'
import type { ParsedQuery, TableRead } from '../schema/syntax/parsed-query.types.ts'
import { findAlias } from '../schema/syntax/scope-aliases.ts'
import { type Edit, splice } from '../schema/syntax/splice.ts'
import { SqlFault, toSqlError } from '../schema/syntax/sql-fault.ts'
import { errors } from '../shared/errors/errors.ts'
import { quoteName } from '../shared/text-escapes.ts'
import { parseStatement } from './parse-statement.ts'
import { systemTables } from './query-policy.ts'
import { findCommonTable } from './scope-lookup.ts'

export interface RetargetOptions {
  readonly database: string
  /** Every table of the database that the query may read. */
  readonly tables: ReadonlySet<string>
  /** What is read in the place of a table: SQL that may stand behind FROM. Tables that are not in it are read as they are. */
  readonly replacements: ReadonlyMap<string, string>
  /** True leaves out FINAL and SAMPLE behind what is replaced: a view sees rows of a block, for which they mean nothing. */
  readonly leavesModifiers?: boolean
}

export interface RetargetedQuery {
  readonly sql: CheckedQuery
  /** How often each table of the database is read. */
  readonly readCounts: ReadonlyMap<string, number>
}

/**
 * A query of ours, such as that of a view, with other tables in the place of some of its own. The names by which the query
 * speaks of its tables stay what they are.
 *
 * @throws SQL_INVALID (400) when it cannot be read, or reads what is none of `tables`.
 */
export function retargetTables(sql: string, options: RetargetOptions): RetargetedQuery {
  try {
    return retarget(sql, options)
  } catch (thrown) {
    throw toSqlError(thrown, sql)
  }
}

function retarget(sql: string, options: RetargetOptions): RetargetedQuery {
  const parsed = parseStatement(sql)
  if (parsed === null) throw errors.SQL_EMPTY()
  const readCounts = new Map<string, number>()
  const edits: Edit[] = []
  for (const read of parsed.reads) {
    const table = tableOf(read, parsed, options)
    if (table === undefined) continue
    readCounts.set(table, (readCounts.get(table) ?? 0) + 1)
    const replacement = options.replacements.get(table)
    if (replacement === undefined) continue
    const after = read.hasAlias ? '' : ` AS ${quoteName(table)}`
    edits.push({ start: read.start, end: read.end, before: replacement, inner: null, after })
    const { start, end } = read.modifiers
    if (options.leavesModifiers === true && end > start) edits.push({ start, end, before: '', inner: null, after: '' })
  }
  const { tokens, queryEnd } = parsed
  const { text } = splice({ source: sql, node: null, tokens, end: queryEnd, edits })
  // It is parsed, and each of its tables is known.
  return { sql: text as CheckedQuery, readCounts }
}

/** Undefined for what is no table of the database, and may stand there. */
function tableOf(
  { kind, parts, scope }: TableRead,
  { scopes }: ParsedQuery,
  { database, tables }: RetargetOptions,
): string | undefined {
  const [first = ''] = parts ?? []
  if (parts?.length === 1 && kind !== 'joinGet' && findCommonTable(scopes, scope, first) !== undefined) return undefined
  if (kind === 'in' && findAlias(scopes, scope, first) !== undefined) return undefined
  const name = (parts ?? []).join('.')
  const table = name.startsWith(`${database}.`) ? name.slice(database.length + 1) : name
  if (kind !== 'joinGet' && tables.has(table)) return table
  if ((kind === 'in' && parts?.length === 1) || systemTables.has(name)) return undefined
  throw new SqlFault(`Resource '${name}' not found`)
}
