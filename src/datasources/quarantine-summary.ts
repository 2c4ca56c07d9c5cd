// What stands in a quarantine, in groups by column and reason, with the change of types that would have let it in.

import type { DataSource } from '../catalog/data-source.types.ts'
import { readKeyItems } from '../catalog/engine-expression.ts'
import { formatSchema } from '../catalog/schema-parser.ts'
import { widenType } from '../guess/type-widening.ts'
import { parseColumnType } from '../shared/column-type.ts'
import type { ColumnDefinition } from '../shared/schema.types.ts'
import { quoteName, quoteString } from '../shared/text-escapes.ts'
import { quarantineTable } from '../store/quarantine-table.ts'
import type { Store } from '../store/store.types.ts'
import type { QuarantineGroup, QuarantineSummary, TypeSuggestion } from './quarantine.types.ts'
import { readRows } from './reader-rows.ts'
import { qualified } from './tables.ts'

const groupsMax = 100
/** Different values of a group that a type is tried on, each no longer than a value can be and still be a number or time. */
const valuesMax = 1_000
const valueLengthMax = 1_000
const samplesMax = 5
const sampleLengthMax = 200

/** The groups of a quarantine, read as a query is. Raises `StoreError`. */
export async function summarizeQuarantine(
  store: Pick<Store, 'select'>,
  dataSource: DataSource,
  signal: AbortSignal,
): Promise<QuarantineSummary> {
  const table = qualified(quarantineTable(dataSource.id))
  const [total] = await readRows<{ readonly rowCount: number }>(
    store,
    `SELECT count() AS rowCount FROM ${table}`,
    signal,
  )
  const rows = await readRows<GroupRow>(store, groupsStatement(dataSource, table), signal)
  const groups = rows.slice(0, groupsMax).map((row) => groupOf(row, dataSource))
  return {
    rowCount: Number(total?.rowCount ?? 0),
    groups,
    hasMoreGroups: rows.length > groupsMax,
    schema: suggestedSchema(dataSource, rows.slice(0, groupsMax)),
  }
}

/** Counts come as texts where the reader quotes 64-bit integers. */
interface GroupRow {
  readonly column: string
  readonly reason: string
  readonly rowCount: number | string
  readonly first: string
  readonly last: string
  readonly texts: readonly string[]
  readonly missingCount: number | string
}

/** A reason without its value, which may hold anything, also quotes. Must not cut the name of a column. */
export const plainReason = (reason: string): string =>
  `replaceRegexpOne(${reason}, ${quoteString("(?s)^value '.*' on column ")}, 'value on column ')`

// Names that no schema is likely to have: an alias would hide a column of the same name.
const [pair, column, fault, value] = ['__pair', '__column', '__fault', '__value'] as const

function groupsStatement({ columns }: DataSource, table: string): string {
  const choices = columns.map(({ name }) => `${column} = ${quoteString(name)}, ${quoteName(name)}`).join(', ')
  const text = `substringUTF8(if(${column} = '', ${fault}, ${value}), 1, ${valueLengthMax})`
  return `SELECT ${column} AS column, ${plainReason(fault)} AS reason, count() AS rowCount,
      toString(min(insertion_date)) AS first, toString(max(insertion_date)) AS last,
      groupUniqArray(${valuesMax + 1})(${text}) AS texts, countIf(isNull(${value})) AS missingCount
    FROM (
      SELECT arrayJoin(arrayZip(c__error_column, c__error)) AS ${pair}, ${pair}.1 AS ${column}, ${pair}.2 AS ${fault},
        insertion_date, CAST(multiIf(${choices}, NULL), 'Nullable(String)') AS ${value}
      FROM ${table}
    )
    GROUP BY column, reason ORDER BY rowCount DESC, column, reason LIMIT ${groupsMax + 1}`
}

function groupOf(row: GroupRow, dataSource: DataSource): QuarantineGroup {
  const { column, reason, first, last } = row
  return {
    column,
    reason,
    rowCount: Number(row.rowCount),
    first,
    last,
    samples: valuesOf(row).slice(0, samplesMax).map(cut),
    suggestion: suggestionOf(row, dataSource),
  }
}

function valuesOf({ column, texts, missingCount }: GroupRow): readonly (string | null)[] {
  return column !== '' && Number(missingCount) > 0 ? [null, ...texts] : texts
}

function cut(text: string | null): string | null {
  return text === null ? null : text.slice(0, sampleLengthMax)
}

function suggestionOf(row: GroupRow, dataSource: DataSource): TypeSuggestion | null {
  const type = widenedType([row], dataSource)
  return type === null ? null : { type, isForAll: hasAllValues(row) }
}

function hasAllValues({ texts }: GroupRow): boolean {
  return texts.length <= valuesMax && texts.every((text) => text.length < valueLengthMax)
}

/** The type that takes the values of all these groups, which are of one column. */
function widenedType(rows: readonly GroupRow[], dataSource: DataSource): string | null {
  const column = dataSource.columns.find(({ name }) => name === rows[0]?.column)
  if (column === undefined) return null
  return widenType(column.type, rows.flatMap(valuesOf), !keyColumns(dataSource).has(column.name))
}

/** Columns that cannot be NULL, because they stand in a key or have a part in the engine. */
function keyColumns({ engine: { options } }: DataSource): ReadonlySet<string> {
  const names = ['partition_key', 'sorting_key', 'primary_key', 'sampling_key', 'ver', 'sign', 'version', 'is_deleted']
  return new Set([...names, 'key_columns'].flatMap((name) => readKeyItems(options[name] ?? '1', `engine_${name}`)))
}

function suggestedSchema(dataSource: DataSource, rows: readonly GroupRow[]): string | null {
  let isChanged = false
  const columns = dataSource.columns.map((column): ColumnDefinition => {
    const typeText = widenedType(
      rows.filter((row) => row.column === column.name),
      dataSource,
    )
    if (typeText === null) return column
    isChanged = true
    return { ...column, typeText, type: parseColumnType(typeText) }
  })
  return isChanged ? formatSchema(columns) : null
}
