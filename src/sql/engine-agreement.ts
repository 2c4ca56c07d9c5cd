// The second opinion: the engine's own reading of a query, as EXPLAIN QUERY TREE run_passes=0 tells it, must name nothing
// that our parser has not seen. It finds no fault in a query that both read alike, whatever that does.
//
// The text is a tree by its indentation. Each line says what it is, and what its node is called stands last in it: an alias
// before it is text that somebody has chosen.

import type { CheckedQuery } from '../schema/expressions/checked-text.types.ts'
import { isAllowedFunction } from '../schema/functions/function-policy.ts'
import { inFunctions } from '../schema/syntax/in-functions.ts'
import { ApiError, errors } from '../shared/errors/errors.ts'
import type { EngineReading } from './compilation.types.ts'
import { copiesBelow, readTree, type TreeNode } from './engine-tree.ts'
import { ownQuery } from './own-query.ts'
import { systemTables } from './query-policy.ts'

/**
 * Compares what the engine finds in a query with what we found.
 *
 * @param queryTree as `Store.queryTree` gives it.
 * @throws SQL_INVALID (400) when the engine finds a function that we did not, or a table that we did not or read less or more
 *   often, or the text has an unknown form.
 */
export function checkAgreement(reading: EngineReading, queryTree: string): void {
  if (!/^(?:QUERY|UNION) id: 0\b/.test(queryTree)) throw disagreement('the query', reading)
  const seen: Seen = {
    functions: lowerCase(reading.functions),
    tableFunctions: lowerCase(reading.tableFunctions),
    tables: new Map(),
    copies: new Set(),
  }
  checkNode([readTree(queryTree)], { reading, seen, isCopy: false })
  for (const [table, count] of reading.tables) {
    const { originals, copies } = seen.tables.get(table) ?? { originals: 0, copies: 0 }
    if (count < originals || count > originals + copies) throw disagreement(table, reading)
  }
}

/**
 * Makes sure that the text of the engine still has the form that `checkAgreement` reads, and that this finds what it is there
 * for. To be asked at each start: an engine whose text says nothing to us would agree with everything.
 *
 * @param queryTree as `Store.queryTree`.
 * @throws Error when it has another form; no query may be answered then.
 */
export async function verifyQueryTree(queryTree: (sql: CheckedQuery) => Promise<string>): Promise<void> {
  if (agrees({ ...probeReading, tables: new Map() }, ''))
    throw new Error('what is no reading of a query is taken for one')
  for (const [sql, isAgreed] of treeProbes) {
    if (agrees(probeReading, await queryTree(ownQuery(sql))) !== isAgreed) {
      throw new Error(`the engine tells how it reads a query in an unknown form: ${sql}`)
    }
  }
}

/** One read of `ws_a.t` is what was found in each probe. */
const probeReading: EngineReading = {
  tables: new Map([['ws_a.t', 1]]),
  functions: new Set(['joinGet', 'joinGetOrNull', ...inFunctions]),
  tableFunctions: new Set(['view']),
  commonTables: new Set(['c', 'ws_a.c']),
}

function agrees(reading: EngineReading, tree: string): boolean {
  try {
    checkAgreement(reading, tree)
    return true
  } catch (thrown) {
    if (!(thrown instanceof ApiError)) throw thrown
    return false
  }
}

// Each way to read a table or to call a function, once as it was found by us and once as it was not.
const treeProbes: readonly (readonly [sql: string, isAgreed: boolean])[] = [
  ['WITH c AS (SELECT 1) SELECT a, sum(b) FROM ws_a.t AS x FINAL JOIN c ON 1 = 1', true],
  ['SELECT 1 FROM ws_a.t JOIN ws_a.u ON 1 = 1', false],
  ['SELECT 1 FROM ws_a.u JOIN ws_a.t ON 1 = 1', false],
  ['SELECT 1 FROM ws_a.t, ws_a.u', false],
  ['SELECT 1 FROM ws_a.u, ws_a.t', false],
  ['SELECT 1 FROM ws_a.t, ws_a.c', false],
  ['SELECT 1 FROM ws_a.t, d', false],
  ['SELECT 1 FROM ws_a.t, system.one', true],
  ['SELECT 1 FROM ws_a.t, system.users', false],
  ['SELECT 1 FROM ws_a.u AS `a, identifier: ws_a.t`, ws_a.t', false],
  ['SELECT 1 FROM ws_a.t ARRAY JOIN b AS n', true],
  ['SELECT 1 FROM (SELECT 1 FROM ws_a.u ARRAY JOIN b AS n) AS x, ws_a.t', false],
  ['SELECT 1 FROM (SELECT 1 FROM ws_a.u) AS x, ws_a.t', false],
  ['SELECT (SELECT 1 FROM ws_a.u) FROM ws_a.t', false],
  ['SELECT 1 FROM ws_a.t UNION ALL SELECT 1 FROM d', false],
  ['SELECT 1', false],
  ['SELECT 1 WHERE (1, 2) IN ws_a.t', true],
  ['SELECT 1 FROM ws_a.t WHERE (1, 2) GLOBAL NOT IN ws_a.u', false],
  ...[...inFunctions].map((name): readonly [string, boolean] => [`SELECT ${name}(1, ws_a.u) FROM ws_a.t`, false]),
  ["SELECT joinGet('ws_a.t', 'v', 1)", true],
  ["SELECT joinGet('ws_a.u', 'v', 1) FROM ws_a.t", false],
  ["SELECT joinGetOrNull('ws_a.u', 'v', 1) FROM ws_a.t", false],
  ["SELECT file('x') FROM ws_a.t", false],
  ['SELECT * APPLY(x -> sleep(x)) FROM ws_a.t', false],
  ['SELECT 1 FROM ws_a.t, numbers(3)', false],
  ['SELECT 1 FROM view(SELECT 1 FROM ws_a.t)', true],
  ['SELECT 1 FROM view(SELECT 1 FROM ws_a.u) AS x, ws_a.t', false],
  // How often it is read; what the engine repeats by itself counts as often as it was written.
  ['SELECT 1 FROM ws_a.t, ws_a.t AS y', false],
  ['SELECT 1 FROM ws_a.t UNION ALL SELECT 1 FROM ws_a.t', false],
  ['SELECT 1 FROM ws_a.t WHERE (1, 2) IN ws_a.t', false],
  ["SELECT joinGet('ws_a.t', 'v', 1) FROM ws_a.t", false],
  ['SELECT (SELECT 1 FROM ws_a.t) BETWEEN 0 AND 2', true],
  ['SELECT (SELECT 1 FROM ws_a.t) BETWEEN 0 AND (SELECT 1 FROM ws_a.t)', false],
  ['SELECT (SELECT 1 FROM ws_a.t) >= 0 AND (SELECT 2 FROM ws_a.t) <= 2', false],
  ['WITH c AS (SELECT 1 FROM ws_a.t) SELECT 1 FROM c UNION ALL SELECT 2 FROM c', true],
  ['WITH c AS (SELECT 1 FROM ws_a.t) SELECT 1 FROM c UNION ALL SELECT 2 FROM c, ws_a.t', false],
]

