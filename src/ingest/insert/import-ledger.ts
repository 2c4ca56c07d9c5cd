/**
 * What of an import is stored, kept where it outlives the process: a job that is killed goes on behind it.
 *
 * 1. A block is named, with the places of the body that it is made of, before it is inserted, and the name is on disk. Its name
 *    is its deduplication token.
 * 2. It counts as stored once the engine has it and its files are synced. A block that is named and not known to be stored is
 *    made anew of the same places and inserted under the same name: the engine knows whether it has it.
 * 3. What is neither stored nor named was never inserted.
 * 4. The parts of a block are kept while it is inserted, and a mark once it is (`KeptParts`): so whoever finds it in doubt behind a
 *    kill settles it without the body. What a power cut leaves is made anew of the body.
 * 5. What is told of an import that works is what the ledger has on disk, so no kill takes back what was told.
 *
 * The rows and the rows set aside go into two tables, by blocks of their own, so there is one side for each. Places are bytes of
 * the unpacked text, or rows of a Parquet file; what must hold is that the same file has the same records at the same places.
 */

import { errors } from '../../shared/errors/errors.ts'
import type { LedgerCounts, LedgerDeps, LedgerSideName, LedgerState, PlaceCounts } from './import-ledger.types.ts'
import { LedgerSide, type SideDeps } from './ledger-side.ts'
import type { PlaceRange, RangeSet } from './range-set.ts'
import { SharedSync } from './shared-sync.ts'
import type { LikenessKind, TextLikeness } from './text-likeness.types.ts'

/** How old what is stored may be before it is synced and noted: a kill repeats that much. */
const syncIntervalMs = 2_000
/** Parts of blocks that are stored and not noted so: what is kept of them is bounded. */
const unsyncedPartsMax = 1_000
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
  #keptCounts: LedgerCounts
  /** From then on each save syncs. */
  #isSettling = false

  /** `state` is what an earlier process kept; null for an import that begins. */
  constructor(state: LedgerState | null, deps: LedgerDeps) {
    this.#deps = deps
    this.fieldColumns = state?.fieldColumns ?? null
    this.#likenessBefore = state === null ? 'open' : (state.likeness ?? 'other')
    this.#syncedAtMs = deps.now()
    this.#saves = new SharedSync(() => this.#saveNow(this.#isSettling || this.#isToSync))
    const save = (): Promise<void> => this.#saves.run()
    const depsOf = (side: LedgerSideName): SideDeps => {
      const { changes, kept, sync } = deps
      return { prefix: `${deps.prefix}-${side[0]}`, save, sync, changes, kept, tableMark: () => deps.tableMark(side) }
    }
    this.rows = new LedgerSide(state?.rows ?? null, depsOf('rows'))
    this.quarantine = new LedgerSide(state?.quarantine ?? null, depsOf('quarantine'))
    this.#keptCounts = this.counts
  }

  /** Of what is stored, synced and noted on disk: whatever kills the process, it is so. */
  get keptCounts(): LedgerCounts {
    return this.#keptCounts
  }

  /** Notes what is stored, where that was not done for a while. */
  async noteInTime(): Promise<void> {
    if (this.#hasUnsynced && this.#isToSync) await this.#saves.run()
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
    return countsOfSides(this.rows.counts, this.quarantine.counts)
  }

  /** Notes all that is stored by now. To be called when nothing is inserted any more. */
  async settle(): Promise<void> {
    this.#isSettling = true
    await this.#saves.run()
  }

  get #isToSync(): boolean {
    const unsyncedParts = this.rows.unsyncedParts + this.quarantine.unsyncedParts
    return unsyncedParts > unsyncedPartsMax || this.#deps.now() - this.#syncedAtMs >= syncIntervalMs
  }

  state(): LedgerState {
    const fieldColumns = (this.fieldColumns?.length ?? 0) > fieldsMax ? null : this.fieldColumns
    return { fieldColumns, likeness: this.likeness, rows: this.rows.state(), quarantine: this.quarantine.state() }
  }

  get #hasUnsynced(): boolean {
    return this.rows.unsyncedParts + this.quarantine.unsyncedParts > 0
  }

  async #saveNow(isSynced: boolean): Promise<void> {
    const noted: string[] = []
    if (isSynced && this.#hasUnsynced) {
      const promotions = [this.rows.beginSync(), this.quarantine.beginSync()]
      await this.#deps.sync()
      this.#syncedAtMs = this.#deps.now()
      for (const promote of promotions) noted.push(...promote())
    }
    const state = this.state()
    await this.#deps.save(state)
    this.#keptCounts = countsOfSides(state.rows.counts, state.quarantine.counts)
    await this.#deps.kept?.forget(noted)
  }
}

function countsOfSides(rows: PlaceCounts, setAside: PlaceCounts): LedgerCounts {
  return {
    records: rows.records + setAside.records,
    storedRows: rows.rows - rows.refusedRows,
    quarantinedRows: setAside.rows + rows.refusedRows - setAside.invalidRows,
    invalidLines: setAside.invalidLines,
    shortLines: setAside.shortLines,
  }
}
