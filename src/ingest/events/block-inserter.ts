/**
 * Stores the blocks of one data source, one at a time.
 *
 * 1. Blocks are named in the order of the log, and cover it without gaps: what is behind the last one is in the queue.
 * 2. A block is inserted after its name is on disk; it is tried again under the same id until it is stored.
 */
import type { DataSource } from '../../catalog/data-source.types.ts'
import type { InsertPlaces } from '../../store/insert-places.ts'
import type { Sequence } from '../../wal/sequence.ts'
import type { NamedBlock } from '../insert/block.types.ts'
import { mayBeOfRows } from '../insert/insert-failure.ts'
import { PartitionsExceededError } from '../insert/partition-limits.ts'
import { isPlainTable } from '../insert/plain-table.ts'
import { isCostly } from '../insert/staged-rows.ts'
import type { MemoryBudget } from '../memory-budget.ts'
import type { BlockCounts, BlockSource, BlockStore } from './block-store.ts'
import type { DrainedBytes, DrainRate } from './drain-rate.ts'
import type { EventsDelay, EventsViews, LoggedBatch } from './events.types.ts'
import type { EventsLog } from './events-log.ts'
import type { EventsQueue } from './events-queue.ts'
import { reasonOf } from './insert-retry.ts'

export interface BlockInserterDeps {
  readonly log: Pick<EventsLog, 'noteStored'>
  readonly blocks: Pick<BlockStore, 'insert' | 'insertInPieces' | 'isolate' | 'name'>
  /** Inserts that may run at once, of all data sources. */
  readonly places: Pick<InsertPlaces, 'use'>
  readonly budget: Pick<MemoryBudget, 'give'>
  readonly drain: Pick<DrainRate, 'begin' | 'end'>
  /** Epoch milliseconds, for what people read. */
  readonly now: () => number
  /** Absent where no views change. */
  readonly views?: Pick<EventsViews, 'beforeBlock' | 'gate'> | undefined
}

/** What a data source is told of its blocks. */
export interface BlockEvents {
  /** A block takes long. `isFirst`: the blocks before it did not. */
  readonly onSlow: (isFirst: boolean) => void
  /** A block is stored, and the log has heard of it. */
  readonly onStored: (block: NamedBlock, counts: BlockCounts) => void
  /** True when the tries for a block that takes long are to end. */
  readonly isClosed: () => boolean
}

/** How long the views of a data source may change until that counts as slow. */
const closedMsMax = 1_000

export class BlockInserter {
  readonly #stream: string
  readonly #deps: BlockInserterDeps
  readonly #queue: Pick<EventsQueue, 'putBack' | 'take'>
  readonly #events: BlockEvents
  /** Named in the log and not stored, oldest first. */
  readonly #named: NamedBlock[]
  /** What is being named in the log: neither in the queue nor a block. */
  #naming: readonly LoggedBatch[] = []
  /** What the first block was made of, while that is in memory. */
  #content: readonly LoggedBatch[] | null = null
  #delay: EventsDelay | null = null
  #begunAtMs = 0
  #isToldSlow = false
  #isAbandoned = false

  /** `named` are the blocks that an earlier process named, oldest first. */
  constructor({ stream, named, queue }: SourceOfBlocks, deps: BlockInserterDeps, events: BlockEvents) {
    this.#stream = stream
    this.#deps = deps
    this.#queue = queue
    this.#events = events
    this.#named = [...named]
  }

  /** Blocks that are named and not stored. */
  get blockCount(): number {
    return this.#named.length
  }

  /** Present while a block takes long: what comes meanwhile must not wait in memory that others need. */
  get delay(): EventsDelay | null {
    return this.#delay
  }

  get isAbandoned(): boolean {
    return this.#isAbandoned
  }

