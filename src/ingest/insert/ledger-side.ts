// One table of an import: which places of the body it has, and the blocks that are named. See `ImportLedger`.

import type { Part } from '../../codec/arrow/part.types.ts'
import { partByteCount } from '../../codec/arrow/part-chunks.ts'
import { assert } from '../../shared/assert.ts'
import { errors } from '../../shared/errors/errors.ts'
import {
  type KeptPart,
  type LedgerDeps,
  type LedgerSideState,
  type NamedPlaces,
  noCounts,
  type PartToKeep,
  type PlaceCounts,
  type PlacedPart,
  type Placement,
  type TableMark,
} from './import-ledger.types.ts'
import { type PlaceRange, RangeSet } from './range-set.ts'

/**
 * Of the names of a table's last blocks the engine keeps 10,000; some of them are of the block itself, and of its time. A table behind a
 * view may have more blocks of an INSERT than the one that it goes into, and forgets them earlier.
 */
const laterBlocksMax = 9_000

export interface SideDeps extends Pick<LedgerDeps, 'changes' | 'kept' | 'sync'> {
  readonly prefix: string
  readonly save: () => Promise<void>
  readonly tableMark: () => Promise<TableMark>
}

interface StoredBlock {
  readonly block: NamedPlaces
  readonly counts: PlaceCounts
}

/** One table of an import. */
export class LedgerSide {
  readonly stored: RangeSet
  readonly #deps: SideDeps
  #counts: PlaceCounts
  #next: number
  /** By name, oldest first: those that are stored and not synced yet among them. */
  readonly #named: Map<string, NamedPlaces>
  /** Names that an earlier process has given. */
  readonly #earlier: ReadonlySet<string>
  /** Blocks of an earlier process that are made anew: their parts so far. */
  readonly #held: Map<string, PlacedPart[]>
  #unsynced: StoredBlock[] = []
  /** Of blocks that are stored in part, and that nobody knows more of. */
  #partly = noCounts
  /** Of the table, when it was last asked for. */
  #mark: TableMark | null = null

  constructor(state: LedgerSideState | null, deps: SideDeps) {
    this.#deps = deps
    this.stored = new RangeSet(state?.stored)
    this.#counts = state?.counts ?? noCounts
    this.#next = state?.next ?? 0
    this.#named = new Map(state?.named.map((block) => [block.blockId, block]))
    this.#held = new Map(state?.named.map(({ blockId }) => [blockId, []]))
    this.#earlier = new Set(this.#held.keys())
  }

  /** Of blocks that are stored and not synced yet. */
  get unsyncedParts(): number {
    return this.#unsynced.reduce((total, { block }) => total + block.ranges.length, 0)
  }

