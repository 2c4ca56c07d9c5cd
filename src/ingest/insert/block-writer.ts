/**
 * Gathers encoded parts and appends them to a table.
 *
 * Parts gather until they make an INSERT of a good size: small ones cost more than the time they save by starting early,
 * and the merges of what they leave cost once more. From half of the limit on an INSERT starts as soon as the engine has
 * room; what gathers is bounded by rows and bytes, and whoever adds beyond that waits. Every part is in exactly one INSERT.
 */

import type { Part } from '../../codec/arrow/part.types.ts'
import { partByteCount } from '../../codec/arrow/part-chunks.ts'
import { assert } from '../../shared/assert.ts'
import type { AppendRequest, PartitionBound, Store } from '../../store/store.types.ts'
import type { TablePlan } from '../ingest-plan.ts'
import { releaseMemory } from '../parse/release-memory.ts'
import { toFailure } from './append-error.ts'
import { createBlockId } from './block-id.ts'
import { type NamedPlaces, noCounts, type PartToKeep, type PlaceCounts } from './import-ledger.types.ts'
import { areStored, isInDoubt, mayBeOfRows } from './insert-failure.ts'
import { areOverlapping, inOrder, type LedgerSide } from './ledger-side.ts'
import type { BodyPartitions } from './partition-limits.ts'
import type { PlaceRange } from './range-set.ts'
import { type RefusedBlocks, refusedBefore } from './refused-block.ts'

export interface BlockWriterOptions {
  readonly rowsMax: number
  readonly bytesMax: number
  readonly insertsInFlightMax: number
  readonly partitionsPerBodyMax: number
  /** Keeps what is stored where that outlives the process; absent names blocks by chance. Each part then has its places. */
  readonly ledger?: LedgerSide | undefined
  /** Awaited before the rows of these places are inserted, where there is a ledger. */
  readonly before?: (ranges: readonly PlaceRange[]) => Promise<void>
  /** See `AppendRequest.leftBy`. */
  readonly leftBy?: AbortSignal | undefined
}

/** How the rows of a body are kept to so many partitions; where the table has some. */
export interface WriterPartitions {
  readonly bound: PartitionBound | undefined
  readonly body: BodyPartitions
  /** What becomes of blocks that are refused for some of their rows. */
  readonly refused: RefusedBlocks
}

/** Parts of one INSERT whose places are kept: each is told on disk before it. */
const keptPartsMax = 128
/** From here on the last parts of a body are shared out among the places that are free. */
const sharedBytesMin = 4 * 1024 * 1024

/** An import has somebody who waits for its answer. */
const toldSoon = { outlivesViews: true, isToldLate: true } as const

/** Told of a part while it is inserted. */
export interface PartWatch {
  onInserting(): void
  onInserted(): void
}

/** What else is known of a part. */
export interface AboutPart {
  readonly watch?: PartWatch | undefined
  /** Those of its rows that are told as invalid lines. */
  readonly invalidRows?: number
  /** What it was made of, for a ledger, and what is counted there beside its rows. */
  readonly range?: PlaceRange
  readonly counts?: Pick<PlaceCounts, 'invalidLines' | 'records' | 'shortLines'>
}

interface GatheredPart extends AboutPart {
  readonly part: Part
  readonly rowCount: number
}

export class BlockWriter {
  /** Rows that the engine has. */
  storedRows = 0
  /** Those of them that are told as invalid lines. */
  storedInvalidRows = 0
  /** Rows that the table refused, and that are in the quarantine. */
  refusedRows = 0
  /** Rows of INSERTs that failed, and that may be stored all the same. */
  doubtfulRows = 0
  readonly #store: Store
  readonly #plan: TablePlan
  readonly #options: BlockWriterOptions
  readonly #partitions: WriterPartitions | null
  readonly #gathered: GatheredPart[] = []
  /** No more parts come: what is left is shared out among the places that are free. */
  #isFinishing = false
  readonly #inFlight = new Set<Promise<void>>()
  /** What is being inserted. */
  readonly #inserting = new Set<readonly GatheredPart[]>()
  #failure: unknown

  constructor(store: Store, plan: TablePlan, options: BlockWriterOptions, partitions: WriterPartitions | null = null) {
    this.#partitions = partitions
    this.#store = store
    this.#plan = plan
    this.#options = options
  }