  /** The first entry of the blocks, and the last; null when all are stored. */
  get first(): Sequence | null {
    return (this.#named[0] ?? this.#naming[0])?.sequences[0] ?? null
  }

  get last(): Sequence | null {
    return (this.#naming.at(-1) ?? this.#named.at(-1))?.sequences.at(-1) ?? null
  }

  /** Stores the oldest block, or makes one of what the queue has. Raises what the log or the engine failed with. */
  async storeNext(dataSource: DataSource): Promise<void> {
    const { views } = this.#deps
    try {
      if (views === undefined) await this.#storeNext(dataSource)
      else await this.#storeInGate(dataSource, views)
    } finally {
      this.#delay = null
    }
  }

  /** What the first block was made of is in the log alone from now on. */
  letGo(): void {
    for (const { heldBytes } of this.#content ?? []) this.#deps.budget.give(heldBytes)
    this.#content = null
  }

  /** The log closes while an INSERT runs: what becomes of it is not noted any more. */
  abandon(): void {
    this.#isAbandoned = true
  }

  async #storeInGate(dataSource: DataSource, views: Pick<EventsViews, 'beforeBlock' | 'gate'>): Promise<void> {
    // Until the block is noted as stored: whoever changes the views knows by then which of them have it.
    const leave = await this.#enter(views.gate)
    try {
      await views.beforeBlock?.(this.#stream)
      await this.#storeNext(dataSource)
    } finally {
      leave()
    }
  }

  async #storeNext(dataSource: DataSource): Promise<void> {
    const block = this.#named[0] ?? (await this.#nameNext())
    if (block === null) return
    const source = { dataSource, stream: this.#stream, block, content: this.#content }
    try {
      const counts = await this.#deps.places.use(
        { key: this.#stream, isPlain: isPlainTable(dataSource) },
        () => this.#insert(source),
        () => this.#noteSlow(null),
      )
      if (this.#delay === null) this.#isToldSlow = false
      this.#noteStored(block, counts)
    } catch (error) {
      if (this.#isAbandoned) throw error
      // What is done about it takes its time, and must not take the place of others.
      if (isCostly(error)) await this.#storeInPieces(source, error)
      else if (mayBeOfRows(error) || error instanceof PartitionsExceededError) await this.#isolate(source, error)
      else throw error
    }
  }

  /** What comes while the views change for long must not wait in memory that others need. */
  async #enter(gate: EventsViews['gate']): Promise<() => void> {
    if (!gate.isClosed(this.#stream)) return await gate.enter(this.#stream)
    this.#begunAtMs = this.#deps.now()
    const timer = setTimeout(() => this.#noteSlow(null), closedMsMax)
    try {
      return await gate.enter(this.#stream)
    } finally {
      clearTimeout(timer)
    }
  }

  /** Null when there is nothing to make one of: what waited may have left memory before its turn came, and is read back then. */
  async #nameNext(): Promise<NamedBlock | null> {
    const taken = this.#queue.take()
    if (taken.length === 0) return null
    this.#naming = taken
    try {
      const block = await this.#deps.blocks.name(this.#stream, taken)
      this.#named.push(block)
      this.#content = taken
      return block
    } catch (error) {
      // Nothing of it is named: it is what waits first, as before.
      this.#queue.putBack(taken)
      throw error
    } finally {
      this.#naming = []
    }
  }

  async #insert(source: BlockSource): Promise<BlockCounts> {
    const { blocks, drain, now } = this.#deps
    this.#begunAtMs = now()
    const heldBytes = this.#content?.reduce((total, batch) => total + batch.heldBytes, 0) ?? source.block.loggedBytes
    let drained: DrainedBytes | null = null
    drain.begin()
    try {
      const counts = await blocks.insert(source)
      drained = { loggedBytes: source.block.loggedBytes, heldBytes }
      return counts
    } finally {
      drain.end(drained)
    }
  }

  async #isolate(source: BlockSource, error: unknown): Promise<void> {
    try {
      this.#named[0] = await this.#deps.blocks.isolate(source, error)
      this.letGo()
    } catch (thrown) {
      // The search for what is refused needs INSERTs too.
      if (!isCostly(thrown)) throw thrown
      await this.#storeInPieces(source, thrown)
    }
  }

  async #storeInPieces(source: BlockSource, failure: unknown): Promise<void> {
    this.#noteSlow(failure)
    this.letGo()
    const isGivenUp = this.#events.isClosed
    const { block, counts } = await this.#deps.blocks.insertInPieces(source, { failure, isGivenUp })
    this.#noteStored(block, counts)
  }

  #noteSlow(failure: unknown): void {
    const isFirst = !this.#isToldSlow
    this.#isToldSlow = true
    this.#delay = { sinceMs: this.#begunAtMs, reason: failure === null ? null : reasonOf(failure) }
    this.#events.onSlow(isFirst)
  }

  #noteStored(block: NamedBlock, counts: BlockCounts): void {
    if (this.#isAbandoned) return
    this.#named.shift()
    this.letGo()
    this.#deps.log.noteStored(this.#stream, block, counts)
    this.#events.onStored(block, counts)
  }
}

interface SourceOfBlocks {
  readonly stream: string
  readonly named: readonly NamedBlock[]
  readonly queue: Pick<EventsQueue, 'putBack' | 'take'>
}
