/**
 * What of an import is stored, kept where it outlives the process: a job that is killed goes on behind it.
 *
 * 1. A block is named, with the places of the body that it is made of, before it is inserted, and the name is on disk. Its name
 *    is its deduplication token.
 * 2. It counts as stored once the engine has it and its files are synced. A block that is named and not known to be stored is
 *    made anew of the same places and inserted under the same name: the engine knows whether it has it.
 * 3. What is neither stored nor named was never inserted.
 *
 * The rows and the rows set aside go into two tables, by blocks of their own, so there is one side for each. Places are bytes of
 * the unpacked text, or rows of a Parquet file; what must hold is that the same file has the same records at the same places.
 */

import type { Part } from '../../codec/arrow/part.types.ts'
import { assert } from '../../shared/assert.ts'
import { errors } from '../../shared/errors/errors.ts'
import { type PlaceRange, RangeSet } from './range-set.ts'
import { SharedSync } from './shared-sync.ts'
import type { LikenessKind, TextLikeness } from './text-likeness.types.ts'

/** A plain JSON value: what is kept of a ledger. */
export interface LedgerState {
  /** Which column each field of a CSV file is: its header tells, and need not be read again. Null before that. */
  readonly fieldColumns: readonly number[] | null
  readonly rows: LedgerSideState
  readonly quarantine: LedgerSideState
  /** Of a text body, as far as it was read; absent in what earlier versions have kept. */
  readonly likeness?: LikenessKind
}

export interface LedgerSideState {
  /** The next block's number. */
  readonly next: number
  readonly stored: readonly PlaceRange[]
  /** Of what is stored. */
  readonly counts: PlaceCounts
  readonly named: readonly NamedPlaces[]
}

export interface NamedPlaces {
  readonly blockId: string
  /** One for each part, in the order in which they are inserted: the engine knows a block again by its name and its parts. */
  readonly ranges: readonly PlaceRange[]
  /** Rows that it has, stored or not; absent in what earlier versions have kept. */
  readonly rowCount?: number
  /** Whether the engine has refused rows of it: the others may be stored under a name of their own by now. */
  readonly isSearched: boolean
  /** What `LedgerDeps.changes` had counted when it was named. */
  readonly changeCount: number
  /** How far its table and those behind it had come then, or a little before; absent in what earlier versions have kept. */
  readonly mark?: TableMark
}

/** How far the blocks of a table have come, and of those that views fill with its rows. */
export interface TableMark {
  /** The numbers of their last blocks, added up: it grows by one at least with each block of each of them. */
  readonly blocks: number
  /** The same as long as they are the same tables. */
  readonly tables: string
}

/** What stands at some places. */
export interface PlaceCounts {
  /** Records that were read there, whatever became of them. */
  readonly records: number
  /** Rows that the table has. */
  readonly rows: number
  /** Those of them that are told as invalid lines. */
  readonly invalidRows: number
  /** Rows that the table refused, and that are in the quarantine. */
  readonly refusedRows: number
  readonly invalidLines: number
  readonly shortLines: number
}

export const noCounts: PlaceCounts = {
  records: 0,
  rows: 0,
  invalidRows: 0,
  refusedRows: 0,
  invalidLines: 0,
  shortLines: 0,
}

/** As an outcome counts: records = stored + quarantined + invalid - short. */
export interface LedgerCounts extends Pick<PlaceCounts, 'invalidLines' | 'records' | 'shortLines'> {
  readonly storedRows: number
  readonly quarantinedRows: number
}

/** A part, and the places that it was made of. */
export interface PlacedPart {
  readonly part: Part
  readonly rowCount: number
  readonly range: PlaceRange
  readonly counts: PlaceCounts
}

/** What is to be done with a part. */
export type Placement =
  /** Its rows were never inserted. */
  | { readonly kind: 'open' }
  /** Its rows are stored, or it waits for the others of its block. */
  | { readonly kind: 'stored' }
  | { readonly kind: 'held' }
  /** It was the last of a block that has a name. */
  | { readonly kind: 'whole'; readonly block: NamedPlaces; readonly parts: readonly PlacedPart[] }