  /**
   * Takes an encoded part; resolves when there is room for the next one.
   * @throws what an insert of this writer failed with, now or earlier (`toFailure`); the part is then not stored.
   */
  async add(part: Part, rowCount: number, about: AboutPart = {}): Promise<void> {
    assert(rowCount > 0, 'a part has rows')
    const { ledger } = this.#options
    if (ledger !== undefined && (await this.#isKnown({ ...about, part, rowCount }, ledger))) return
    this.#gathered.push({ ...about, part, rowCount })
    if (this.#failure !== undefined) await this.#discardGathered()
    this.#throwIfFailed()
    this.#startWhenWorthwhile()
    while (this.#holds(1) && this.#failure === undefined) {
      if (this.#inFlight.size < this.#options.insertsInFlightMax) this.#start()
      else await Promise.race(this.#inFlight)
    }
    this.#throwIfFailed()
  }

  /** Begins to append what is gathered, if there is a place for it: it does not wait for more. */
  flush(): void {
    if (this.#failure === undefined && this.#inFlight.size < this.#options.insertsInFlightMax) this.#start()
  }

  /** Appends what is gathered; resolves when the engine has every row. Throws what an insert failed with. */
  async finish(): Promise<void> {
    this.#isFinishing = true
    while (this.#inFlight.size > 0 || this.#hasWork()) {
      if (this.#hasWork() && this.#inFlight.size < this.#options.insertsInFlightMax) this.#start()
      else await Promise.race(this.#inFlight)
    }
    await this.#discardGathered()
    this.#throwIfFailed()
  }

  /** Resolves when the engine has all that was added of these places. @throws what an insert failed with. */
  async insertAllOf(ranges: readonly PlaceRange[]): Promise<void> {
    for (;;) {
      this.#throwIfFailed()
      const isGathered = holdsPlaces(this.#gathered, ranges)
      if (isGathered && this.#inFlight.size < this.#options.insertsInFlightMax) this.#start()
      else if (isGathered || [...this.#inserting].some((parts) => holdsPlaces(parts, ranges)))
        await Promise.race(this.#inFlight)
      else return
    }
  }

  /** Gives up what is gathered; resolves when nothing is appended any more. Nothing may be added behind it. */
  async drop(): Promise<void> {
    await this.#discardGathered()
    while (this.#inFlight.size > 0) await Promise.race(this.#inFlight)
    await this.#discardGathered()
    this.#throwIfFailed()
  }

  /** Whether a part is of a block that an earlier process has named: it is not gathered with others then. */
  async #isKnown(gathered: GatheredPart, ledger: LedgerSide): Promise<boolean> {
    const { insertsInFlightMax } = this.#options
    const { part, rowCount, range } = gathered
    assert(range !== undefined, 'a part has its places where there is a ledger')
    const placement = ledger.place({ part, rowCount, range, counts: countsOf([gathered]) })
    if (placement.kind === 'open') return false
    if (placement.kind === 'stored') await this.#store.discard([part])
    if (placement.kind !== 'whole') return true
    await ledger.checkRemembered(placement.block)
    while (this.#inFlight.size >= insertsInFlightMax) await Promise.race(this.#inFlight)
    this.#throwIfFailed()
    const parts = placement.parts.map(({ counts, ...one }) => ({ ...one, counts, invalidRows: counts.invalidRows }))
    this.#begin(parts, placement.block)
    return true
  }

  /** Behind a failure parts may be left that nobody appends. */
  async #discardGathered(): Promise<void> {
    const held = this.#options.ledger?.takeHeld() ?? []
    await this.#store.discard([...this.#gathered.splice(0).map(({ part }) => part), ...held])
  }

  /** Whether something is to be appended; behind a failure nothing is. */
  #hasWork(): boolean {
    return this.#gathered.length > 0 && this.#failure === undefined
  }

  /** Whether this share of what may gather has gathered, of rows or of bytes. */
  #holds(share: number): boolean {
    const { rowsMax, bytesMax, ledger } = this.#options
    if (ledger !== undefined && this.#gathered.length >= keptPartsMax * share) return true
    return rowsOf(this.#gathered) >= rowsMax * share || bytesOf(this.#gathered) >= bytesMax * share
  }

  /** Half of what may gather is worth an INSERT while the engine has room; at the end of a body all is. */
  #startWhenWorthwhile(): void {
    if (this.#failure !== undefined || this.#inFlight.size >= this.#options.insertsInFlightMax) return
    if (this.#isFinishing || this.#holds(0.5)) this.#start()
  }

  #start(): void {
    if (this.#gathered.length === 0) return
    const parts = this.#gathered.splice(0, this.#partsAtOnce())
    this.#begin(this.#options.ledger === undefined ? parts : inOrder(parts))
  }

  #begin(parts: readonly GatheredPart[], known: NamedPlaces | null = null): void {
    this.#inserting.add(parts)
    const insert = this.#insert(parts, known).finally(() => {
      this.#inserting.delete(parts)
      this.#inFlight.delete(insert)
      this.#startWhenWorthwhile()
    })
    this.#inFlight.add(insert)
  }

  /** All that is gathered, but at the end of a body an even share: so that the last rows do not wait for one insert. */
  #partsAtOnce(): number {
    const placesFree = this.#options.insertsInFlightMax - this.#inFlight.size
    const isShared = this.#isFinishing && placesFree > 1 && bytesOf(this.#gathered) > sharedBytesMin
    return isShared ? Math.ceil(this.#gathered.length / placesFree) : this.#gathered.length
  }

  /** Never rejects: a failure is kept for whoever adds or finishes next. `known` is what an earlier process has named. */
  async #insert(gathered: readonly GatheredPart[], known: NamedPlaces | null): Promise<void> {
    const parts = gathered.map(({ part }) => part)
    const rowCount = rowsOf(gathered)
    for (const { watch } of gathered) watch?.onInserting()
    const partitions = this.#partitions
    const { ledger, leftBy } = this.#options
    let isHandedOver = false
    let isBegun = false
    let block = known
    try {
      if (ledger !== undefined) {
        await this.#options.before?.(placesOf(gathered))
        // One that is named and not begun would be in doubt.
        leftBy?.throwIfAborted()
        block ??= await ledger.name(placesOf(gathered), rowCount, gathered.map(partToKeep))
      }
      const bounds = partitions === null ? {} : await partitions.body.boundInsert(partitions.bound, rowCount)
      const blockId = block?.blockId ?? createBlockId()
      const onBegun = (): void => {
        isBegun = true
      }
      const request = { ...this.#plan, ...bounds, parts, rowCount, blockId, leftBy, onBegun, ...toldSoon }
      isHandedOver = true
      const { isSearched, refusedRows } = await this.#appendOrSearch(request, block)
      if (block !== null) {
        ledger?.noteStored(block, { ...countsOf(gathered), refusedRows })
      }
      if (!isSearched) this.#countStored(gathered)
      for (const { watch } of gathered) watch?.onInserted()
      for (const part of parts) if (part instanceof Uint8Array) releaseMemory(part)
      if (!isSearched) await partitions?.body.checkAdded(rowCount)
    } catch (error) {
      if (areStored(error)) {
        this.#countStored(gathered)
        if (block !== null) ledger?.noteStored(block, countsOf(gathered))
      } else if (!isBegun) {
        if (block !== null) ledger?.takeBack(block)
      } else if (isInDoubt(error, partitions?.bound !== undefined)) this.doubtfulRows += rowCount
      this.#failure ??= toFailure(error, this.#options.partitionsPerBodyMax)
      if (!isHandedOver) await this.#store.discard(parts).catch((fault: unknown) => this.#keep(fault))
    }
  }

  #keep(fault: unknown): void {
    this.#failure ??= fault
  }

  /** When rows of the block are refused, what could be stored is, and counted. @throws why the others are not. */
  async #appendOrSearch(
    request: AppendRequest,
    block: NamedPlaces | null,
  ): Promise<{ readonly isSearched: boolean; readonly refusedRows: number }> {
    const blocks = this.#partitions?.refused
    const refusal = block?.isSearched === true ? refusedBefore() : await this.#appendUnlessRefused(request)
    if (refusal === null) return { isSearched: false, refusedRows: 0 }
    assert(blocks !== undefined, 'a refusal is looked into where rows can be set aside')
    if (block !== null && !block.isSearched) await this.#options.ledger?.noteSearched(block)
    const { storedRows, refusedRows, failure } = await blocks.store(request, refusal, block?.blockId)
    this.storedRows += storedRows
    this.refusedRows += refusedRows
    if (failure !== null) {
      this.#options.ledger?.notePartly({ rows: storedRows + refusedRows, refusedRows })
      throw failure
    }
    return { isSearched: true, refusedRows }
  }

  /** Null when the rows are stored, else what the table refused some of them with. */
  async #appendUnlessRefused(request: AppendRequest): Promise<unknown> {
    if (this.#partitions === null) {
      await this.#store.append(request)
      return null
    }
    try {
      await this.#store.append({ ...request, keepsParts: mayBeOfRows })
      return null
    } catch (error) {
      if (!mayBeOfRows(error)) throw error
      return error
    }
  }

  #countStored(gathered: readonly GatheredPart[]): void {
    this.storedRows += rowsOf(gathered)
    for (const { invalidRows = 0 } of gathered) this.storedInvalidRows += invalidRows
  }

  #throwIfFailed(): void {
    if (this.#failure !== undefined) throw this.#failure
  }
}

function rowsOf(parts: readonly GatheredPart[]): number {
  return parts.reduce((total, { rowCount }) => total + rowCount, 0)
}

function bytesOf(parts: readonly GatheredPart[]): number {
  return parts.reduce((total, { part }) => total + partByteCount(part), 0)
}

function placesOf(gathered: readonly GatheredPart[]): readonly PlaceRange[] {
  return gathered.flatMap(({ range }) => range ?? [])
}

function partToKeep(gathered: GatheredPart): PartToKeep {
  return { part: gathered.part, counts: countsOf([gathered]) }
}

/** Whether some of the parts are of these places. */
function holdsPlaces(gathered: readonly GatheredPart[], ranges: readonly PlaceRange[]): boolean {
  return gathered.some(({ range }) => range !== undefined && ranges.some((other) => areOverlapping(range, other)))
}

function countsOf(gathered: readonly GatheredPart[]): PlaceCounts {
  const sum = (of: (part: GatheredPart) => number): number => gathered.reduce((total, part) => total + of(part), 0)
  return {
    ...noCounts,
    rows: rowsOf(gathered),
    invalidRows: sum(({ invalidRows = 0 }) => invalidRows),
    records: sum(({ counts }) => counts?.records ?? 0),
    invalidLines: sum(({ counts }) => counts?.invalidLines ?? 0),
    shortLines: sum(({ counts }) => counts?.shortLines ?? 0),
  }
}
