import type { DataSource } from '../catalog/data-source.types.ts'
import type { Logger } from '../observe/logger.ts'
import type { Store } from '../store/store.types.ts'
import type { Sequence } from '../wal/sequence.ts'
import { createBlockId } from './block-id.ts'
import { insertBlock } from './block-insert.ts'
import { joinRows, parseBodies } from './block-parser.ts'
import type { LoggedBatch, ParsedRows, SealedBlock } from './events.types.ts'
import type { EventsLog } from './events-log.ts'
import { ingestPlanOf } from './ingest-plan.ts'
import type { ParsePool } from './parse-pool.ts'
import { findPoison, poisonReason, quarantinePoison, withoutLines } from './poison-rows.ts'
import type { RecordBody } from './record-body.ts'

interface BlockStoreRooms {
  readonly store: Store
  readonly pool: ParsePool
  readonly log: Pick<EventsLog, 'seal'>
  readonly logger: Logger
  readonly now: () => number
  readonly frameBytes: number
  /** Bodies out of the log. */
  readonly load: (sequences: readonly Sequence[]) => Promise<readonly RecordBody[]>
}

/** A block, and what it is made of where that is still in memory. */
export interface BlockSource {
  readonly dataSource: DataSource
  readonly stream: string
  readonly block: SealedBlock
  readonly content: readonly LoggedBatch[] | null
}

export interface BlockCounts {
  readonly rowCount: number
  readonly quarantinedRowCount: number
}

/** Seals blocks of events, makes them into parts, and inserts them. */
export class BlockStore {
  private readonly rooms: BlockStoreRooms

  constructor(rooms: BlockStoreRooms) {
    this.rooms = rooms
  }

  /** Names a block in the log. */
  async seal(stream: string, batches: readonly LoggedBatch[]): Promise<SealedBlock> {
    const sequences = batches.flatMap((batch) => batch.sequences)
    const loggedBytes = batches.reduce((total, batch) => total + batch.loggedBytes, 0)
    const block = { blockId: createBlockId(), sequences, setAside: [], loggedBytes, sealedAtMs: this.rooms.now() }
    await this.rooms.log.seal(stream, block)
    return block
  }

  /** Stores the block, once however often it is called. Raises `StoreError`, or why its content could not be read. */
  async insert(source: BlockSource): Promise<BlockCounts> {
    const { dataSource, block } = source
    if (block.setAside.length > 0) return await this.insertWithout(source)
    const rows = await this.rowsOf(source)
    await insertBlock(this.rooms.store, dataSource, block, rows)
    return countsOf(rows, 0)
  }

  /**
   * Finds the rows for which the engine refuses the block and names the block once more, without them.
   *
   * It keeps its id: the engine takes an INSERT partition by partition, so those before the refused rows are stored under
   * the block's tokens already, and must not be stored under others.
   * @throws `failure` when none is found.
   */
  async isolate({ dataSource, stream, block }: BlockSource, failure: unknown): Promise<SealedBlock> {
    const { logger, log, load } = this.rooms
    const bodies = await load(block.sequences)
    const found = await findPoison(this.rooms, dataSource, { bodies, known: block.setAside })
    if (found.length === 0) throw failure
    const setAside = [...block.setAside, ...found].toSorted((a, b) => a - b)
    const fields = { err: failure, dataSource: dataSource.name, rowCount: found.length }
    logger.warn(fields, 'The engine refuses rows of a block; they are set aside.')
    const isolated = { ...block, setAside }
    await log.seal(stream, isolated)
    return isolated
  }

  private async insertWithout({ dataSource, block }: BlockSource): Promise<BlockCounts> {
    const { store, pool, frameBytes, load } = this.rooms
    const bodies = await load(block.sequences)
    const kept = withoutLines(bodies, block.setAside)
    const rows = await parseBodies(pool, ingestPlanOf(dataSource, null), kept, frameBytes)
    await insertBlock(store, dataSource, block, rows)
    await quarantinePoison(this.rooms, dataSource, { block, bodies, reason: poisonReason })
    return countsOf(rows, block.setAside.length)
  }

  private async rowsOf({ dataSource, block, content }: BlockSource): Promise<ParsedRows> {
    const { pool, frameBytes, load } = this.rooms
    const plan = ingestPlanOf(dataSource, null)
    if (content === null) return await parseBodies(pool, plan, await load(block.sequences), frameBytes)
    // Runs of small bodies are parsed again, together; what is parsed already stays in its place.
    const runs: (RecordBody[] | ParsedRows)[] = []
    for (const batch of content) {
      const run = runs.at(-1)
      if (batch.content.kind === 'parsed') runs.push(batch.content.rows)
      else if (Array.isArray(run)) run.push(...batch.content.bodies)
      else runs.push([...batch.content.bodies])
    }
    const parsed = runs.map((run) => (Array.isArray(run) ? parseBodies(pool, plan, run, frameBytes) : run))
    return joinRows(await Promise.all(parsed))
  }
}

function countsOf({ rowCount, quarantinedRowCount }: ParsedRows, setAsideCount: number): BlockCounts {
  return { rowCount, quarantinedRowCount: quarantinedRowCount + setAsideCount }
}
