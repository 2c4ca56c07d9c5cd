import { assert } from '../../shared/assert.ts'
import { kibibyte } from '../../shared/bytes.ts'
import { quoteString } from '../../shared/text-escapes.ts'
import { clickhouseCodes } from '../engine-codes.ts'
import { type Settings, selectSettings, settingsText } from '../sql/statement-settings.ts'
import type { SelectQuery } from '../store.types.ts'
import { StoreError } from '../store-error.ts'
import type { EngineSession } from './engine-session.types.ts'

/** What one reader's query may use. */
export interface SelectLimits {
  readonly queryTimeMaxMs: number
  readonly queryMemoryBytesMax: number
  /** Of its columns in memory, as the engine counts them; see `ResultGrowth` for its bytes. */
  readonly resultBytesMax: number
}

export interface RunningSelect {
  readonly query: SelectQuery
  /** The statement's `log_comment`, by which it can be stopped. */
  readonly id: string
  /** A file that does not exist yet: the result goes there. Null gives it in memory, if it is small. */
  readonly path: string | null
}

// Results of so many bytes, as the engine counts their columns, are held in memory; as text they may be some times larger.
// A constant counts once, however many rows repeat it, so rows are counted too.
const smallResultBytesMax = 64 * kibibyte
const smallResultRowsMax = 1_000

/** The lowest priority that Linux gives: about a seventieth of the share that others have. */
const niceMax = 19

const outputSettings: Settings = {
  output_format_json_quote_64bit_integers: 0,
  output_format_json_quote_denormals: 0,
  output_format_parquet_string_as_string: 0,
}

/**
 * What the session of a reader is set to when it opens: a statement then names only what it wants otherwise. Each setting
 * of a statement costs; with all of them in each, a short query took a third more of the processor.
 */
export function readerSettings(limits: Pick<SelectLimits, 'queryTimeMaxMs' | 'queryMemoryBytesMax'>): Settings {
  return {
    ...outputSettings,
    ...selectSettings,
    max_execution_time: limits.queryTimeMaxMs / 1000,
    max_memory_usage: limits.queryMemoryBytesMax,
    max_threads: 1,
    max_result_rows: 0,
    allow_ddl: 0,
  }
}

/** The query of a reader as the engine gets it, in a session with `readerSettings`. */
export function selectStatement({ query, id, path }: RunningSelect, limits: SelectLimits): string {
  assert(/^\w+$/.test(query.format), 'a format has a name of the engine')
  const { threads = 1 } = query
  const settings = settingsText({
    ...chosenSettings(query.settings),
    ...resultLimits(path, limits),
    ...(threads === 1 ? {} : { max_threads: threads }),
    // Without the capability CAP_SYS_NICE the engine passes over it.
    ...(query.watch?.yields === true ? { os_threads_nice_value_query: niceMax } : {}),
    ...(query.timeMaxMs === undefined ? {} : { max_execution_time: query.timeMaxMs / 1000 }),
    log_comment: id,
  })
  const target = path === null ? '' : `\nINTO OUTFILE ${quoteString(path)}`
  return `${query.sql}${target}\nFORMAT ${query.format}\nSETTINGS ${settings}`
}

const sessionNames: ReadonlySet<string> = new Set(
  Object.keys(readerSettings({ queryTimeMaxMs: 0, queryMemoryBytesMax: 0 })),
)

/** Settings of the caller that the session has not, or has otherwise; of those that it has, only the output's change. */
function chosenSettings(asked: Settings): Settings {
  const chosen: Record<string, string | number> = {}
  for (const [name, value] of Object.entries(asked)) {
    const isOutput = Object.hasOwn(outputSettings, name)
    if (isOutput ? outputSettings[name] !== value : !sessionNames.has(name)) chosen[name] = value
  }
  return chosen
}

function resultLimits(path: string | null, { resultBytesMax }: SelectLimits): Settings {
  if (path !== null) return { max_result_bytes: resultBytesMax }
  return { max_result_bytes: Math.min(smallResultBytesMax, resultBytesMax), max_result_rows: smallResultRowsMax }
}

/** Whether a result was too large for memory; it may still be none too large for a file. */
export function isTooLargeForMemory(thrown: unknown): boolean {
  return thrown instanceof StoreError && thrown.clickhouseCode === clickhouseCodes.resultTooLarge
}

/** A statement that tells how the engine reads a query, without running anything of it. */
export function queryTreeStatement(sql: string): string {
  return `EXPLAIN QUERY TREE run_passes=0\n${sql}\nFORMAT TSVRaw`
}

export function isSyntaxError(thrown: unknown): thrown is StoreError {
  return thrown instanceof StoreError && thrown.clickhouseCode === clickhouseCodes.syntaxError
}

/**
 * The syntax error of the query by itself. The first one may speak of what this file put behind the query; the engine
 * parses it once more, without running anything.
 */
export async function plainSyntaxError(session: EngineSession, sql: string, first: StoreError): Promise<StoreError> {
  try {
    await session.run(`SELECT formatQuerySingleLine(${quoteString(sql)}) FORMAT Null`)
  } catch (thrown) {
    if (!isSyntaxError(thrown)) return first
    const message = thrown.message.replace(/: In scope SELECT formatQuerySingleLine\(.*$/s, '. (SYNTAX_ERROR)')
    return new StoreError({ kind: 'engine', message, clickhouseCode: thrown.clickhouseCode, cause: first })
  }
  return first
}
