/** How the columns of a data source are read out of a Parquet file: by JSONPath to fields, lists and maps, in SQL. */
import { type PartExpression, partExpression } from '../../codec/arrow/part-expression.ts'
import type { PartField, PartLayout } from '../../codec/arrow/part-layout.types.ts'
import { missingReason, reasonOf, unreadableReason } from '../../codec/columns/row-reason.ts'
import type { ColumnDefinition } from '../../schema/columns/column-definition.types.ts'
import { quarantineTimeColumn } from '../../schema/columns/column-name.ts'
import { isNullable, parseColumnType, valueTypeOf } from '../../schema/types/column-type.ts'
import type { ColumnType } from '../../schema/types/column-type.types.ts'
import { TextError } from '../../shared/text-error.ts'
import { quoteName, quoteString } from '../../shared/text-escapes.ts'
import { castOf, textOf } from './parquet-cast.ts'
import { type Days, daysOf } from './parquet-days.ts'
import { allOf, argumentOver, type Cast, changed } from './parquet-verdict.ts'

/** A column of the file, as the engine tells it. */
export interface ParquetColumn {
  readonly name: string
  readonly typeText: string
  /** Null for a type that no schema has. */
  readonly type: ColumnType | null
}

export interface ParquetPlan {
  /** The rows that are taken. */
  readonly landing: PartLayout
  /** The others, as text, with the columns and the reasons; their condition is the opposite. */
  readonly quarantine: PartLayout
  /** True for the rows that are taken; null takes all. */
  readonly condition: PartExpression | null
  /** False when the file has none of the columns. */
  readonly hasColumns: boolean
}

/** A value in the file; the type is null where we do not know it. */
interface Source {
  readonly sql: string
  readonly type: ColumnType | null
  /** Of a column of days. */
  readonly days?: Days | null
}

interface ColumnPlan {
  readonly definition: ColumnDefinition
  /** Null where the file has no such value. */
  readonly source: Source | null
  readonly cast: Cast | null
}

/** Fixed for one file and one data source; `importId` is kept with the rows set aside. */
export function planParquet(
  columns: readonly ColumnDefinition[],
  file: readonly ParquetColumn[],
  importId: string,
): ParquetPlan {
  const sources = new Map(file.map((column) => [column.name, columnSource(column)]))
  const plans = columns.map((definition) => planColumn(definition, sources))
  const fields = file.map((column): PartField => ({ name: column.name, engineType: engineTypeOf(column) }))
  const condition = allOf(plans.map(({ cast }) => cast?.condition ?? null))
  return {
    landing: { fields: usedFields(plans, fields), targets: landingTargets(plans) },
    quarantine: { fields, targets: quarantineTargets(plans, importId) },
    condition: condition === null ? null : partExpression(condition),
    hasColumns: plans.some(({ source }) => source !== null),
  }
}

/** The type by which a column is read. */
export function engineTypeOf({ name, typeText, type }: ParquetColumn): string {
  return daysOf(name, type)?.typeText ?? typeText
}

/** The value of a column for who looks at it. */
export function shownValue({ name, type }: ParquetColumn): PartExpression {
  return partExpression(daysOf(quoteName(name), type)?.text ?? quoteName(name))
}

function columnSource({ name, type }: ParquetColumn): Source {
  const quoted = quoteName(name)
  const days = daysOf(quoted, type)
  return { sql: days?.sql ?? quoted, type, days }
}

/** The type as the engine writes it; null where it knows one that no schema has. */
export function readType(typeText: string): ColumnType | null {
  try {
    return parseColumnType(typeText)
  } catch (error) {
    if (error instanceof TextError) return null
    throw error
  }
}

function planColumn(definition: ColumnDefinition, columns: ReadonlyMap<string, Source>): ColumnPlan {
  if (valueTypeOf(definition.type).kind === 'aggregateFunction') return { definition, source: null, cast: null }
  const source = sourceOf(definition, columns)
  return { definition, source, cast: castColumn(definition, source) }
}

