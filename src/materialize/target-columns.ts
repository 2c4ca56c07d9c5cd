// Whether what a view gives fits the data source that it is to fill, column by column, and which SQL would.
//
// The engine casts what a view gives to the columns of its target without a word, and leaves out what the target has no column
// for. So only what loses nothing is taken: the same type, and one that holds every value of the other.

import type { ViewColumn } from '../catalog/pipe.types.ts'
import type { ColumnDefinition } from '../schema/columns/column-definition.types.ts'
import { formatColumnType, isNullable, parseColumnType, valueTypeOf } from '../schema/types/column-type.ts'
import type { ColumnType } from '../schema/types/column-type.types.ts'
import { nearestName } from '../shared/nearest-name.ts'
import { TextError } from '../shared/text-error.ts'
import { quoteName, quoteString } from '../shared/text-escapes.ts'

export interface Fit {
  /** A clause for each column that does not fit. */
  readonly faults: readonly string[]
  readonly warnings: readonly string[]
}

/** Whether the engine takes states of one type for a column of another. */
export type TakesStates = (given: string, column: string) => boolean

/** How the columns of a view fit those of a data source. */
export function fitColumns(
  given: readonly ViewColumn[],
  target: readonly ColumnDefinition[],
  takesStates: TakesStates,
): Fit {
  const faults = given.flatMap((column) => faultOf(column, target, takesStates) ?? [])
  const names = new Set(given.map(({ name }) => name))
  const missing = target.filter(({ name }) => !names.has(name))
  const warnings = missing.map(({ name, defaultExpression }) => {
    const value = defaultExpression === null ? 'the empty value of its type' : `its DEFAULT, ${defaultExpression}`
    return `the query gives no column '${name}', so the rows of the view have ${value} in it`
  })
  return { faults, warnings }
}

/** The types of columns of states that say something else, of which the engine is to be asked. */
export function otherStates(
  given: readonly ViewColumn[],
  target: readonly ColumnDefinition[],
): readonly (readonly [given: string, column: string])[] {
  return given.flatMap(({ name, typeText }) => {
    const column = target.find((one) => one.name === name)
    if (column?.type.kind !== 'aggregateFunction') return []
    const from = typeOf(typeText)
    const isOther = from?.kind === 'aggregateFunction' && !isSameState(from, column.type)
    return isOther ? [[typeText, column.typeText] as const] : []
  })
}

function faultOf(
  { name, typeText }: ViewColumn,
  target: readonly ColumnDefinition[],
  takesStates: TakesStates,
): string | null {
  const column = target.find((one) => one.name === name)
  if (column === undefined) {
    const names = target.map((one) => one.name)
    const near = nearestName(name, names)
    const meant = near === undefined ? 'leave it out of the query' : `write AS ${plainName(near)} after it`
    return `column '${name}' of the query is not in the Data Source; ${meant}, or add the column to the Data Source`
  }
  const from = typeOf(typeText)
  if (from !== null && (fits(from, column.type) || isTaken(from, { typeText, column, takesStates }))) return null
  const remedy = remedyOf(name, from, column)
  return `column '${name}' is ${typeText} in the query and ${column.typeText} in the Data Source; ${remedy}`
}

function typeOf(text: string): ColumnType | null {
  try {
    return parseColumnType(text)
  } catch (thrown) {
    // What no column of ours can have, such as Nothing.
    if (thrown instanceof TextError) return null
    throw thrown
  }
}

/** Whether each value of one type is one of the other. */
function fits(from: ColumnType, to: ColumnType): boolean {
  if (formatColumnType(from) === formatColumnType(to)) return true
  if (from.kind === 'aggregateFunction' || to.kind === 'aggregateFunction') return isSameState(from, to)
  if (from.kind === 'simpleAggregateFunction') return fits(from.inner, to)
  if (to.kind === 'simpleAggregateFunction') return fits(from, to.inner)
  if (isNullable(from) && !isNullable(to)) return false
  const [value, place] = [valueTypeOf(from), valueTypeOf(to)]
  return formatColumnType(value) === formatColumnType(place) || isWider(value, place)
}

