/**
 * Rows that were set aside, on their way in once more.
 *
 * They come as CSV records, because a cell is what a value of a quarantine is: a text, or nothing. Behind the columns of
 * the data source each has the id of its row, by which those that still do not fit are told apart: they are noted in a
 * table, and the others are appended. The same request may be repeated any number of times and is stored once: the engine
 * knows the tokens, and rows that are noted are left out by whoever asks.
 */

import type { DataSource } from '../catalog/data-source.types.ts'
import { partExpression } from '../codec/arrow/part-expression.ts'
import { partLayoutOf, quarantineLayoutOf } from '../codec/arrow/part-layout.ts'
import type { PartLayout } from '../codec/arrow/part-layout.types.ts'
import { csvDialect } from '../codec/csv/csv-dialect.ts'
import { framePaddingBytes } from '../codec/frame-assembler.ts'
import type { ParseTask } from '../codec/parse-task.types.ts'
import type { ColumnDefinition } from '../schema/columns/column-definition.types.ts'
import { parseColumnType } from '../schema/types/column-type.ts'
import { assert } from '../shared/assert.ts'
import { quoteString } from '../shared/text-escapes.ts'
import type { ValueRules } from '../shared/value-rules.ts'
import { withoutInternals } from '../store/engine-message.ts'
import { replayTables } from '../store/sql/replay-tables.ts'
import type { AppendRequest, Store } from '../store/store.types.ts'
import { StoreError } from '../store/store-error.ts'
import type { ReplayRowsOutcome, ReplayRowsRequest } from './ingest.types.ts'
import type { ParsedRows } from './insert/block.types.ts'
import { createBlockId } from './insert/block-id.ts'
import { parseTask } from './insert/block-parser.ts'
import { mayBeOfRows } from './insert/insert-failure.ts'
import { partitionBoundOf } from './insert/partition-bound.ts'
import { type PartitionLimits, PartitionsExceededError } from './insert/partition-limits.ts'
import { beyondReason } from './insert/partition-rows.ts'
import { isPlainTable } from './insert/plain-table.ts'
import { costlyReason, poisonReason, untriedReason, withTableLike } from './insert/poison-rows.ts'
import { findRefusedRows } from './insert/refused-rows.ts'
import { isCostly, withStagedRows } from './insert/staged-rows.ts'
import type { ParsePool } from './parse/parse-pool.ts'

interface ReplayDeps {
  readonly store: Pick<Store, 'append' | 'partitionsByRow' | 'tables' | 'trials'>
  readonly partitionLimits: PartitionLimits
  readonly pool: ParsePool
}

/** See `Ingest.replayRows`. */
export async function replayRows(deps: ReplayDeps, request: ReplayRowsRequest): Promise<ReplayRowsOutcome> {
  const { records } = request
  if (records.length === 0) return { viewFailure: null }
  const plan = replayPlanOf(request)
  const rows = await parse(deps.pool, plan, records)
  await noteMisfits(deps.store, plan, request, rows)
  try {
    return await landRows(deps, plan, request, rows)
  } catch (error) {
    if (isCostly(error)) return await landInPieces(deps, plan, request)
    const isOfPartitions = error instanceof PartitionsExceededError
    if (!isOfPartitions && !mayBeOfRows(error)) throw error
    const kept = isOfPartitions
      ? await withoutBeyond(deps, plan, { request, rows, allowed: error.allowed })
      : await withoutPoison(deps, plan, request)
    if (kept.length === records.length) throw error
    return await landRows(deps, plan, request, await parse(deps.pool, plan, kept))
  }
}

/** Rows that are in the table are replayed, whatever a view makes of them: what it misses is told, and not waited for. */
async function landRows(
  deps: ReplayDeps,
  plan: ReplayPlan,
  { dataSource, blockId }: ReplayRowsRequest,
  rows: RowsToLand,
): Promise<ReplayRowsOutcome> {
  try {
    await appendRows(deps, plan, { table: dataSource.id, blockId, rows })
    return { viewFailure: null }
  } catch (error) {
    if (error instanceof StoreError && error.areRowsStored) return { viewFailure: withoutInternals(error.message) }
    throw error
  }
}