/** Null leaves the column to its DEFAULT, or to NULL. */
function castColumn({ type, defaultExpression }: ColumnDefinition, source: Source | null): Cast | null {
  const needsValue = !isNullable(type) && defaultExpression === null
  if (source === null) return needsValue ? changed('', '0') : null
  if (source.type === null) {
    const isText = valueTypeOf(type).kind === 'string'
    return changed(isText ? textOf(source.sql, null) : '', isText ? null : '0')
  }
  // The engine puts DEFAULT where the value is NULL and the column cannot hold it.
  const target: ColumnType = needsValue || isNullable(type) ? type : { kind: 'nullable', inner: type }
  const { days } = source
  if (days == null) return castOf(source.sql, source.type, target)
  if (valueTypeOf(type).kind === 'string') return castOf(days.text, textTypeOf(source.type), target)
  const { value, condition } = castOf(source.sql, source.type, target)
  return changed(value, allOf([days.condition, condition]))
}

/** A text that is NULL where a value of the type is. */
function textTypeOf({ kind }: ColumnType): ColumnType {
  return kind === 'nullable' ? { kind, inner: { kind: 'string' } } : { kind: 'string' }
}

function sourceText({ sql, type, days }: Source): string {
  return days?.text ?? textOf(sql, type)
}

function sourceOf({ name, jsonPath }: ColumnDefinition, columns: ReadonlyMap<string, Source>): Source | null {
  const [first, ...keys] = jsonPath?.keys ?? [name]
  if (first === undefined) return wholeRow(columns)
  const column = columns.get(first)
  const found = column === undefined ? null : stepAll(column, keys)
  const element = jsonPath?.element ?? []
  return found === null || element.length === 0 ? found : stepElements(found, element)
}

/** `$` is the whole row as an object. */
function wholeRow(columns: ReadonlyMap<string, Source>): Source {
  const entries = [...columns].map(([name, { sql, type, days }]) => ({ name, value: jsonOf(days?.text ?? sql, type) }))
  const members = entries.map(({ name, value }) => `concat(${quoteString(`${JSON.stringify(name)}:`)}, ${value})`)
  return { sql: `concat('{', arrayStringConcat([${members.join(', ')}], ','), '}')`, type: { kind: 'string' } }
}

function jsonOf(sql: string, type: ColumnType | null): string {
  const json = `toJSONString(${sql})`
  return type?.kind === 'nullable' ? `ifNull(${json}, 'null')` : json
}

function stepAll(source: Source, keys: readonly string[]): Source | null {
  return keys.reduce<Source | null>((at, key) => (at === null ? null : step(at, key)), source)
}

/** The value under a key: a field of a group, or an entry of a map. */
function step({ sql, type }: Source, key: string): Source | null {
  if (type === null) return null
  const value = valueTypeOf(type)
  const literal = quoteString(key)
  if (value.kind === 'tuple') {
    const field = value.fields.find(({ name }) => name === key)
    if (field === undefined) return null
    const isOptional = type.kind === 'nullable' && canBeNullable(field.type)
    return { sql: `tupleElement(${sql}, ${literal})`, type: isOptional ? nullableOf(field.type) : field.type }
  }
  if (value.kind !== 'map' || valueTypeOf(value.key).kind !== 'string') return null
  const entry = `arrayElement(${sql}, ${literal})`
  if (!canBeNullable(value.value)) return { sql: entry, type: value.value }
  return { sql: `if(mapContains(${sql}, ${literal}), ${entry}, NULL)`, type: nullableOf(value.value) }
}

/** One value out of each element of a list. */
function stepElements({ sql, type }: Source, keys: readonly string[]): Source | null {
  if (type?.kind !== 'array') return null
  const argument = argumentOver(sql)
  const element = stepAll({ sql: argument, type: type.element }, keys)
  if (element?.type === undefined || element.type === null) return null
  return { sql: `arrayMap(${argument} -> ${element.sql}, ${sql})`, type: { kind: 'array', element: element.type } }
}

