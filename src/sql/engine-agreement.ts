// The second opinion: the engine's own reading of a query, as EXPLAIN QUERY TREE run_passes=0 tells it, must name nothing
// that our parser has not seen. It finds no fault in a query that both read alike, whatever that does.
//
// The text is a tree by its indentation. Each line says what it is, and what its node is called stands last in it: an alias
// before it is text that somebody has chosen.

import { ApiError, errors } from '../shared/errors.ts'
import type { EngineReading } from './compilation.types.ts'
import { isAllowedFunction } from './function-policy.ts'
import { inFunctions } from './in-functions.ts'
import { systemTables } from './query-policy.ts'

/**
 * Compares what the engine finds in a query with what we found.
 *
 * @param queryTree as `Store.queryTree` gives it.
 * @throws SQL_INVALID (400) when the engine finds a table or a function that we did not, or the text has an unknown form.
 */
export function checkAgreement(reading: EngineReading, queryTree: string): void {
  const lines = queryTree.split('\n')
  if (!/^(?:QUERY|UNION) id: 0\b/.test(lines[0] ?? '')) throw disagreement('the query')
  const seen: Seen = {
    functions: lowerCase(reading.functions),
    tableFunctions: lowerCase(reading.tableFunctions),
    tables: new Set(),
  }
  const path: TreeLine[] = []
  for (const line of lines) {
    const text = line.trimStart()
    path.length = Math.min(path.length, Math.floor((line.length - text.length) / 2))
    const parent = path.at(-1)
    if (parent !== undefined) parent.childCount += 1
    path.push({ text, childCount: 0 })
    checkLine(path, reading, seen)
  }
  for (const table of reading.tables) if (!seen.tables.has(table)) throw disagreement(table)
}

/**
 * Makes sure that the text of the engine still has the form that `checkAgreement` reads. To be asked once, at the start: an
 * engine whose text says nothing to us would agree with everything.
 *
 * @param queryTree as `Store.queryTree`.
 * @throws Error when it has another form.
 */
export async function verifyQueryTree(queryTree: (sql: string) => Promise<string>): Promise<void> {
  const reading: EngineReading = {
    tables: new Set(['ws_a.t']),
    functions: new Set(['joinGet']),
    tableFunctions: new Set(),
    commonTables: new Set(['c']),
  }
  for (const [sql, isAgreed] of treeProbes) {
    const tree = await queryTree(sql)
    if (agrees(reading, tree) !== isAgreed) {
      throw new Error(`the engine tells how it reads a query in an unknown form: ${sql}`)
    }
  }
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
  ['SELECT 1 FROM ws_a.u AS `a, identifier: ws_a.t`, ws_a.t', false],
  ['SELECT 1 FROM ws_a.t ARRAY JOIN b AS n', true],
  ['SELECT 1 FROM (SELECT 1 FROM ws_a.u) AS x, ws_a.t', false],
  ['SELECT 1 FROM ws_a.t UNION ALL SELECT 1 FROM d', false],
  ['SELECT 1 WHERE (1, 2) IN ws_a.t', true],
  ['SELECT 1 FROM ws_a.t WHERE (1, 2) GLOBAL NOT IN ws_a.u', false],
  ["SELECT joinGet('ws_a.t', 'v', 1)", true],
  ["SELECT joinGet('ws_a.u', 'v', 1) FROM ws_a.t", false],
  ["SELECT file('x') FROM ws_a.t", false],
  ['SELECT * APPLY(x -> sleep(x)) FROM ws_a.t', false],
  ['SELECT 1 FROM ws_a.t, numbers(3)', false],
]

interface TreeLine {
  readonly text: string
  childCount: number
}

interface Seen {
  /** In lower case. */
  readonly functions: ReadonlySet<string>
  readonly tableFunctions: ReadonlySet<string>
  /** The tables that the engine found so far. */
  readonly tables: Set<string>
}

/** What the engine makes of `(VALUES (1), (2))`, which says nothing that is not in the query. */
const valuesFunction = 'SQLStandardValues'

const tablePlaces: ReadonlySet<string> = new Set([
  'JOIN TREE',
  'TABLE EXPRESSION',
  'LEFT TABLE EXPRESSION',
  'RIGHT TABLE EXPRESSION',
])

/** Checks the last line of the path. */
function checkLine(path: readonly TreeLine[], reading: EngineReading, seen: Seen): void {
  const text = path.at(-1)?.text ?? ''
  if (text.startsWith('FUNCTION ')) {
    const name = /.*function_name: (.*), function_type: /.exec(text)?.[1] ?? text
    const isKnown = isAllowedFunction(name) || seen.functions.has(name.toLowerCase())
    if (!isKnown) throw disagreement(name)
  } else if (text.startsWith('TABLE_FUNCTION ')) {
    const name = /.*table_function_name: ([^,]*)/.exec(text)?.[1] ?? text
    if (name !== valuesFunction && !seen.tableFunctions.has(name.toLowerCase())) throw disagreement(name)
  } else if (text.startsWith('IDENTIFIER ')) {
    const name = /.*identifier: (.*?)(?:, (?:final|sample_size|sample_offset): .*)?$/.exec(text)?.[1] ?? text
    if (tablePlaces.has(path.at(-2)?.text ?? '')) checkTable(name, reading, seen)
    else if (inFunctions.has(argumentOf(path, 2)) && name.includes('.')) checkTable(name, reading, seen)
  } else if (/^joinget/.test(argumentOf(path, 1))) {
    checkTable(/constant_value: '(.*)', constant_value_type: String$/.exec(text)?.[1] ?? text, reading, seen)
  }
}

function checkTable(name: string, { tables, commonTables }: EngineReading, seen: Seen): void {
  if (tables.has(name)) seen.tables.add(name)
  else if (!systemTables.has(name) && (name.includes('.') || !commonTables.has(name))) throw disagreement(name)
}

/** The function, in lower case, whose argument the last line of the path is; empty unless it is that one, counted from 1. */
function argumentOf(path: readonly TreeLine[], position: number): string {
  const [call, section, list] = path.slice(-4)
  if (list?.childCount !== position || section?.text !== 'ARGUMENTS') return ''
  return /^FUNCTION .*function_name: (.*), function_type: /.exec(call?.text ?? '')?.[1]?.toLowerCase() ?? ''
}

function lowerCase(names: ReadonlySet<string>): ReadonlySet<string> {
  return new Set([...names].map((name) => name.toLowerCase()))
}

function disagreement(what: string): Error {
  return errors.SQL_INVALID({
    reason: `The query can not be read in one way only, because of '${what}': write it plainer`,
  })
}