export interface LedgerDeps {
  /** Begins the names of blocks: no other import, and no other body of this one, has it. */
  readonly prefix: string
  /** Keeps a state; on disk when it resolves. */
  readonly save: (state: LedgerState) => Promise<void>
  /** Brings onto the disk what the engine has. */
  readonly sync: () => Promise<void>
  /** Changes of the data source after which the engine knows names of blocks no more. */
  readonly changes: LedgerChanges
  readonly tableMark: (side: LedgerSideName) => Promise<TableMark>
  /** Milliseconds of any clock. */
  readonly now: () => number
}

export type LedgerSideName = 'quarantine' | 'rows'

export interface LedgerChanges {
  /** Of the data source. */
  readonly name: string
  /** Another number behind each change, and one of its own while there is one. */
  readonly count: () => number
}

/** How old what is stored may be before it is synced and noted: a kill repeats that much. */
const syncIntervalMs = 2_000
/** Parts of blocks that are stored and not noted so: what is kept of them is bounded. */
const unsyncedPartsMax = 1_000
/**
 * Of the names of a table's last blocks the engine keeps 10,000; some of them are of the block itself, and of its time. A table behind a
 * view may have more blocks of an INSERT than the one that it goes into, and forgets them earlier.
 */
const laterBlocksMax = 9_000
/** Fields of a CSV file whose columns are kept; one of more cannot be gone on with. */
const fieldsMax = 50_000

export class ImportLedger {
  readonly rows: LedgerSide
  readonly quarantine: LedgerSide
  fieldColumns: readonly number[] | null
  readonly #deps: LedgerDeps
  readonly #saves: SharedSync
  readonly #likenessBefore: LikenessKind
  #text: TextLikeness | null = null
  #syncedAtMs: number

  /** `state` is what an earlier process kept; null for an import that begins. */
  constructor(state: LedgerState | null, deps: LedgerDeps) {
    this.#deps = deps
    this.fieldColumns = state?.fieldColumns ?? null
    this.#likenessBefore = state === null ? 'open' : (state.likeness ?? 'other')
    this.#syncedAtMs = deps.now()
    this.#saves = new SharedSync(() => this.#saveNow(this.#isToSync))
    const save = (): Promise<void> => this.#saves.run()
    const depsOf = (side: LedgerSideName): SideDeps => {
      const { changes, sync } = deps
      return { prefix: `${deps.prefix}-${side[0]}`, save, sync, changes, tableMark: () => deps.tableMark(side) }
    }
    this.rows = new LedgerSide(state?.rows ?? null, depsOf('rows'))
    this.quarantine = new LedgerSide(state?.quarantine ?? null, depsOf('quarantine'))
  }

  /** How the text stands to the bytes that it was made of, as far as an earlier process has read them, or this one. */
  get likeness(): LikenessKind {
    const kind = this.#text?.kind ?? 'open'
    // One that reads what is stored anew knows no more than the one before.
    return kind === 'open' ? this.#likenessBefore : kind
  }

  /** From now on the text tells its likeness. */
  follow(text: TextLikeness): void {
    this.#text = text
  }

  /** Rows of blocks that have a name, and of which nobody knows whether they are stored. */
  get doubtfulRows(): number {
    return this.rows.doubtfulRows + this.quarantine.doubtfulRows
  }

  /** What both sides have stored, so that it need not be read any more. */
  get stored(): RangeSet {
    return this.rows.stored.common(this.quarantine.stored)
  }

  /** The parts of blocks that are to be made anew. */
  get known(): readonly PlaceRange[] {
    return [this.rows, this.quarantine].flatMap((side) => side.namedRanges)
  }

  /** Places at which no part may be cut in two: where what is stored of a side begins or ends. */
  get borders(): readonly number[] {
    const ranges = [this.rows, this.quarantine].flatMap((side) => [...side.stored.ranges, ...side.namedRanges])
    return [...new Set(ranges.flatMap(({ start, end }) => [start, end]))].sort((a, b) => a - b)
  }

  /** To be called when all of the body was read. @throws IMPORT_NOT_RESUMABLE (409) when a named block was not made anew. */
  checkWhole(): void {
    if (this.rows.hasHeld || this.quarantine.hasHeld) throw errors.IMPORT_NOT_RESUMABLE()
  }

