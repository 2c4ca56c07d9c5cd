// The tables of a data source, from one definition to the next and back. Every statement may be repeated, so that what a
// kill has left half done is taken back by the same statements as what the engine has refused.

import type { DataSource } from '../../catalog/data-source.types.ts'
import { isPlainTable } from '../../ingest/insert/plain-table.ts'
import type { ColumnDefinition } from '../../schema/columns/column-definition.types.ts'
import { formatIndex, type IndexDefinition } from '../../schema/definitions/index-definition.ts'
import { columnClause, ttlOf } from '../../schema/definitions/table-definition.ts'
import { clickhouseCodes } from '../../store/engine-codes.ts'
import { quarantineTable } from '../../store/sql/quarantine-table.ts'
import type { Store } from '../../store/store.types.ts'
import { StoreError } from '../../store/store-error.ts'
import type { TableChange, Tables } from '../../store/tables.types.ts'
import { moveQuarantineTime, movesQuarantineTime } from '../quarantine/quarantine-time.ts'
import { indexDifference } from './alteration.ts'

/** What changes and takes back definitions, also while an engine that was started again is mended. */
export type AlteredTables = Pick<Store, 'copy' | 'exchange' | 'sync' | 'tables'>

/** Changes both tables from `before` to `after`, which has more columns. Raises `StoreError`. */
export async function alterTables(store: AlteredTables, before: DataSource, after: DataSource): Promise<void> {
  const added = addedColumns(before, after)
  if (movesQuarantineTime(before, after)) await moveQuarantineTime(store, before, after)
  else await store.tables.alter(quarantineTable(before.id), quarantineColumns(added, before))
  const indexes = indexDifference(before.indexes, after.indexes)
  const changes: readonly TableChange[] = [
    ...added.map((column) => ({ kind: 'add-column', column: columnClause(column) }) as const),
    ...indexChanges(indexes),
    ...ttlChanges(before, after),
  ]
  await store.tables.alter(before.id, changes, { computes: !isPlainTable(after) })
}

/** Brings tables that are as `pending` says, or on their way there, back to `before`. Raises `StoreError`. */
export async function takeBackTables(store: AlteredTables, pending: DataSource, before: DataSource): Promise<void> {
  const { tables } = store
  // The TTL first: it may speak of the columns that go.
  for (const change of ttlChanges(pending, before)) await takeBackTtl(tables, before, change)
  const indexes = indexDifference(pending.indexes, before.indexes)
  const columns = addedColumns(before, pending).map(({ name }) => ({ kind: 'drop-column', name }) as const)
  await tables.alter(before.id, [...indexChanges(indexes), ...columns])
  if (movesQuarantineTime(before, pending)) await moveQuarantineTime(store, pending, before)
  else await tables.alter(quarantineTable(before.id), columns)
}

function addedColumns(before: DataSource, after: DataSource): readonly ColumnDefinition[] {
  return after.columns.slice(before.columns.length)
}

/** Behind the data source's other columns and before those of the quarantine itself, as if they had always been there. */
function quarantineColumns(added: readonly ColumnDefinition[], before: DataSource): readonly TableChange[] {
  const names = [...before.columns, ...added].map(({ name }) => name)
  return added.map(({ name }, position) => {
    return { kind: 'add-text-column', name, after: names[before.columns.length + position - 1] ?? '' }
  })
}

interface IndexDifference {
  readonly dropped: readonly IndexDefinition[]
  readonly added: readonly IndexDefinition[]
}

function indexChanges({ dropped, added }: IndexDifference): readonly TableChange[] {
  return [
    ...dropped.map(({ name }) => ({ kind: 'drop-index', name }) as const),
    ...added.map((index) => ({ kind: 'add-index', index: formatIndex(index) }) as const),
  ]
}

function ttlChanges(from: DataSource, to: DataSource): readonly TableChange[] {
  const ttl = ttlOf(to.engine)
  if (ttlOf(from.engine) === ttl) return []
  return [ttl === undefined ? { kind: 'remove-ttl' } : { kind: 'set-ttl', ttl }]
}

/** The engine refuses to remove a TTL that is not there, which is so when the change never came to it. */
async function takeBackTtl(tables: Pick<Tables, 'alter'>, { id }: DataSource, change: TableChange): Promise<void> {
  try {
    await tables.alter(id, [change])
  } catch (error) {
    const isGone = error instanceof StoreError && error.clickhouseCode === clickhouseCodes.badArguments
    if (!isGone || change.kind !== 'remove-ttl') throw error
  }
}
