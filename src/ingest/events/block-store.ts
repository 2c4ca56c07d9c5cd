import type { DataSource } from '../../catalog/data-source.types.ts'
import type { Logger } from '../../observe/logger.ts'
import type { Store } from '../../store/store.types.ts'
import { StoreError } from '../../store/store-error.ts'
import type { Sequence } from '../../wal/sequence.ts'
import { ingestPlanOf } from '../ingest-plan.ts'
import type { NamedBlock, ParsedRows } from '../insert/block.types.ts'
import { createBlockId } from '../insert/block-id.ts'
import { insertBlock } from '../insert/block-insert.ts'
import { joinRows, parseBodies } from '../insert/block-parser.ts'
import { partitionBoundOf } from '../insert/partition-bound.ts'
import { type PartitionLimits, PartitionsExceededError } from '../insert/partition-limits.ts'
import { beyondReason, findBeyond } from '../insert/partition-rows.ts'
import {
  costlyReason,
  findPoison,
  insertTried,
  linesOf,
  piecesSuffix,
  poisonReason,
  quarantinePoison,
  untriedReason,
  withoutLines,
} from '../insert/poison-rows.ts'
import { type FoundRows, type StagedRows, withStagedRows } from '../insert/staged-rows.ts'
import type { ParsePool } from '../parse/parse-pool.ts'
import type { RecordBody } from '../parse/record-body.ts'
import type { LoggedBatch } from './events.types.ts'
import type { EventsLog } from './events-log.ts'

interface BlockStoreDeps {
  readonly store: Store
  readonly pool: ParsePool
  readonly partitionLimits: PartitionLimits
  readonly log: Pick<EventsLog, 'nameBlock'>
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
  readonly block: NamedBlock
  readonly content: readonly LoggedBatch[] | null
}

export interface BlockCounts {
  readonly rowCount: number
  readonly quarantinedRowCount: number
}

/** A block that is stored, and a table that takes its rows once more. */
export interface RepeatedBlock {
  readonly dataSource: DataSource
  readonly block: NamedBlock
  readonly table: string
}

/** Names blocks of events, makes them into parts, and inserts them. */
export class BlockStore {
  readonly #deps: BlockStoreDeps

  constructor(deps: BlockStoreDeps) {
    this.#deps = deps
  }

  /** Names a block in the log. */
  async name(stream: string, batches: readonly LoggedBatch[]): Promise<NamedBlock> {
    const sequences = batches.flatMap((batch) => batch.sequences)
    const loggedBytes = batches.reduce((total, batch) => total + batch.loggedBytes, 0)
    const namedAtMs = this.#deps.now()
    const block = { blockId: createBlockId(), sequences, setAside: [], beyond: [], loggedBytes, namedAtMs }
    await this.#deps.log.nameBlock(stream, block)
    return block
  }