interface Check {
  readonly reading: EngineReading
  readonly seen: Seen
  /** Whether the engine has made the node, or what is around it, as a copy. */
  readonly isCopy: boolean
}

interface Seen {
  /** In lower case. */
  readonly functions: ReadonlySet<string>
  readonly tableFunctions: ReadonlySet<string>
  /** How often the engine reads each table. */
  readonly tables: Map<string, TableReads>
  /** What the engine has made of other nodes. */
  readonly copies: Set<TreeNode>
}

interface TableReads {
  originals: number
  copies: number
}

/** What the engine makes of `(VALUES (1), (2))`, which says nothing that is not in the query. */
const valuesFunction = 'SQLStandardValues'

const tablePlaces: ReadonlySet<string> = new Set([
  'JOIN TREE',
  'TABLE EXPRESSION',
  'LEFT TABLE EXPRESSION',
  'RIGHT TABLE EXPRESSION',
])

/** Checks the last node of the path, and what is below it. */
function checkNode(path: readonly TreeNode[], check: Check): void {
  const node = path.at(-1)
  if (node === undefined) return
  checkLine(path, check)
  for (const copy of copiesBelow(node)) check.seen.copies.add(copy)
  for (const child of node.children) {
    const isCopy = check.isCopy || check.seen.copies.has(child)
    // No more of the path is looked at.
    checkNode([...path.slice(-3), child], { ...check, isCopy })
  }
}

function checkLine(path: readonly TreeNode[], check: Check): void {
  const text = path.at(-1)?.text ?? ''
  const { seen, reading } = check
  if (text.startsWith('FUNCTION ')) {
    const name = /.*function_name: (.*), function_type: /.exec(text)?.[1] ?? text
    const isKnown = isAllowedFunction(name) || seen.functions.has(name.toLowerCase())
    if (!isKnown) throw disagreement(name, reading)
  } else if (text.startsWith('TABLE_FUNCTION ')) {
    const name = /.*table_function_name: ([^,]*)/.exec(text)?.[1] ?? text
    const isKnown = name === valuesFunction || seen.tableFunctions.has(name.toLowerCase())
    if (!isKnown) throw disagreement(name, reading)
  } else if (text.startsWith('IDENTIFIER ')) {
    const name = /.*identifier: (.*?)(?:, (?:final|sample_size|sample_offset): .*)?$/.exec(text)?.[1] ?? text
    if (tablePlaces.has(path.at(-2)?.text ?? '')) checkTable(name, check)
    else if (inFunctions.has(argumentOf(path, 2)) && name.includes('.')) checkTable(name, check)
  } else if (/^joinget/.test(argumentOf(path, 1))) {
    checkTable(/constant_value: '(.*)', constant_value_type: String$/.exec(text)?.[1] ?? text, check)
  }
}

function checkTable(name: string, { reading, seen, isCopy }: Check): void {
  const { tables, commonTables } = reading
  if (tables.has(name)) {
    const reads = seen.tables.get(name) ?? { originals: 0, copies: 0 }
    reads[isCopy ? 'copies' : 'originals'] += 1
    seen.tables.set(name, reads)
  } else if (!systemTables.has(name) && (name.includes('.') || !commonTables.has(name))) {
    throw disagreement(name, reading)
  }
}

/** The function, in lower case, whose argument the last node of the path is; empty unless it is that one, counted from 1. */
function argumentOf(path: readonly TreeNode[], position: number): string {
  const [call, section, , node] = path.slice(-4)
  if (node?.position !== position || section?.text !== 'ARGUMENTS') return ''
  return /^FUNCTION .*function_name: (.*), function_type: /.exec(call?.text ?? '')?.[1]?.toLowerCase() ?? ''
}

function lowerCase(names: ReadonlySet<string>): ReadonlySet<string> {
  return new Set([...names].map((name) => name.toLowerCase()))
}

/** Tables are told as the caller calls them, and never by what the service calls them. */
function disagreement(what: string, { tableNames }: EngineReading): Error {
  const name = tableNames?.get(what) ?? what.replaceAll(/\bws_\w+\./g, '').replaceAll(/\bt_[0-9a-f]{32}\w*/g, 'a table')
  return errors.SQL_INVALID({
    reason: `The query can not be read in one way only, because of '${name}': write it plainer`,
  })
}