/** Rows for which one INSERT takes too much time or memory; those that take too much alone, or are refused, are noted. */
async function landInPieces(
  deps: ReplayDeps,
  plan: ReplayPlan,
  request: ReplayRowsRequest,
): Promise<ReplayRowsOutcome> {
  const { dataSource, records, misfitsTable } = request
  const table = replayTables(dataSource.id).trial
  const insert = async (numbers: readonly number[]): Promise<number> => {
    throwIfGivenUp(request)
    const rows = await parse(deps.pool, plan, records.filter(isAmong(numbers)))
    await appendRows(deps, plan, { table, blockId: createBlockId(), rows, isTrial: true })
    return rows.rowCount
  }
  const staging = { dataSource, table, candidates: [...records.keys()], insert }
  return await withStagedRows(deps.store.tables, staging, async ({ refused, costly, untried, source }) => {
    const poison = refused.filter((row) => !costly.includes(row))
    // Another try may find others; what is noted twice counts once.
    const notes = [
      { records: records.filter(isAmong(costly)), reason: costlyReason, blockId: createBlockId() },
      { records: records.filter(isAmong(poison)), reason: poisonReason, blockId: createBlockId() },
    ]
    const left = { records: records.filter(isAmong(untried)), reason: untriedReason, blockId: createBlockId() }
    for (const note of [...notes, left]) await noteRefused(deps, plan, { misfitsTable, ...note })
    return await landRows(deps, plan, request, source)
  })
}

interface ReplayPlan {
  readonly dataSource: DataSource
  readonly columns: readonly ColumnDefinition[]
  readonly planKey: string
  readonly rules: ValueRules
  /** Of the data source alone, over the fields of all. */
  readonly landing: PartLayout
  /** The row's id, the columns and the reasons, over the fields of a quarantine part. */
  readonly misfits: PartLayout
}

const rowColumn: ColumnDefinition = {
  name: 'c__row',
  typeText: 'String',
  type: parseColumnType('String'),
  jsonPath: null,
  jsonPathText: null,
  defaultExpression: null,
  codec: null,
}

function replayPlanOf({ dataSource, rules }: ReplayRowsRequest): ReplayPlan {
  const { id, version } = dataSource
  // Paths are for records; here each column has a cell of its own.
  const own = dataSource.columns.map((column) => ({ ...column, jsonPath: null, jsonPathText: null }))
  const columns = [...own, rowColumn]
  const rowField = `__${own.length}`
  return {
    dataSource,
    columns,
    planKey: `${id}:${version}:replay`,
    rules,
    // The row's column is the last, so that the fields of the others have the names that they have without it.
    landing: { fields: partLayoutOf(columns).fields, targets: partLayoutOf(own).targets },
    misfits: {
      fields: quarantineLayoutOf(columns, null).fields,
      targets: [
        { column: 'row', expression: partExpression(`toUUID(${rowField})`) },
        { column: 'columns', expression: partExpression('__c__error_column') },
        { column: 'reasons', expression: partExpression('__c__error') },
      ],
    },
  }
}

const dialect = csvDialect(',', null)

function taskOf({ planKey, columns, rules }: ReplayPlan, records: readonly Uint8Array[]): ParseTask {
  const byteCount = records.reduce((total, { length }) => total + length, 0)
  const frame = new Uint8Array(byteCount + framePaddingBytes)
  let offset = 0
  for (const record of records) {
    frame.set(record, offset)
    offset += record.length
  }
  return {
    planKey,
    columns,
    rules,
    frame,
    byteCount,
    start: 0,
    bodyEnds: [byteCount],
    record: { kind: 'csv', dialect, fieldColumns: columns.map((_, index) => index) },
    partPaths: null,
  }
}

async function parse(pool: ParsePool, plan: ReplayPlan, records: readonly Uint8Array[]): Promise<ParsedRows> {
  if (records.length === 0) return { parts: [], rowCount: 0, quarantineParts: [], quarantinedRowCount: 0 }
  const rows = await parseTask(pool, taskOf(plan, records))
  assert(rows.rowCount + rows.quarantinedRowCount === records.length, 'every record is a row, here or there')
  return rows
}

async function noteMisfits(
  store: Pick<Store, 'append'>,
  { misfits }: ReplayPlan,
  { misfitsTable, blockId }: ReplayRowsRequest,
  { quarantineParts: parts, quarantinedRowCount: rowCount }: ParsedRows,
): Promise<void> {
  if (rowCount === 0) return
  await store.append({ table: misfitsTable, layout: misfits, parts, rowCount, blockId: `${blockId}-f` })
}

/** Parts, or a table that has the rows, and the layout that goes with it. */
type RowsToLand = Pick<AppendRequest, 'from' | 'parts' | 'rowCount'> & { readonly layout?: PartLayout }

interface RowsToAppend {
  readonly table: string
  readonly blockId: string
  readonly rows: RowsToLand
  /** Whether the table is dropped soon. */
  readonly isTrial?: boolean
}

async function appendRows(
  { store, partitionLimits }: ReplayDeps,
  plan: ReplayPlan,
  append: RowsToAppend,
): Promise<void> {
  const { parts, rowCount, from, layout = plan.landing } = append.rows
  if (rowCount === 0) return
  const { table, blockId, isTrial = false } = append
  const bound = partitionBoundOf(plan.dataSource, plan.landing)
  const partition = bound === undefined || from === undefined ? bound : { ...bound, columns: [] }
  const bounds = await partitionLimits.bodyOf(table).boundCut(partition, rowCount)
  const source = { layout, parts, rowCount, ...(from === undefined ? {} : { from }) }
  await store.append({ table, ...source, ...bounds, blockId, isTrial, outlivesViews: true })
}

