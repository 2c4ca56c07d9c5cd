/**
 * Finds the rows for which the engine refuses a whole block, and keeps them in quarantine with the engine's reason.
 *
 * The workers judge every value, but a DEFAULT, a key or a type of the engine's may still throw. Halves of the block are
 * tried in a table of the same definition that nobody reads, so that nothing is stored while the search goes on. What was
 * found is written into the log before the block is inserted without it, and holds for every later try.
 */
import type { DataSource } from '../catalog/data-source.types.ts'
import { partLayoutOf } from '../codec/part-layout.ts'
import type { PartTarget } from '../codec/part-layout.types.ts'
import { parseColumnType } from '../shared/column-type.ts'
import type { ColumnDefinition } from '../shared/schema.types.ts'
import { quoteName, quoteString } from '../shared/text-escapes.ts'
import { quarantineTable } from '../store/quarantine-table.ts'
import type { AppendRequest, Store } from '../store/store.types.ts'
import { workspaceDatabase } from '../store/workspace-database.ts'
import { createBlockId } from './block-id.ts'
import { parseBodies } from './block-parser.ts'
import type { SealedBlock } from './events.types.ts'
import { ingestPlanOf } from './ingest-plan.ts'
import { insertFailureKind } from './insert-failure.ts'
import type { ParsePool } from './parse-pool.ts'
import type { RecordBody } from './record-body.ts'

export interface PoisonRooms {
  readonly store: Pick<Store, 'append' | 'command' | 'rows'>
  readonly pool: ParsePool
  readonly frameBytes: number
}

/** Names of tables that are tried; what a kill leaves of them is dropped at the start. */
const trialSuffix = '_trial'
const lineFeed = 0x0a

/** The lines of a block's bodies in order; a document that is no JSON is none, as the engine never sees it. */
export function linesOf(bodies: readonly RecordBody[]): readonly Uint8Array[] {
  return bodies.flatMap((body) => (body.framing === 'lines' ? splitLines(body.bytes) : []))
}

/** The bodies without the lines that are set aside. */
export function withoutLines(bodies: readonly RecordBody[], setAside: readonly number[]): readonly RecordBody[] {
  const left = new Set(setAside)
  const kept = linesOf(bodies).filter((_, index) => !left.has(index))
  const documents = bodies.filter(({ framing }) => framing === 'document')
  return [...(kept.length === 0 ? [] : [{ bytes: joinLines(kept), framing: 'lines' as const }]), ...documents]
}

/**
 * The lines, by number, that the engine refuses; empty when it takes them all.
 * @throws StoreError when the engine fails for another reason than the rows.
 */
export async function findPoison(
  rooms: PoisonRooms,
  dataSource: DataSource,
  bodies: readonly RecordBody[],
): Promise<readonly number[]> {
  const table = `${quoteName(workspaceDatabase)}.${quoteName(dataSource.id + trialSuffix)}`
  const { store } = rooms
  await store.command(`DROP TABLE IF EXISTS ${table}`)
  await store.command(`CREATE TABLE ${table} AS ${quoteName(workspaceDatabase)}.${quoteName(dataSource.id)}`)
  try {
    const lines = linesOf(bodies)
    return await searchLines({ rooms, dataSource, lines }, 0, lines.length)
  } finally {
    await store.command(`DROP TABLE IF EXISTS ${table}`)
  }
}

/** Drops what a kill in the middle of a search left. */
export async function dropTrialTables(store: Pick<Store, 'command' | 'rows'>): Promise<void> {
  const rows = await store.rows<{ readonly name: string }>(
    `SELECT name FROM system.tables WHERE database = ${quoteString(workspaceDatabase)}
     AND match(name, '^t_[0-9a-f]{32}${trialSuffix}$')`,
  )
  for (const { name } of rows) {
    await store.command(`DROP TABLE IF EXISTS ${quoteName(workspaceDatabase)}.${quoteName(name)}`)
  }
}

interface Search {
  readonly rooms: PoisonRooms
  readonly dataSource: DataSource
  readonly lines: readonly Uint8Array[]
}

async function searchLines(search: Search, from: number, to: number): Promise<readonly number[]> {
  if (from === to || (await isTaken(search, from, to))) return []
  if (to - from === 1) return [from]
  const middle = (from + to) >> 1
  return [...(await searchLines(search, from, middle)), ...(await searchLines(search, middle, to))]
}

async function isTaken({ rooms, dataSource, lines }: Search, from: number, to: number): Promise<boolean> {
  const { store, pool, frameBytes } = rooms
  const plan = ingestPlanOf(dataSource, null)
  const body = { bytes: joinLines(lines.slice(from, to)), framing: 'lines' } as const
  const { parts, rowCount } = await parseBodies(pool, plan, [body], frameBytes)
  if (rowCount === 0) return true
  try {
    const table = dataSource.id + trialSuffix
    await store.append({ table, layout: plan.landing.layout, parts, rowCount, blockId: createBlockId() })
    return true
  } catch (error) {
    if (insertFailureKind(error) === 'rows') return false
    throw error
  }
}

/** Appends the lines that are set aside to the quarantine, their values as texts, under the block's own token. */
export async function quarantinePoison(
  { store, pool, frameBytes }: PoisonRooms,
  dataSource: DataSource,
  {
    block,
    bodies,
    reason,
  }: { readonly block: SealedBlock; readonly bodies: readonly RecordBody[]; readonly reason: string },
): Promise<void> {
  const left = new Set(block.setAside)
  const lines = linesOf(bodies).filter((_, index) => left.has(index))
  const columns = dataSource.columns.map(asText)
  const plan = { planKey: `${dataSource.id}:${dataSource.version}:texts`, columns }
  const rows = await parseBodies(pool, plan, [{ bytes: joinLines(lines), framing: 'lines' }], frameBytes)
  const { fields, targets } = partLayoutOf(columns)
  const reasons: readonly PartTarget[] = [
    { column: 'c__error_column', expression: "['']" },
    { column: 'c__error', expression: `[${quoteString(reason)}]` },
    { column: 'insertion_date', expression: `toDateTime(${Math.floor(block.sealedAtMs / 1000)})` },
  ]
  const request: AppendRequest = {
    table: quarantineTable(dataSource.id),
    layout: { fields, targets: [...targets, ...reasons] },
    parts: rows.parts,
    rowCount: rows.rowCount,
    blockId: `${block.blockId}-p`,
  }
  if (rows.rowCount > 0) await store.append(request)
}

/** The reason under which such rows are set aside; the engine's own words are in the log of the service. */
export const poisonReason = 'the database refused the row'

const textType = parseColumnType('Nullable(String)')

function asText(column: ColumnDefinition): ColumnDefinition {
  return { ...column, typeText: 'Nullable(String)', type: textType, defaultExpression: null, codec: null }
}

function splitLines(bytes: Uint8Array): readonly Uint8Array[] {
  const lines: Uint8Array[] = []
  let start = 0
  while (start < bytes.length) {
    const end = bytes.indexOf(lineFeed, start)
    const stop = end < 0 ? bytes.length : end
    lines.push(bytes.subarray(start, stop))
    start = stop + 1
  }
  return lines
}

function joinLines(lines: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(lines.reduce((total, { length }) => total + length + 1, 0))
  let offset = 0
  for (const line of lines) {
    joined.set(line, offset)
    joined[offset + line.length] = lineFeed
    offset += line.length + 1
  }
  return joined
}
