// A data source as ClickHouse creates it: the text of its columns and of its engine.

import { assert } from '../../shared/assert.ts'
import { quoteName } from '../../shared/text-escapes.ts'
import type { ColumnDefinition } from '../columns/column-definition.types.ts'
import { type EngineSetting, storedEngineSettings } from '../engines/allowed-table-settings.ts'
import type { EngineDefinition } from '../engines/engine-definition.types.ts'
import { keyClause, readNames } from '../engines/engine-expression.ts'
import { type EngineName, findEngineName, isMergeTree } from '../engines/engine-options.ts'
import type { CheckedExpression, ColumnClause, TableDefinition } from '../expressions/checked-text.types.ts'
import { isNullable, valueTypeOf } from '../types/column-type.ts'
import type { ColumnType } from '../types/column-type.types.ts'
import { formatIndex, type IndexDefinition } from './index-definition.ts'

// Tokens of as many blocks are remembered, so that a block that is sent again after a crash is stored once.
const deduplicationWindow = 10_000

/**
 * A table as it follows its name in CREATE TABLE. Precondition: the parts were read by `parseSchema`, `parseEngineDefinition`
 * and `parseIndexes`.
 */
export function tableDefinition({ columns, engine, indexes }: DefinedTable): TableDefinition {
  // Our own words around texts that were read.
  return `(${columnsClause(columns, indexes)}) ${engineClause(engine, columns)}` as TableDefinition
}

/** The same of columns alone, in a table that keeps no rows. */
export function rowlessTableDefinition(columns: readonly ColumnDefinition[]): TableDefinition {
  // As above.
  return `(${columnsClause(columns)}) ENGINE = Null SETTINGS allow_suspicious_low_cardinality_types = 1` as TableDefinition
}

interface DefinedTable {
  readonly columns: readonly ColumnDefinition[]
  readonly engine: EngineDefinition
  readonly indexes: readonly IndexDefinition[]
}

/** What stands behind TTL; undefined for a table without one. */
export function ttlOf({ options }: EngineDefinition): CheckedExpression | undefined {
  // `parseEngineDefinition` has read it.
  return options['ttl'] as CheckedExpression | undefined
}

/** What stands behind PARTITION BY; undefined for a table that has no partitions. */
export function partitionKeyOf({ options }: EngineDefinition): CheckedExpression | undefined {
  const key = options['partition_key']?.trim() ?? ''
  // As above.
  return key === '' || /^tuple\(\s*\)$/.test(key) ? undefined : (key as CheckedExpression)
}

/** What stands between the parentheses of CREATE TABLE: `` `id` UUID, `n` UInt8 DEFAULT 1 CODEC(ZSTD(1)) ``. */
export function columnsClause(columns: readonly ColumnDefinition[], indexes: readonly IndexDefinition[] = []): string {
  return [...columns.map(columnClause), ...indexes.map((index) => `INDEX ${formatIndex(index)}`)].join(', ')
}

/** One column as CREATE TABLE and ALTER TABLE take it. */
export function columnClause({ name, typeText, defaultExpression, codec }: ColumnDefinition): ColumnClause {
  const fallback = defaultExpression === null ? '' : ` DEFAULT ${defaultExpression}`
  // `parseSchema` has read them.
  return `${quoteName(name)} ${typeText}${fallback}${codec === null ? '' : ` CODEC(${codec})`}` as ColumnClause
}

/**
 * What stands behind the parentheses of CREATE TABLE: `ENGINE = ReplacingMergeTree(ver) ORDER BY (a, b) SETTINGS …`.
 *
 * The engine is one that `parseEngineDefinition` gave for these columns. The settings that tables need here are added.
 */
export function engineClause(engine: EngineDefinition, columns: readonly ColumnDefinition[]): string {
  const given = givenSettings(engine)
  const own = ownSettings(engineNameOf(engine), columns, given)
  const others = given.filter((setting) => !own.some(({ name }) => name === setting.name))
  return `ENGINE = ${engineText(engine, [...others, ...own])}`
}

/** The engine as its user knows it: `ReplacingMergeTree(ver) ORDER BY (a, b)`, with the settings that the user gave. */
export function givenEngineText(engine: EngineDefinition): string {
  return engineText(engine, givenSettings(engine))
}

function engineText(engine: EngineDefinition, settings: readonly EngineSetting[]): string {
  const name = engineNameOf(engine)
  const parts = [`${name}${engineArguments(name, engine.options)}`]
  if (isMergeTree(name)) parts.push(...keyClauses(engine.options))
  if (settings.length > 0) parts.push(`SETTINGS ${settings.map(({ name, value }) => `${name} = ${value}`).join(', ')}`)
  return parts.join(' ')
}