/** The records whose partitions are allowed; the others are noted, with the reason that events of their kind get. */
async function withoutBeyond(
  { store, pool }: ReplayDeps,
  plan: ReplayPlan,
  {
    request: { dataSource, records, misfitsTable, blockId },
    rows: { parts, rowCount },
    allowed,
  }: { readonly request: ReplayRowsRequest; readonly rows: ParsedRows; readonly allowed: ReadonlySet<string> },
): Promise<readonly Uint8Array[]> {
  const partition = partitionBoundOf(dataSource, plan.landing)
  if (partition === undefined) return records
  const rowField = `__${plan.columns.length - 1}`
  const request = { table: dataSource.id, layout: plan.landing, parts, rowCount, blockId, partition }
  const beyond = new Set<string>()
  for (const { name, tag } of await store.partitionsByRow(request, partExpression(rowField)))
    if (!allowed.has(name)) beyond.add(tag)
  const isBeyond = (record: Uint8Array): boolean => beyond.has(rowIdOf(record))
  const noted = { records: records.filter(isBeyond), reason: beyondReason, blockId: `${blockId}-o` }
  await noteRefused({ store, pool }, plan, { misfitsTable, ...noted })
  return records.filter((record) => !isBeyond(record))
}

/** The id stands last in a record, before its line feed, quoted or not. */
function rowIdOf(record: Uint8Array): string {
  return /([0-9a-f-]{36})"?\r?\n?$/.exec(Buffer.from(record.subarray(-48)).toString('latin1'))?.[1] ?? ''
}

interface RefusedRecords {
  readonly misfitsTable: string
  readonly records: readonly Uint8Array[]
  readonly reason: string
  readonly blockId: string
}

async function noteRefused(
  { store, pool }: Pick<ReplayDeps, 'pool'> & { readonly store: Pick<Store, 'append'> },
  plan: ReplayPlan,
  { misfitsTable, records, reason, blockId }: RefusedRecords,
): Promise<void> {
  const texts = { ...plan, planKey: `${plan.planKey}:texts`, columns: plan.columns.map(asText) }
  const { parts, rowCount } = await parse(pool, texts, records)
  const { fields } = partLayoutOf(texts.columns)
  const layout: PartLayout = {
    fields,
    targets: [
      { column: 'row', expression: partExpression(`toUUID(assumeNotNull(__${plan.columns.length - 1}))`) },
      { column: 'columns', expression: partExpression("['']") },
      { column: 'reasons', expression: partExpression(`[${quoteString(reason)}]`) },
    ],
  }
  if (rowCount > 0) await store.append({ table: misfitsTable, layout, parts, rowCount, blockId })
}

/** The records that the table takes; the others are noted, with the reason that events of their kind get. */
async function withoutPoison(
  deps: ReplayDeps,
  plan: ReplayPlan,
  request: ReplayRowsRequest,
): Promise<readonly Uint8Array[]> {
  const { dataSource, records, misfitsTable, blockId } = request
  const { store, pool } = deps
  const table = replayTables(dataSource.id).trial
  return await withTableLike(store.tables, { dataSource, table, keeps: 'same' }, async () => {
    const trials = {
      insert: async (numbers: readonly number[]) => {
        throwIfGivenUp(request)
        const rows = await parse(pool, plan, records.filter(isAmong(numbers)))
        await appendRows(deps, plan, { table, blockId: createBlockId(), rows, isTrial: true })
      },
      insertBlank: () =>
        store.trials.insertBlankRow(table, dataSource.columns, { computes: !isPlainTable(dataSource) }),
    }
    const poison = new Set(await findRefusedRows(trials, [...records.keys()]))
    const refused = records.filter((_, index) => poison.has(index))
    const noted = { records: refused, reason: poisonReason, blockId: `${blockId}-p` }
    await noteRefused({ store, pool }, plan, { misfitsTable, ...noted })
    return records.filter((_, index) => !poison.has(index))
  })
}

/** A search takes up to minutes: more than a close has. */
function throwIfGivenUp({ isGivenUp }: ReplayRowsRequest): void {
  if (isGivenUp()) throw new StoreError({ kind: 'closed', message: 'The replay goes on at the next start' })
}

function isAmong(numbers: readonly number[]): (record: Uint8Array, index: number) => boolean {
  const chosen = new Set(numbers)
  return (_record, index) => chosen.has(index)
}

const textType = parseColumnType('Nullable(String)')

function asText(column: ColumnDefinition): ColumnDefinition {
  return { ...column, typeText: 'Nullable(String)', type: textType, defaultExpression: null, codec: null }
}
