// What the author of a query may have meant by a name that is no column. The engine suggests some, by a measure of its own and
// among what its tables have; the names here are those of the tables that the author's own text was resolved to, and what the
// engine suggests for it.

import { didYouMean } from '../shared/nearest-name.ts'
import type { CompiledQuery } from '../sql/compile-query.ts'
import { isOwnText } from '../store/engine-message.ts'
import { functionAdvice } from './function-advice.ts'

type Advised = Pick<CompiledQuery, 'sql' | 'ownColumns' | 'placeOf'>

/** Columns that are looked at. */
const columnsMax = 10_000
/** A longer name is near to none, and a regular expression of it may be too large. */
const nameCharsMax = 500

/**
 * Advice about the engine's message, as the engine wrote it, for the author of the text; undefined when there is none.
 *
 * A name in the text of a pipe is none of the reader's.
 */
export function adviceFor(message: string, plan: Advised): string | undefined {
  if (isOwnText(message)) return undefined
  const unwritten = unwrittenType.exec(message)
  if (unwritten !== null) return typeAdvice(unwritten)
  const advice = functionAdvice(message, plan)
  if (advice !== undefined) return advice
  const name = unknownName
    .exec(message)
    ?.slice(1)
    .find((found) => found !== undefined)
  if (name === undefined || name.length > nameCharsMax) return undefined
  // What stood in double quotes may stand in backquotes by now.
  const at = Math.max(plan.sql.indexOf(`"${name}"`), plan.sql.indexOf(`\`${name}\``))
  const isQuoted = at >= 0
  const nameAt = isQuoted ? at : Math.max(0, findName(plan.sql, name))
  const place = plan.placeOf(Buffer.byteLength(plan.sql.slice(0, nameAt)))
  if (place.source !== null) return undefined
  const last = name.slice(name.lastIndexOf('.') + 1)
  const suggested = (/Maybe you meant: \[([^\]]*)\]/.exec(message)?.[1] ?? '').match(/(?<=')[^',]+(?=')/g) ?? []
  const known = [...suggested.map((one) => one.slice(one.lastIndexOf('.') + 1)), ...plan.ownColumns()]
  const near = didYouMean(last, known.slice(0, columnsMax))
  if (near !== undefined || !isQuoted) return near
  return `Double quotes and backquotes enclose names; single quotes enclose a text: '${name}'`
}

/** Of formats that have no such type. The engine calls the elements of an array `element`. */
const unwrittenType = /^Internal type '(\w+)' of column '(.*)' is not supported for conversion into (\w+)/

function typeAdvice([, type = '', column = '', format = '']: RegExpExecArray): string {
  switch (type) {
    case 'Nothing':
      return 'NULL and [] have no type of their own: CAST(NULL AS Nullable(String)), CAST([] AS Array(String))'
    case 'AggregateFunction':
      return `A state has no value yet: finalizeAggregation(${column}), or the function with -Merge and GROUP BY`
    default:
      return `${format} has no such type: CAST(${column} AS String), or another type, or another format`
  }
}

const unknownName =
  /(?:Unknown [\w ]*identifier|Identifier) [`']([^`']+)[`']|Missing columns: '([^']+)'|There is no column [`']([^`']+)[`']/

function findName(sql: string, name: string): number {
  const last = name.slice(name.lastIndexOf('.') + 1)
  return sql.search(new RegExp(`(?<![\\w.])\`?${last.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')}\`?(?!\\w)`))
}
