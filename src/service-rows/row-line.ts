// Rows as the engine reads them. It refuses a batch for one number or text that a column cannot take, and with it the rows of others,
// so what is told is brought into the range of its column: a wrong figure costs less than a lost row.

import { type ServiceTable, type ServiceTableName, serviceTables } from '../store/sql/service-tables.ts'

interface Range {
  readonly min: number
  readonly max: number
  readonly isWhole: boolean
}

const ranges: Readonly<Record<string, Range>> = {
  UInt8: { min: 0, max: 255, isWhole: true },
  // JSON writes no larger ones digit by digit.
  UInt64: { min: 0, max: Number.MAX_SAFE_INTEGER, isWhole: true },
  Int32: { min: -(2 ** 31), max: 2 ** 31 - 1, isWhole: true },
  Float64: { min: -Number.MAX_VALUE, max: Number.MAX_VALUE, isWhole: false },
  // Days, and seconds, since 1970.
  Date: { min: 0, max: 65_535, isWhole: true },
  DateTime: { min: 0, max: 2 ** 32 - 1, isWhole: true },
}

type BoundedColumns = readonly (readonly [name: string, range: Range])[]

/** Of each table the columns of numbers. */
const boundedColumns: ReadonlyMap<string, BoundedColumns> = new Map(
  Object.entries<ServiceTable>(serviceTables).map(([name, { columns }]) => [name, columns.flatMap(boundsOf)]),
)

function boundsOf([name, type]: ServiceTable['columns'][number]): BoundedColumns {
  const range = ranges[type]
  return range === undefined ? [] : [[name, range]]
}

/** The row as a line of JSON without its line feed: columns, or the fields that the table is filled from. */
export function rowLine(name: ServiceTableName, row: Readonly<Record<string, unknown>>): string {
  let taken = row
  for (const [column, range] of boundedColumns.get(name) ?? []) {
    const value = row[column]
    if (typeof value !== 'number') continue
    const inRange = nearest(range, value)
    if (inRange !== value) taken = { ...taken, [column]: inRange }
  }
  return withoutLoneHalves(JSON.stringify(taken))
}

/** The number of this type that is nearest; 0 for what is none. */
export function numberWithin(type: string, value: number): number {
  const range = ranges[type]
  return range === undefined ? value : nearest(range, value)
}

function nearest(range: Range, value: number): number {
  if (Number.isNaN(value)) return 0
  const whole = range.isWhole ? Math.trunc(value) : value
  return Math.min(Math.max(whole, range.min), range.max)
}

/** JSON writes half of a character as an escape, which the engine refuses; a backslash before it may be one of the text's own. */
function withoutLoneHalves(line: string): string {
  if (!line.includes('\\ud')) return line
  return line.replace(/\\(?:\\|ud[89a-f][0-9a-f]{2})/g, (found) => (found === '\\\\' ? found : '\\ufffd'))
}
