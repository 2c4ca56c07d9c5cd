// What an alter makes of a data source, and what it refuses: columns may be added at the end, a TTL and indexes may come
// and go, everything else stays as it was created. Pure; `alter-tables.ts` carries it out.

import type { DataSource } from '../../catalog/data-source.types.ts'
import type { ColumnDefinition } from '../../schema/columns/column-definition.types.ts'
import { formatIndex, type IndexDefinition, parseIndexes } from '../../schema/definitions/index-definition.ts'
import { columnClause, hasDottedArray } from '../../schema/definitions/table-definition.ts'
import { readExpression } from '../../schema/engines/engine-expression.ts'
import { findEngineName, isMergeTree } from '../../schema/engines/engine-options.ts'
import { readTextTokens } from '../../schema/syntax/text-tokens.ts'
import { errors } from '../../shared/errors/errors.ts'
import { TextError } from '../../shared/text-error.ts'
import { quoteName } from '../../shared/text-escapes.ts'
import type { AlterRequest } from '../datasources.types.ts'
import { readSchema } from '../definition.ts'

export interface Alteration {
  /** The data source as it is to be. */
  readonly changed: DataSource
  /** In ClickHouse's words, for people. Empty when there is nothing to do. */
  readonly operations: readonly string[]
  /** False when the catalog alone changes. */
  readonly hasTableChanges: boolean
}

/** @throws ALTER_REFUSED, SCHEMA_INVALID, ENGINE_INVALID, INDEX_INVALID (400). */
export function planAlteration(current: DataSource, request: AlterRequest, columnsMax: number): Alteration {
  const columns = readAddedColumns(current, request.schema, columnsMax)
  const ttl = readTtl(current, request.ttl)
  const indexes = readIndexChange(current, request.indexes)
  const tableOperations = [
    ...columns.map((column) => `ADD COLUMN ${columnClause(column)}`),
    ...indexes.dropped.map(({ name }) => `DROP INDEX ${quoteName(name)}`),
    ...indexes.added.map((index) => `ADD INDEX ${formatIndex(index)}`),
    ...(ttl === undefined ? [] : [ttl === null ? 'REMOVE TTL' : `MODIFY TTL ${ttl}`]),
  ]
  const { ttl: ttlBefore, ...optionsWithoutTtl } = current.engine.options
  const ttlAfter = ttl === undefined ? ttlBefore : ttl
  const options =
    ttlAfter === undefined || ttlAfter === null ? optionsWithoutTtl : { ...optionsWithoutTtl, ttl: ttlAfter }
  const description = request.description ?? current.description
  const kafkaStoreRawValue = request.kafkaStoreRawValue ?? current.kafkaStoreRawValue
  return {
    changed: {
      ...current,
      columns: [...current.columns, ...columns],
      engine: { ...current.engine, options },
      indexes: indexes.all,
      description,
      kafkaStoreRawValue,
      version: current.version + (columns.length > 0 ? 1 : 0),
    },
    operations: [
      ...tableOperations,
      ...(description === current.description ? [] : ['MODIFY DESCRIPTION']),
      ...(kafkaStoreRawValue === current.kafkaStoreRawValue
        ? []
        : [`MODIFY kafka_store_raw_value = ${kafkaStoreRawValue}`]),
    ],
    hasTableChanges: tableOperations.length > 0,
  }
}

function refused({ name }: DataSource, reason: string): Error {
  return errors.ALTER_REFUSED({ name, reason })
}

function readAddedColumns(
  current: DataSource,
  schema: string | undefined,
  columnsMax: number,
): readonly ColumnDefinition[] {
  if (schema === undefined) return []
  const given = readSchema(schema, columnsMax, current.columns)
  for (const [position, column] of current.columns.entries()) checkKept(current, column, { given, position })
  const added = given.slice(current.columns.length)
  if (added.length === 0) return []
  const { name } = current.engine
  if (name === 'Join') throw refused(current, 'the engine Join takes no new columns')
  if (hasDottedArray(added) && !hasDottedArray(current.columns) && isMergeTreeName(name)) {
    throw refused(current, 'an Array with a dot in its name cannot be added later')
  }
  return added
}