interface AskedStates {
  readonly typeText: string
  readonly column: ColumnDefinition
  readonly takesStates: TakesStates
}

function isTaken(from: ColumnType, { typeText, column, takesStates }: AskedStates): boolean {
  const areStates = from.kind === 'aggregateFunction' && column.type.kind === 'aggregateFunction'
  return areStates && takesStates(typeText, column.typeText)
}

/** Blanks, and quotes around parameters, say nothing. */
function isSameState(from: ColumnType, to: ColumnType): boolean {
  if (from.kind !== 'aggregateFunction' || to.kind !== 'aggregateFunction') return false
  const plain = (text: string): string => text.replaceAll(/\s+/g, '')
  return plain(from.parameters) === plain(to.parameters)
}

/** The engine makes no states of it. What stands within has two brackets at most: `LowCardinality(Nullable(FixedString(2)))`. */
function withoutLowCardinality(text: string): string {
  return text.replaceAll(/LowCardinality\(((?:\w+\((?:\w+\([^()]*\)|[^()])*\)|[^()])*)\)/g, '$1')
}

function isWider(from: ColumnType, to: ColumnType): boolean {
  if (from.kind === 'integer' && to.kind === 'integer') {
    if (from.isSigned === to.isSigned) return to.bits >= from.bits
    return to.isSigned && to.bits > from.bits
  }
  if (from.kind === 'bool') return to.kind === 'integer'
  if (from.kind === 'float' && to.kind === 'float') return to.bits >= from.bits
  // A zone is how a time is shown.
  if (from.kind === 'dateTime' && to.kind === 'dateTime') return true
  if (from.kind === 'dateTime64' && to.kind === 'dateTime64') return to.scale >= from.scale && to.scale <= exactScaleMax
  if (from.kind === 'dateTime' && to.kind === 'dateTime64') return to.scale <= exactScaleMax
  if (from.kind === 'date' && to.kind === 'date32') return true
  if (from.kind === 'decimal' && to.kind === 'decimal') {
    return to.scale >= from.scale && to.precision - to.scale >= from.precision - from.scale
  }
  if (from.kind === 'array' && to.kind === 'array') return fits(from.element, to.element)
  if (from.kind === 'map' && to.kind === 'map') return fits(from.key, to.key) && fits(from.value, to.value)
  return from.kind === 'enum' && to.kind === 'string'
}

/** With nanoseconds, times end in the year 2262. */
const exactScaleMax = 6

function remedyOf(name: string, from: ColumnType | null, { type, typeText }: ColumnDefinition): string {
  const column = plainName(name)
  if (type.kind === 'aggregateFunction') {
    const example = `${stateFunction(type.parameters)}(…) AS ${column}`
    return from?.kind === 'aggregateFunction'
      ? `its states are others; write ${example} over ${withoutLowCardinality(argumentsOf(type.parameters))}`
      : `write ${example}`
  }
  if (from?.kind === 'aggregateFunction') {
    return `write the function without -State, or make the column AggregateFunction(${from.parameters})`
  }
  const place = type.kind === 'simpleAggregateFunction' ? formatColumnType(type.inner) : typeText
  if (from !== null && isNullable(from) && !isNullable(type)) {
    return `write ifNull(…, <value>) AS ${column}, or assumeNotNull(…), or make the column Nullable`
  }
  const plain = /^\w+$/.test(place) ? `to${place}(…)` : `CAST(…, ${quoteString(place)})`
  return `write ${plain} AS ${column}`
}

/** `sum` with its parameters as the function that gives states: `quantilesState(0.5)`. */
function stateFunction(parameters: string): string {
  const [, name = '', own = ''] = /^(?:\d+\s*,\s*)?(\w+)(\([^)]*\))?/.exec(parameters) ?? []
  return `${name}State${own}`
}

function argumentsOf(parameters: string): string {
  const [, types = ''] = /^(?:\d+\s*,\s*)?\w+(?:\([^)]*\))?\s*,?\s*(.*)$/s.exec(parameters) ?? []
  return types === '' ? 'no arguments' : types
}

function plainName(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? name : quoteName(name)
}