  /** Stores the block, once however often it is called. Raises `StoreError`, or why its content could not be read. */
  async insert(source: BlockSource): Promise<BlockCounts> {
    const { dataSource, block } = source
    if (block.isCutShort === true) return await this.#insertCutShort(source)
    if (block.setAside.length + block.beyond.length > 0) return await this.#insertWithout(source)
    const rows = await this.#rowsOf(source)
    await insertBlock(this.#deps, dataSource, block, rows)
    return countsOf(rows, 0)
  }

  /**
   * Inserts the rows of a stored block into a table with the columns of its data source, under the same tokens: the views on that table
   * take them if they have not got them. Raises as `insert` does. `bodies` are those of the block.
   */
  async repeat({ dataSource, block, table }: RepeatedBlock, bodies: readonly RecordBody[]): Promise<void> {
    const { pool, frameBytes, store } = this.#deps
    const left = [...block.setAside, ...block.beyond]
    const plan = ingestPlanOf(dataSource, null)
    const kept = left.length === 0 ? bodies : withoutLines(bodies, left)
    const { parts, rowCount } = await parseBodies(pool, plan, kept, frameBytes)
    if (rowCount === 0) return
    const { layout, isPlain } = plan.landing
    // Cut as it was, so that the tokens are the same.
    const partition = partitionBoundOf(dataSource, layout)
    const bound = partition === undefined ? {} : { partition }
    const { blockId } = block
    const isKept = true
    await store.append({ table, layout, isPlain, ...bound, parts, rowCount, blockId, mayBeCutAnew: true, isKept })
  }

  /**
   * Finds the rows for which the engine refuses the block, or those of too many partitions, and names the block once more,
   * without them.
   *
   * It keeps its id: the engine takes an INSERT partition by partition, so those before the refused rows are stored under
   * the block's tokens already, and must not be stored under others.
   * @throws `failure` when none is found.
   */
  async isolate({ dataSource, stream, block }: BlockSource, failure: unknown): Promise<NamedBlock> {
    const { logger, log, load } = this.#deps
    const bodies = await load(block.sequences)
    const known = [...block.setAside, ...block.beyond]
    const isOfPartitions = failure instanceof PartitionsExceededError
    const found = isOfPartitions
      ? await findBeyond(this.#deps, dataSource, { bodies, known, allowed: failure.allowed })
      : await findPoison(this.#deps, dataSource, { bodies, known })
    if (found.length === 0) throw failure
    const fields = { err: failure, dataSource: dataSource.name, rowCount: found.length }
    const message = isOfPartitions
      ? 'Rows of events are of too many partitions; they are set aside.'
      : 'The engine refuses rows of a block; they are set aside.'
    logger.warn(fields, message)
    const isolated = isOfPartitions
      ? { ...block, beyond: inOrder(block.beyond, found) }
      : { ...block, setAside: inOrder(block.setAside, found) }
    await log.nameBlock(stream, isolated)
    return isolated
  }

  /**
   * Stores a block for which one INSERT takes too much time or memory; rows that take too much alone, or are refused, are set
   * aside.
   * @throws StoreError when one INSERT of what was computed in pieces fails too, as keys and views may cost much.
   */
  async insertInPieces(
    { dataSource, stream, block }: BlockSource,
    { failure, isGivenUp }: { readonly failure: unknown; readonly isGivenUp: () => boolean },
  ): Promise<{ readonly block: NamedBlock; readonly counts: BlockCounts }> {
    const { store, load } = this.#deps
    const bodies = await load(block.sequences)
    const lines = linesOf(bodies)
    const left = new Set([...block.setAside, ...block.beyond])
    const candidates = [...lines.keys()].filter((line) => !left.has(line))
    const table = dataSource.id + piecesSuffix
    const insert = async (numbers: readonly number[]): Promise<number> => {
      if (isGivenUp()) throw new StoreError({ kind: 'closed', message: 'The data source is closed' })
      return await insertTried({ deps: this.#deps, dataSource, table, lines }, numbers)
    }
    return await withStagedRows(
      store.tables,
      { dataSource, table, candidates, insert },
      async ({ source, ...found }) => {
        const named = await this.#nameFound({ dataSource, stream, block }, found, failure)
        return { block: named, counts: await this.#insertNamed(dataSource, named, { bodies, source }) }
      },
    )
  }

  /** The block without the rows that were found when it was inserted in pieces, named once more. */
  async #nameFound(
    { dataSource, stream, block }: Omit<BlockSource, 'content'>,
    { refused, costly, untried }: FoundRows,
    failure: unknown,
  ): Promise<NamedBlock> {
    if (refused.length + untried.length === 0) return block
    const { logger, log } = this.#deps
    const fields = {
      err: failure,
      dataSource: dataSource.name,
      rowCount: refused.length,
      untriedRowCount: untried.length,
    }
    logger.warn(fields, 'Rows of a block take the engine too much time or memory, or are refused; they are set aside.')
    const named = {
      ...block,
      setAside: inOrder(block.setAside, [...refused, ...untried]),
      costly: inOrder(block.costly ?? [], costly),
      untried: inOrder(block.untried ?? [], untried),
    }
    await log.nameBlock(stream, named)
    return named
  }

  /**
   * A block of which rows were set aside before damage took some of its lines. Its tokens may be known already: inserted
   * under them as it is, its refused rows would be dropped as stored.
   */
  async #insertCutShort(source: BlockSource): Promise<BlockCounts> {
    const { dataSource, block } = source
    const bodies = await this.#deps.load(block.sequences)
    const setAside = await findPoison(this.#deps, dataSource, { bodies, known: [] })
    return await this.#insertWithout({
      ...source,
      block: { ...block, setAside, beyond: [], costly: [], untried: [], isCutShort: false },
    })
  }

  async #insertWithout({ dataSource, block }: BlockSource): Promise<BlockCounts> {
    return await this.#insertNamed(dataSource, block, { bodies: await this.#deps.load(block.sequences) })
  }

  /** The block without its rows that are set aside, and these. `source` has the rows where they are in no parts. */
  async #insertNamed(
    dataSource: DataSource,
    block: NamedBlock,
    { bodies, source }: { readonly bodies: readonly RecordBody[]; readonly source?: StagedRows['source'] },
  ): Promise<BlockCounts> {
    const { pool, frameBytes } = this.#deps
    const { setAside, beyond, costly = [], untried = [] } = block
    const others = new Set([...costly, ...untried])
    const refused = setAside.filter((line) => !others.has(line))
    const kept = withoutLines(bodies, [...setAside, ...beyond])
    const rows = await parseBodies(pool, ingestPlanOf(dataSource, null), kept, frameBytes)
    await insertBlock(this.#deps, dataSource, block, source === undefined ? rows : { ...rows, source })
    const quarantined = [
      { block, bodies, lines: refused, reason: poisonReason, tokenSuffix: 'p' },
      { block, bodies, lines: costly, reason: costlyReason, tokenSuffix: 'c' },
      { block, bodies, lines: untried, reason: untriedReason, tokenSuffix: 'u' },
      { block, bodies, lines: beyond, reason: beyondReason, tokenSuffix: 'o' },
    ] as const
    for (const lines of quarantined) await quarantinePoison(this.#deps, dataSource, lines)
    return countsOf(rows, setAside.length + beyond.length)
  }

  async #rowsOf({ dataSource, block, content }: BlockSource): Promise<ParsedRows> {
    const { pool, frameBytes, load } = this.#deps
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

function inOrder(known: readonly number[], found: readonly number[]): readonly number[] {
  return [...known, ...found].toSorted((a, b) => a - b)
}

function countsOf({ rowCount, quarantinedRowCount }: ParsedRows, setAsideCount: number): BlockCounts {
  return { rowCount, quarantinedRowCount: quarantinedRowCount + setAsideCount }
}