function canBeNullable(type: ColumnType): boolean {
  return !['array', 'map', 'tuple', 'nullable', 'json'].includes(type.kind)
}

function nullableOf(type: ColumnType): ColumnType {
  return type.kind === 'nullable' ? type : { kind: 'nullable', inner: type }
}

/** Only columns that are spoken of are read. */
function usedFields(plans: readonly ColumnPlan[], fields: readonly PartField[]): readonly PartField[] {
  const texts = plans.flatMap(({ cast }) => (cast === null ? [] : [cast.value, cast.condition ?? '']))
  const used = fields.filter(({ name }) => texts.some((text) => text.includes(quoteName(name))))
  // To count rows, one has to be read.
  return used.length > 0 ? used : fields.slice(0, 1)
}

function landingTargets(plans: readonly ColumnPlan[]) {
  return plans.flatMap(({ definition, cast }) => {
    // What is missing has its DEFAULT, or no row at all.
    if (cast === null || cast.value === '') return []
    return [{ column: definition.name, expression: partExpression(cast.value) }]
  })
}

function quarantineTargets(plans: readonly ColumnPlan[], importId: string) {
  const texts = plans.map(({ definition, source }) => ({
    column: definition.name,
    expression: partExpression(source === null ? 'NULL' : readableText(sourceText(source))),
  }))
  const refusals = plans.flatMap((plan) => (plan.cast?.condition == null ? [] : [refusalOf(plan, plan.cast.condition)]))
  const listOf = (values: readonly string[]) =>
    values.length === 0 ? "CAST([], 'Array(String)')" : `arrayFilter(x -> x != '', [${values.join(', ')}])`
  return [
    ...texts,
    { column: 'c__error_column', expression: partExpression(listOf(refusals.map(({ column }) => column))) },
    { column: 'c__error', expression: partExpression(listOf(refusals.map(({ reason }) => reason))) },
    { column: 'c__import_id', expression: partExpression(quoteString(importId)) },
    { column: quarantineTimeColumn(plans.map(({ definition }) => definition)), expression: partExpression('now()') },
  ]
}

/** A name of a column, and the reason, for rows in which its value is refused; empty texts for the others. */
function refusalOf({ definition, source }: ColumnPlan, condition: string) {
  const of = (text: string) => `if(${condition}, '', ${text})`
  const column = of(quoteString(definition.name))
  if (source === null) return { column, reason: of(quoteString(missingReason(definition))) }
  const text = sourceText(source)
  const isReadable = `isValidUTF8(ifNull(${text}, ''))`
  const reason = `if(${isReadable}, ${reasonWith(reasonOf, definition, text)}, ${reasonWith(unreadableReason, definition, text)})`
  return { column, reason: of(reason) }
}

/** The text, or what stands for its bytes where they are no UTF-8: `readableText` of the scanners, in SQL. */
function readableText(text: string): string {
  const piece = `if(isValidUTF8(__piece) AND __piece != '%', __piece, replaceRegexpAll(hex(__piece), '(..)', '%\\\\1'))`
  const pieces = `extractAll(assumeNotNull(${text}), '[\\\\x00-\\\\x24\\\\x26-\\\\x7F]+|[\\\\x{80}-\\\\x{10FFFF}]|\\\\C')`
  return `if(isValidUTF8(ifNull(${text}, '')), ${text}, arrayStringConcat(arrayMap(__piece -> ${piece}, ${pieces})))`
}

/** The words are those of the scanners, with the value in their middle; so it is cut at the same length. */
function reasonWith(words: typeof reasonOf, definition: ColumnDefinition, text: string): string {
  const [before = '', after = ''] = words(definition, mark).split(mark)
  return `concat(${quoteString(before)}, substringUTF8(${readableText(`ifNull(${text}, 'null')`)}, 1, 256), ${quoteString(after)})`
}

/** No name of a column can have it. */
const mark = '\u0001'
