// What stands in a quarantine, in groups by column and reason, with the change of types that would have let it in.

import type { DataSource } from '../../catalog/data-source.types.ts'
import { widenType } from '../../guess/type-widening.ts'
import type { ColumnDefinition } from '../../schema/columns/column-definition.types.ts'
import { quarantineTimeColumn } from '../../schema/columns/column-name.ts'
import { formatSchema } from '../../schema/columns/schema-parser.ts'
import { readKeyItems } from '../../schema/engines/engine-expression.ts'
import { isNullable, parseColumnType } from '../../schema/types/column-type.ts'
import { recordReasonEnd, recordReasons } from '../../shared/record-reasons.ts'
import { quoteName, quoteString } from '../../shared/text-escapes.ts'
import { quarantineTable } from '../../store/sql/quarantine-table.ts'
import type { Store } from '../../store/store.types.ts'
import { qualified } from '../tables.ts'
import type { QuarantineGroup, QuarantineSummary, TypeSuggestion } from './quarantine.types.ts'
import { readRows } from './reader-rows.ts'

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
  `replaceRegexpOne(if(${isWhole(reason)}, splitByString(${quoteString(recordReasonEnd)}, ${reason}, 1)[1], ${reason}), ${quoteString("(?s)^value '.*' on column ")}, 'value on column ')`

/** Of a record as a whole, with its text behind. */
const isWhole = (reason: string): string => `match(${reason}, ${quoteString(wholeRecord)})`

const wholeRecord = `^(?:${[...Object.values(recordReasons), 'record has \\d+ (?:of|fields instead of) \\d+(?: fields)?'].join('|')})(?: \\(not valid UTF-8\\))?${recordReasonEnd}`

// Names that no schema can have: an alias would hide a column of the same name, and Kafka's have such a `__value`.
const [pair, column, fault, value, time] = ['__1', '__2', '__3', '__4', '__5'] as const

function groupsStatement({ columns }: DataSource, table: string): string {
  const choices = columns.map(({ name }) => `${column} = ${quoteString(name)}, ${quoteName(name)}`).join(', ')
  const text = `substringUTF8(if(${column} = '', ${fault}, ${value}), 1, ${valueLengthMax})`
  return `SELECT ${column} AS column, ${plainReason(fault)} AS reason, count() AS rowCount,
      toString(min(${time})) AS first, toString(max(${time})) AS last,
      groupUniqArray(${valuesMax + 1})(${text}) AS texts, countIf(isNull(${value})) AS missingCount
    FROM (
      SELECT arrayJoin(arrayZip(c__error_column, c__error)) AS ${pair}, ${pair}.1 AS ${column}, ${pair}.2 AS ${fault},
        ${quoteName(quarantineTimeColumn(columns))} AS ${time}, CAST(multiIf(${choices}, NULL), 'Nullable(String)') AS ${value}
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
function withoutNullWords(rows: readonly GroupRow[], dataSource: DataSource): string | null {
  const column = dataSource.columns.find(({ name }) => name === rows[0]?.column)
  const values = rows.flatMap(valuesOf)
  if (column === undefined || !values.some(isNullWord) || keyColumns(dataSource).has(column.name)) return null
  const rest = values.map((value) => (isNullWord(value) ? null : value))
  const type = widenType(column.type, rest, true) ?? (isNullable(column.type) ? column.typeText : null)
  return type === null || /\bString\b/.test(type) ? null : type
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
    const own = rows.filter((row) => row.column === column.name)
    const typeText = withoutNullWords(own, dataSource) ?? widenedType(own, dataSource)
    if (typeText === null || typeText === column.typeText) return column
    isChanged = true
    return { ...column, typeText, type: parseColumnType(typeText) }
  })
  return isChanged ? formatSchema(columns) : null
}
