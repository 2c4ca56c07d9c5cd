/**
 * Gathers sealed parts and appends them to a table.
 *
 * Work-conserving: while the engine has room a part is appended at once; while it is busy parts gather, so that a slow
 * engine gets fewer and larger inserts. What gathers is bounded by rows and bytes, and whoever adds beyond that waits.
 * Every part is in exactly one INSERT.
 */
import { assert } from '../shared/assert.ts'
import type { Store } from '../store/store.types.ts'
import { toFailure } from './append-error.ts'
import { createBlockId } from './block-id.ts'
import type { TablePlan } from './ingest-plan.ts'
import { releaseMemory } from './release-memory.ts'

export interface BlockWriterOptions {
  readonly rowsMax: number
  readonly bytesMax: number
  readonly insertsInFlightMax: number
  /** True holds parts back until `finish` or a limit: for tables that get few rows at a time. */
  readonly isLazy: boolean
}

interface Gathered {
  readonly parts: Uint8Array[]
  rowCount: number
  byteCount: number
}

export class BlockWriter {
  /** Rows that the engine has. */
  storedRows = 0
  private readonly store: Store
  private readonly plan: TablePlan
  private readonly options: BlockWriterOptions
  private gathered: Gathered = { parts: [], rowCount: 0, byteCount: 0 }
  private readonly inFlight = new Set<Promise<void>>()
  private failure: unknown

  constructor(store: Store, plan: TablePlan, options: BlockWriterOptions) {
    this.store = store
    this.plan = plan
    this.options = options
  }

  /**
   * Takes a sealed part; resolves when there is room for the next one.
   * @throws what an insert of this writer failed with, now or earlier (ENGINE_FAILED); the part is then not stored.
   */
  async add(part: Uint8Array, rowCount: number): Promise<void> {
    assert(rowCount > 0, 'a part has rows')
    this.throwIfFailed()
    this.gathered.parts.push(part)
    this.gathered.rowCount += rowCount
    this.gathered.byteCount += part.length
    if (!this.options.isLazy && this.inFlight.size < this.options.insertsInFlightMax) this.start()
    while (this.isFull() && this.failure === undefined) {
      if (this.inFlight.size < this.options.insertsInFlightMax) this.start()
      else await Promise.race(this.inFlight)
    }
    this.throwIfFailed()
  }

  /** Appends what is gathered; resolves when the engine has every row. Throws what an insert failed with. */
  async finish(): Promise<void> {
    while (this.inFlight.size > 0 || this.hasWork()) {
      if (this.hasWork() && this.inFlight.size < this.options.insertsInFlightMax) this.start()
      else await Promise.race(this.inFlight)
    }
    this.throwIfFailed()
  }

  /** Whether something is to be appended; behind a failure nothing is. */
  private hasWork(): boolean {
    return this.gathered.rowCount > 0 && this.failure === undefined
  }

  private isFull(): boolean {
    return this.gathered.rowCount >= this.options.rowsMax || this.gathered.byteCount >= this.options.bytesMax
  }

  private start(): void {
    const { parts, rowCount } = this.gathered
    if (rowCount === 0) return
    this.gathered = { parts: [], rowCount: 0, byteCount: 0 }
    const insert = this.insert(parts, rowCount).finally(() => {
      this.inFlight.delete(insert)
      if (!this.options.isLazy && this.failure === undefined) this.start()
    })
    this.inFlight.add(insert)
  }

  /** Never rejects: a failure is kept for whoever adds or finishes next. */
  private async insert(parts: readonly Uint8Array[], rowCount: number): Promise<void> {
    try {
      await this.store.append({ ...this.plan, parts, rowCount, blockId: createBlockId() })
      this.storedRows += rowCount
      for (const part of parts) releaseMemory(part)
    } catch (error) {
      this.failure ??= toFailure(error)
    }
  }

  private throwIfFailed(): void {
    if (this.failure !== undefined) throw this.failure
  }
}
