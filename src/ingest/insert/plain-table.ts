// Whether the table of a data source computes next to nothing of a row. Its INSERTs take as long as their bytes, and the
// engine can stop them: so nothing need be known of how long earlier ones took.

import type { DataSource } from '../../catalog/data-source.types.ts'

const expressionLengthMax = 1_000
const expressionsMax = 100

/** Each takes a moment for a row, whatever the row is. */
const cheapFunctions: ReadonlySet<string> = new Set(
  `now now64 today yesterday generateuuidv4 generateuuidv7 tuple todate todate32 todatetime todatetime64 toyear tomonth
   toyyyymm toyyyymmdd toyyyymmddhhmmss tomonday tohour tostartofyear tostartofquarter tostartofmonth tostartofweek
   tostartofday tostartofhour tostartofminute tointervalsecond tointervalminute tointervalhour tointervalday
   tointervalweek tointervalmonth tointervalyear tounixtimestamp tostring touint8 touint16 touint32 touint64 toint8 toint16
   toint32 toint64 tofloat32 tofloat64 cityhash64 siphash64 xxhash64 coalesce ifnull nullif lower upper`.split(/\s+/),
)

/** Looks at DEFAULTs, keys and indexes. */
export function isPlainTable({ columns, engine, indexes }: DataSource): boolean {
  const defaults = columns.flatMap(({ defaultExpression }) => defaultExpression ?? [])
  const expressions = [...defaults, ...Object.values(engine.options), ...indexes.map(({ expression }) => expression)]
  return expressions.length <= expressionsMax && expressions.every(isCheap)
}

function isCheap(expression: string): boolean {
  if (expression.length > expressionLengthMax) return false
  // A function may be named in quotes, and a lambda may run many times.
  if (/["`]\s*\(|->/.test(expression)) return false
  const names = [...expression.matchAll(/(\w+)\s*\(/g)].map(([, name = '']) => name.toLowerCase())
  return names.every((name) => cheapFunctions.has(name))
}
