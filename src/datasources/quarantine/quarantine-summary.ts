// What stands in a quarantine, in groups by column and reason, with the change of types that would have let it in.

import type { DataSource } from '../../catalog/data-source.types.ts'
import { widenType } from '../../guess/type-widening.ts'
import type { ColumnDefinition } from '../../schema/columns/column-definition.types.ts'
import { formatSchema } from '../../schema/columns/schema-parser.ts'
import { readKeyItems } from '../../schema/engines/engine-expression.ts'
import { isNullable, parseColumnType } from '../../schema/types/column-type.ts'
import { beginningOf } from '../../shared/beginning-of.ts'
import { quoteName, quoteString } from '../../shared/text-escapes.ts'
import type { QuarantineGroupRow, Quarantines } from '../../store/quarantines.types.ts'
import type { QuarantineGroup, QuarantineSummary, TypeSuggestion } from './quarantine.types.ts'

const groupsMax = 100
/** Different values of a group that a type is tried on, each no longer than a value can be and still be a number or time. */
const valuesMax = 1_000
const valueLengthMax = 1_000
const samplesMax = 5
const sampleLengthMax = 200

/** The groups of a quarantine, read as a query is. Raises `StoreError`. */
export async function summarizeQuarantine(
  quarantines: Pick<Quarantines, 'summarize'>,
  dataSource: DataSource,
  signal: AbortSignal,
): Promise<QuarantineSummary> {
  const { id: table, columns } = dataSource
  // One more of each, to know that there are more.
  const found = await quarantines.summarize({
    table,
    columns,
    groupsMax: groupsMax + 1,
    valuesMax: valuesMax + 1,
    valueLengthMax,
    signal,
  })
  const rows = found.groups.slice(0, groupsMax)
  return {
    rowCount: found.rowCount,
    groups: rows.map((row) => groupOf(row, dataSource)),
    hasMoreGroups: found.groups.length > groupsMax,
    schema: suggestedSchema(dataSource, rows),
  }
}

function groupOf(row: QuarantineGroupRow, dataSource: DataSource): QuarantineGroup {
  const { column, reason, rowCount, first, last } = row
  return {
    column,
    reason,
    rowCount,
    first,
    last,
    samples: valuesOf(row).slice(0, samplesMax).map(cut),
    suggestion: suggestionOf(row, dataSource),
  }
}

function valuesOf({ column, texts, missingCount }: QuarantineGroupRow): readonly (string | null)[] {
  return column !== '' && missingCount > 0 ? [null, ...texts] : texts
}

function cut(text: string | null): string | null {
  return text === null ? null : beginningOf(text, sampleLengthMax)
}

function suggestionOf(row: QuarantineGroupRow, dataSource: DataSource): TypeSuggestion | null {
  const nothing = withoutNullWords([row], dataSource)
  if (nothing !== null) {
    const words = [...new Set(row.texts.filter(isNullWord))].map(quoteString).join(', ')
    const fix = `if(${quoteName(row.column)} IN (${words}), NULL, ${quoteName(row.column)})`
    return { type: nothing, isForAll: hasAllValues(row), fix }
  }
  const type = widenedType([row], dataSource)
  return type === null ? null : { type, isForAll: hasAllValues(row), fix: null }
}

/** What people and programs write where there is no value. */
const isNullWord = (text: string | null): boolean =>
  text !== null && /^\s*(?:null|\(null\)|na|n\/a|#n\/a|none|nil|nan|undefined|\\N|-)\s*$/i.test(text)

/**
 * The type that takes the values once their words for nothing are NULL; null where there are no such words, or texts beside
 * them that no number or time takes.
 */
function withoutNullWords(rows: readonly QuarantineGroupRow[], dataSource: DataSource): string | null {
  const column = dataSource.columns.find(({ name }) => name === rows[0]?.column)
  const values = rows.flatMap(valuesOf)
  if (column === undefined || !values.some(isNullWord) || keyColumns(dataSource).has(column.name)) return null
  const rest = values.map((value) => (isNullWord(value) ? null : value))
  const type = widenType(column.type, rest, true) ?? (isNullable(column.type) ? column.typeText : null)
  return type === null || /\bString\b/.test(type) ? null : type
}

function hasAllValues({ texts }: QuarantineGroupRow): boolean {
  return texts.length <= valuesMax && texts.every((text) => text.length < valueLengthMax)
}

/** The type that takes the values of all these groups, which are of one column. */
function widenedType(rows: readonly QuarantineGroupRow[], dataSource: DataSource): string | null {
  const column = dataSource.columns.find(({ name }) => name === rows[0]?.column)
  if (column === undefined) return null
  return widenType(column.type, rows.flatMap(valuesOf), !keyColumns(dataSource).has(column.name))
}

/** Columns that cannot be NULL, because they stand in a key or have a part in the engine. */
function keyColumns({ engine: { options } }: DataSource): ReadonlySet<string> {
  const names = ['partition_key', 'sorting_key', 'primary_key', 'sampling_key', 'ver', 'sign', 'version', 'is_deleted']
  return new Set([...names, 'key_columns'].flatMap((name) => readKeyItems(options[name] ?? '1', `engine_${name}`)))
}

function suggestedSchema(dataSource: DataSource, rows: readonly QuarantineGroupRow[]): string | null {
  let isChanged = false
  const columns = dataSource.columns.map((column): ColumnDefinition => {
    const own = rows.filter((row) => row.column === column.name)
    const typeText = withoutNullWords(own, dataSource) ?? widenedType(own, dataSource)
    if (typeText === null || typeText === column.typeText) return column
    isChanged = true
    return { ...column, typeText, type: parseColumnType(typeText) }
  })
  return isChanged ? formatSchema(columns) : null
}
