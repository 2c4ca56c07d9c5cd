// The data source that is made for a view where there is none: its schema and its engine, out of what the query gives.

import type { ViewColumn } from '../catalog/pipe.types.ts'
import type { EngineDefinition } from '../schema/engines/engine-definition.types.ts'
import { findEngineName, isMergeTree } from '../schema/engines/engine-options.ts'
import { isNullable, parseColumnType, valueTypeOf } from '../schema/types/column-type.ts'
import type { ColumnType } from '../schema/types/column-type.types.ts'
import { TextError } from '../shared/text-error.ts'
import { quoteName } from '../shared/text-escapes.ts'
import type { ViewQuery } from './view-query.ts'
import { ViewQueryFault } from './view-query.ts'

export interface NewTarget {
  readonly schema: string
  readonly engine: EngineDefinition
  /** Sentences that say what was chosen, and what it makes of the rows. */
  readonly notes: readonly string[]
}

/**
 * @param engine what the request says of it; null says nothing.
 * @throws ViewQueryFault for a column that no data source can have.
 */
export function newTarget(
  columns: readonly ViewColumn[],
  query: Pick<ViewQuery, 'isGrouped' | 'keys'>,
  engine: EngineDefinition | null,
): NewTarget {
  const typed = columns.map((column) => ({ ...column, type: typeOf(column) }))
  const schema = typed.map(({ name, typeText }) => `${quoteName(name)} ${typeText}`).join(', ')
  const hasStates = typed.some(({ type }) => isAggregate(type))
  const name = engine?.name ?? (hasStates ? 'AggregatingMergeTree' : 'MergeTree')
  const notes: string[] = []
  if (engine === null) notes.push(`the engine ${name} was chosen, as ${engineReason(hasStates, query.isGrouped)}`)
  const known = findEngineName(name)
  const options = engine?.options ?? {}
  const isKeyed = options['sorting_key'] !== undefined || options['primary_key'] !== undefined
  if (known === undefined || !isMergeTree(known) || isKeyed) return { schema, engine: { name, options }, notes }
  const keys = typed.filter((column) => query.keys.includes(column.name) && canBeKey(column.type))
  if (!(hasStates || query.isGrouped) || keys.length === 0) return { schema, engine: { name, options }, notes }
  const ordered = query.keys.flatMap((key) => keys.find((column) => column.name === key) ?? [])
  const sortingKey = ordered.map((column) => plainName(column.name)).join(', ')
  notes.push(`the sorting key (${sortingKey}) was chosen, which is what the query groups by`)
  const takesNull = ordered.some(({ type }) => isNullable(type))
  const settings = takesNull ? withNullableKey(options['settings']) : options['settings']
  if (takesNull) notes.push('allow_nullable_key = 1 was set, as a column of the sorting key is Nullable')
  const chosen = { ...options, sorting_key: sortingKey, ...(settings === undefined ? {} : { settings }) }
  return { schema, engine: { name, options: chosen }, notes }
}

function typeOf({ name, typeText }: ViewColumn): ColumnType {
  try {
    return parseColumnType(typeText)
  } catch (thrown) {
    if (!(thrown instanceof TextError)) throw thrown
    const reason = `column '${name}' is ${typeText}, which no Data Source can have; write CAST(…, '<type>') AS ${plainName(name)}`
    throw new ViewQueryFault(reason, { cause: thrown })
  }
}

function isAggregate({ kind }: ColumnType): boolean {
  return kind === 'aggregateFunction' || kind === 'simpleAggregateFunction'
}

function canBeKey(type: ColumnType): boolean {
  const { kind } = valueTypeOf(type)
  return !isAggregate(type) && kind !== 'json' && kind !== 'map'
}

function engineReason(hasStates: boolean, isGrouped: boolean): string {
  if (hasStates) return 'the query gives states of aggregate functions'
  if (!isGrouped) return 'the query gives rows as they come'
  return 'the query gives finished values: each block adds rows of its own for a group, which are never added up; use -State or -SimpleState functions, or SummingMergeTree, to have one row a group'
}

function withNullableKey(settings: string | undefined): string {
  if (settings === undefined || settings.trim() === '') return 'allow_nullable_key = 1'
  return /\ballow_nullable_key\b/.test(settings) ? settings : `${settings}, allow_nullable_key = 1`
}

function plainName(name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) ? name : quoteName(name)
}