  /** Of both sides: `records` are all that were read. */
  get counts(): LedgerCounts {
    const rows = this.rows.counts
    const setAside = this.quarantine.counts
    return {
      records: rows.records + setAside.records,
      storedRows: rows.rows - rows.refusedRows,
      quarantinedRows: setAside.rows + rows.refusedRows - setAside.invalidRows,
      invalidLines: setAside.invalidLines,
      shortLines: setAside.shortLines,
    }
  }

  /** Notes all that is stored by now. To be called when nothing is inserted any more. */
  async settle(): Promise<void> {
    await this.#saves.run()
    await this.#saveNow(true)
  }

  get #isToSync(): boolean {
    const unsyncedParts = this.rows.unsyncedParts + this.quarantine.unsyncedParts
    return unsyncedParts > unsyncedPartsMax || this.#deps.now() - this.#syncedAtMs >= syncIntervalMs
  }

  state(): LedgerState {
    const fieldColumns = (this.fieldColumns?.length ?? 0) > fieldsMax ? null : this.fieldColumns
    return { fieldColumns, likeness: this.likeness, rows: this.rows.state(), quarantine: this.quarantine.state() }
  }

  async #saveNow(isSynced: boolean): Promise<void> {
    if (isSynced && this.rows.unsyncedParts + this.quarantine.unsyncedParts > 0) {
      const promotions = [this.rows.beginSync(), this.quarantine.beginSync()]
      await this.#deps.sync()
      this.#syncedAtMs = this.#deps.now()
      for (const promote of promotions) promote()
    }
    await this.#deps.save(this.state())
  }
}

interface SideDeps extends Pick<LedgerDeps, 'changes' | 'sync'> {
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
  async claim(range: PlaceRange, rowCount: number): Promise<NamedPlaces | null> {
    if (this.stored.covers(range)) return null
    for (const blockId of this.#held.keys()) {
      const block = this.#named.get(blockId)
      const [only] = block?.ranges ?? []
      if (block?.ranges.length !== 1 || only?.start !== range.start || only.end !== range.end) continue
      await this.checkRemembered(block)
      this.#held.delete(blockId)
      return block
    }
    return await this.name([range], rowCount)
  }

  /**
   * Names a block of parts that were made of these places, in this order; on disk when this resolves.
   *
   * @throws IMPORT_NOT_RESUMABLE (409) for places of which some are of another block.
   */
  async name(ranges: readonly PlaceRange[], rowCount: number): Promise<NamedPlaces> {
    const others = [...this.stored.ranges, ...this.namedRanges]
    if (ranges.some((range) => others.some((other) => areOverlapping(range, other))))
      throw errors.IMPORT_NOT_RESUMABLE()
    this.#mark ??= await this.#deps.tableMark()
    const blockId = `${this.#deps.prefix}${this.#next}`
    this.#next += 1
    const block = {
      blockId,
      ranges,
      rowCount,
      isSearched: false,
      changeCount: this.#deps.changes.count(),
      mark: this.#mark,
    }
    this.#named.set(blockId, block)
    await this.#deps.save()
    return block
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

  /** Whether the rows of these places are stored, or may be. */
  hasPlaces(range: PlaceRange): boolean {
    return this.stored.covers(range) || this.namedRanges.some((named) => areOverlapping(named, range))
  }

  get namedRanges(): readonly PlaceRange[] {
    return [...this.#named.values()].flatMap(({ ranges }) => ranges)
  }

  /** Gives what is to be called when all that is stored now has been synced. */
  beginSync(): () => void {
    // What is stored while the sync runs may not be on the disk behind it.
    const stored = [...this.#unsynced]
    return () => {
      for (const { block, counts } of stored) {
        for (const range of block.ranges) this.stored.add(range)
        this.#named.delete(block.blockId)
        this.#counts = addCounts(this.#counts, counts)
      }
      this.#unsynced = this.#unsynced.slice(stored.length)
      this.#mark = null
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

function areOverlapping(a: PlaceRange, b: PlaceRange): boolean {
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