  /** Of blocks that are named and not known to be stored; those that are being inserted among them. */
  get doubtfulRows(): number {
    const stored = new Set(this.#unsynced.map(({ block }) => block.blockId))
    const doubtful = [...this.#named.values()].filter(({ blockId }) => !stored.has(blockId))
    return doubtful.reduce((total, { rowCount = 0 }) => total + rowCount, 0)
  }

  /** Of all that is stored, synced or not. */
  get counts(): PlaceCounts {
    const noted = this.#unsynced.reduce((total, { counts }) => addCounts(total, counts), this.#counts)
    return addCounts(noted, this.#partly)
  }

  /**
   * Says what is to be done with a part; keeps it where it waits for others of its block.
   *
   * @throws IMPORT_OVERTAKEN (409) for a block of an earlier process whose name the engine may have forgotten.
   */
  place(part: PlacedPart): Placement {
    const { range } = part
    if (this.stored.covers(range)) return { kind: 'stored' }
    for (const [blockId, parts] of this.#held) {
      const block = this.#named.get(blockId)
      if (block?.ranges.some(({ start, end }) => start === range.start && end === range.end) !== true) continue
      this.#checkUnchanged(block)
      parts.push(part)
      if (parts.length < block.ranges.length) return { kind: 'held' }
      this.#held.delete(blockId)
      return { kind: 'whole', block, parts: inOrder(parts) }
    }
    return { kind: 'open' }
  }

  /** The name of a block of one part, one that it has had before too; null when it is stored. @throws as `place` and `name` do. */
  async claim(range: PlaceRange, rowCount: number, parts: readonly PartToKeep[] = []): Promise<NamedPlaces | null> {
    if (this.stored.covers(range)) return null
    for (const blockId of this.#held.keys()) {
      const block = this.#named.get(blockId)
      const [only] = block?.ranges ?? []
      if (block?.ranges.length !== 1 || only?.start !== range.start || only.end !== range.end) continue
      await this.checkRemembered(block)
      this.#held.delete(blockId)
      return block
    }
    return await this.name([range], rowCount, parts)
  }

  /**
   * Names a block of parts that were made of these places, in this order; on disk when this resolves. The parts are kept.
   *
   * @throws IMPORT_NOT_RESUMABLE (409) for places of which some are of another block.
   */
  async name(ranges: readonly PlaceRange[], rowCount: number, parts: readonly PartToKeep[] = []): Promise<NamedPlaces> {
    const others = [...this.stored.ranges, ...this.namedRanges]
    if (ranges.some((range) => others.some((other) => areOverlapping(range, other))))
      throw errors.IMPORT_NOT_RESUMABLE()
    this.#mark ??= await this.#deps.tableMark()
    const blockId = `${this.#deps.prefix}${this.#next}`
    this.#next += 1
    const changeCount = this.#deps.changes.count()
    const { kept } = this.#deps
    const told = kept === undefined || parts.length === 0 ? {} : { parts: parts.map(keptPartOf) }
    const block = { blockId, ranges, rowCount, isSearched: false, changeCount, mark: this.#mark, ...told }
    if (parts.length > 0) {
      await kept?.keep(
        blockId,
        parts.map(({ part }) => part),
      )
    }
    this.#named.set(blockId, block)
    await this.#deps.save()
    return block
  }

  /** Blocks of an earlier process of which nobody knows whether they are stored. */
  get left(): readonly NamedPlaces[] {
    return [...this.#held.keys()].flatMap((blockId) => this.#named.get(blockId) ?? [])
  }

  /** A block failed before the engine got any of it. One that an earlier process has named may be stored all the same. */
  takeBack(block: NamedPlaces): void {
    if (this.#earlier.has(block.blockId)) return
    this.#named.delete(block.blockId)
    this.#deps.kept?.giveUp(block)
  }

  /** A block of an earlier process is stored: nobody makes it anew. */
  settle(block: NamedPlaces, counts: PlaceCounts): void {
    this.#held.delete(block.blockId)
    this.noteStored(block, counts)
  }

  /**
   * To be called before a block of an earlier process is inserted again.
   *
   * @throws IMPORT_OVERTAKEN (409) when the engine may have forgotten its name: behind so many others, or behind a change of the
   *   table or of the views behind it.
   */
  async checkRemembered({ mark, ...block }: NamedPlaces): Promise<void> {
    this.#checkUnchanged(block)
    const { changes, tableMark } = this.#deps
    const { blocks, tables } = await tableMark()
    if (mark?.tables === tables && blocks - mark.blocks <= laterBlocksMax) return
    throw errors.IMPORT_OVERTAKEN({ name: changes.name })
  }

  /**
   * The block is refused for some of its rows, and is to be stored without them. On disk when this resolves, and so are its
   * partitions that the engine stored before it refused others: nobody inserts them again.
   */
  async noteSearched(block: NamedPlaces): Promise<void> {
    await this.#deps.sync()
    this.#named.set(block.blockId, { ...block, isSearched: true })
    await this.#deps.save()
  }

  noteStored(block: NamedPlaces, counts: PlaceCounts): void {
    assert(this.#named.has(block.blockId), 'a block is named before it is stored')
    this.#unsynced.push({ block, counts })
    if (block.parts !== undefined) this.#deps.kept?.markStored(block, counts)
  }

  /** A block failed when these rows of it were stored. They are told, and not kept: whoever goes on inserts the block again. */
  notePartly(counts: Pick<PlaceCounts, 'refusedRows' | 'rows'>): void {
    this.#partly = addCounts(this.#partly, { ...noCounts, ...counts })
  }

  /** Nothing of these places goes into the table. */
  noteEmpty(range: PlaceRange, counts: PlaceCounts): void {
    if (this.stored.covers(range)) return
    this.stored.add(range)
    this.#counts = addCounts(this.#counts, counts)
  }

  /** Whether blocks of an earlier process were not made anew. */
  get hasHeld(): boolean {
    return this.#held.size > 0
  }

  /** Parts that wait for others which do not come any more. */
  takeHeld(): readonly Part[] {
    const parts = [...this.#held.values()].flatMap((held) => held.map(({ part }) => part))
    for (const held of this.#held.values()) held.splice(0)
    return parts
  }

  get namedRanges(): readonly PlaceRange[] {
    return [...this.#named.values()].flatMap(({ ranges }) => ranges)
  }

  /** Gives what is to be called when all that is stored now has been synced: it gives the names of these blocks. */
  beginSync(): () => readonly string[] {
    // What is stored while the sync runs may not be on the disk behind it.
    const stored = new Set(this.#unsynced)
    return () => {
      const noted = this.#unsynced.filter((one) => stored.has(one))
      for (const { block, counts } of noted) {
        for (const range of block.ranges) this.stored.add(range)
        this.#named.delete(block.blockId)
        this.#counts = addCounts(this.#counts, counts)
      }
      this.#unsynced = this.#unsynced.filter((one) => !stored.has(one))
      this.#mark = null
      return noted.map(({ block }) => block.blockId)
    }
  }

  #checkUnchanged({ changeCount }: NamedPlaces): void {
    const { name, count } = this.#deps.changes
    if (changeCount !== count()) throw errors.IMPORT_OVERTAKEN({ name })
  }

  state(): LedgerSideState {
    return { next: this.#next, stored: this.stored.ranges, counts: this.#counts, named: [...this.#named.values()] }
  }
}

function keptPartOf({ part, ...about }: PartToKeep): KeptPart {
  return { byteCount: partByteCount(part), ...about }
}

export function areOverlapping(a: PlaceRange, b: PlaceRange): boolean {
  return a.start < b.end && b.start < a.end
}

/** In the order of the body, in which they are inserted. */
export function inOrder<Placed extends { readonly range?: PlaceRange }>(parts: readonly Placed[]): readonly Placed[] {
  return parts.toSorted((a, b) => (a.range?.start ?? 0) - (b.range?.start ?? 0))
}

export function addCounts(a: PlaceCounts, b: PlaceCounts): PlaceCounts {
  return {
    records: a.records + b.records,
    rows: a.rows + b.rows,
    invalidRows: a.invalidRows + b.invalidRows,
    refusedRows: a.refusedRows + b.refusedRows,
    invalidLines: a.invalidLines + b.invalidLines,
    shortLines: a.shortLines + b.shortLines,
  }
}