function engineNameOf(engine: EngineDefinition): EngineName {
  const name = findEngineName(engine.name)
  assert(name !== undefined, `engine ${engine.name} is known`)
  return name
}

function givenSettings({ options }: EngineDefinition): readonly EngineSetting[] {
  const written = options['settings']
  return written === undefined ? [] : storedEngineSettings(written)
}

type Options = EngineDefinition['options']

function engineArguments(name: EngineName, options: Options): string {
  switch (name) {
    case 'MergeTree':
    case 'AggregatingMergeTree':
    case 'Null':
      return ''
    case 'ReplacingMergeTree':
      return inParentheses([...names(options, 'ver'), ...names(options, 'is_deleted')])
    case 'SummingMergeTree':
      return options['columns'] === undefined ? '' : `((${names(options, 'columns').join(', ')}))`
    case 'CollapsingMergeTree':
      return inParentheses(names(options, 'sign'))
    case 'VersionedCollapsingMergeTree':
      return inParentheses([...names(options, 'sign'), ...names(options, 'version')])
    case 'Join': {
      const words = [options['join_strictness'], options['join_type']].map((word) => word?.toUpperCase() ?? '')
      return inParentheses([...words, ...names(options, 'key_columns')])
    }
  }
}

function inParentheses(texts: readonly string[]): string {
  return texts.length === 0 ? '' : `(${texts.join(', ')})`
}

function names(options: Options, option: string): readonly string[] {
  const text = options[option]
  return text === undefined ? [] : readNames(text, `engine_${option}`).map(quoteName)
}

function keyClauses(options: Options): readonly string[] {
  const { partition_key: partition, primary_key: primary, sorting_key: sorting, sampling_key: sampling, ttl } = options
  // ClickHouse sorts by the primary key when it is told no other order, and needs one of the two.
  const order = sorting ?? primary ?? 'tuple()'
  return [
    ...(partition === undefined ? [] : [`PARTITION BY ${keyClause(partition)}`]),
    ...(primary === undefined ? [] : [`PRIMARY KEY ${keyClause(primary)}`]),
    `ORDER BY ${keyClause(order)}`,
    ...(sampling === undefined ? [] : [`SAMPLE BY ${keyClause(sampling)}`]),
    ...(ttl === undefined ? [] : [`TTL ${ttl}`]),
  ]
}

function ownSettings(
  name: EngineName,
  columns: readonly ColumnDefinition[],
  given: readonly EngineSetting[],
): readonly EngineSetting[] {
  const settings: EngineSetting[] = []
  if (isMergeTree(name)) {
    const window = Number(given.find((setting) => setting.name === 'non_replicated_deduplication_window')?.value ?? 0)
    const value = String(window > deduplicationWindow ? window : deduplicationWindow)
    settings.push({ name: 'non_replicated_deduplication_window', value })
    // Else ClickHouse takes arrays `a.b` and `a.c` for parts of one, and refuses blocks in which their lengths differ.
    if (hasDottedArray(columns)) settings.push({ name: 'share_nested_offsets', value: '0' })
  }
  // Columns that are neither in the key nor aggregates keep any of their values; the engine refuses them unless told.
  if (name === 'AggregatingMergeTree') settings.push({ name: 'allow_dimensions_outside_sorting_key', value: '1' })
  // A setting of the statement, not of the table: ClickHouse takes it here for every engine and does not store it.
  if (columns.some(({ type }) => hasNumberDictionary(type))) {
    settings.push({ name: 'allow_suspicious_low_cardinality_types', value: '1' })
  }
  return settings
}

/** Whether ClickHouse would take one of the columns for a part of another, unless told. */
export function hasDottedArray(columns: readonly ColumnDefinition[]): boolean {
  return columns.some(isDottedArray)
}

function isDottedArray({ name, type }: ColumnDefinition): boolean {
  return name.includes('.') && valueTypeOf(type).kind === 'array'
}

/** Whether LowCardinality holds something else than texts anywhere in the type. */
function hasNumberDictionary(type: ColumnType): boolean {
  switch (type.kind) {
    case 'lowCardinality': {
      const { kind } = isNullable(type) ? valueTypeOf(type.inner) : type.inner
      return kind !== 'string' && kind !== 'fixedString'
    }
    case 'nullable':
    case 'simpleAggregateFunction':
      return hasNumberDictionary(type.inner)
    case 'array':
      return hasNumberDictionary(type.element)
    case 'map':
      return hasNumberDictionary(type.key) || hasNumberDictionary(type.value)
    case 'tuple':
      return type.fields.some((field) => hasNumberDictionary(field.type))
    default:
      // Parameters of JSON and AggregateFunction are kept as text.
      return 'parameters' in type && type.parameters.includes('LowCardinality(')
  }
}