interface GivenSchema {
  readonly given: readonly ColumnDefinition[]
  readonly position: number
}

/** The given schema has the column in its place, as it is. */
function checkKept(current: DataSource, column: ColumnDefinition, { given, position }: GivenSchema): void {
  const { name } = column
  const found = given[position]
  if (found?.name !== name) {
    if (!given.some((other) => other.name === name)) {
      const reason = `column '${name}' is missing: columns cannot be dropped or renamed, so send all of them, and the new ones after them`
      throw refused(current, reason)
    }
    const isNew = !current.columns.some((other) => other.name === found?.name)
    const reason = isNew
      ? `column '${found?.name}' is new and stands before '${name}': new columns come at the end`
      : `column '${found?.name}' stands where '${name}' was: the order of the columns cannot change`
    throw refused(current, reason)
  }
  if (found.typeText !== column.typeText) {
    throw refused(current, `column '${name}' is ${column.typeText} and cannot become ${found.typeText}`)
  }
  const attributes = [
    ['JSONPath', pathText(column), pathText(found)],
    ['DEFAULT', column.defaultExpression, found.defaultExpression],
    ['CODEC', column.codec, found.codec],
  ] as const
  for (const [attribute, before, after] of attributes) {
    if (canonical(before) === canonical(after)) continue
    const [was, is] = [before, after].map((text) => (text === null ? `no ${attribute}` : `${attribute} ${text}`))
    throw refused(current, `column '${name}' has ${was}, and cannot get ${is}`)
  }
}

/** A path to the key of the column's own name is what a column without one has anyway. */
function pathText({ name, jsonPath, jsonPathText }: ColumnDefinition): string | null {
  const isOwnKey = jsonPath?.element === null && jsonPath.keys.length === 1 && jsonPath.keys[0] === name
  return isOwnKey ? null : jsonPathText
}

/** Two texts that differ in white space alone, or in the quotes around names, are the same. */
function canonical(text: string | null): string | null {
  if (text === null || text.startsWith('$')) return text
  return readTextTokens(text)
    .map(({ kind, text: written, value }) => (kind === 'quotedName' ? quoteName(value) : written))
    .join(' ')
}

/** Undefined changes nothing, null removes it. */
function readTtl(current: DataSource, ttl: string | null | undefined): string | null | undefined {
  if (ttl === undefined) return undefined
  const { name, options } = current.engine
  const before = options['ttl'] ?? null
  if (ttl === null) return before === null ? undefined : null
  if (!isMergeTreeName(name)) throw refused(current, `the engine ${name} takes no TTL`)
  const after = readTtlText(ttl)
  return canonical(before) === canonical(after) ? undefined : after
}

function readTtlText(ttl: string): string {
  try {
    return readExpression(ttl, { kind: 'ttl', name: 'ttl' })
  } catch (error) {
    if (error instanceof TextError)
      throw errors.ENGINE_INVALID({ reason: error.message, hint: error.advice, cause: error })
    throw error
  }
}

interface IndexChange {
  readonly all: readonly IndexDefinition[]
  readonly dropped: readonly IndexDefinition[]
  readonly added: readonly IndexDefinition[]
}

function readIndexChange(current: DataSource, text: string | null | undefined): IndexChange {
  if (text === undefined) return { all: current.indexes, dropped: [], added: [] }
  const all = text === null ? [] : parseIndexes(text)
  const { name } = current.engine
  if (all.length > 0 && !isMergeTreeName(name)) throw refused(current, `the engine ${name} takes no indexes`)
  return { all, ...indexDifference(current.indexes, all) }
}

/** What to drop of `before`, and what to add, so that it becomes `after`. */
export function indexDifference(
  before: readonly IndexDefinition[],
  after: readonly IndexDefinition[],
): Pick<IndexChange, 'dropped' | 'added'> {
  const lacks = (indexes: readonly IndexDefinition[]) => {
    const texts = new Set(indexes.map(formatIndex))
    return (index: IndexDefinition) => !texts.has(formatIndex(index))
  }
  return { dropped: before.filter(lacks(after)), added: after.filter(lacks(before)) }
}

function isMergeTreeName(name: string): boolean {
  const engine = findEngineName(name)
  return engine !== undefined && isMergeTree(engine)
}
