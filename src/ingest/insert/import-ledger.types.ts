import type { Part } from '../../codec/arrow/part.types.ts'
import type { PlaceRange } from './range-set.ts'
import type { LikenessKind } from './text-likeness.types.ts'

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
  /** What is kept of its parts, in their order; absent where nothing is. */
  readonly parts?: readonly KeptPart[]
}

/** A part as it is kept for whoever settles its block. */
export interface KeptPart {
  readonly byteCount: number
  readonly counts: PlaceCounts
  /** Which rows of a slice of a Parquet file are meant; null is all of them. Undefined for a text. */
  readonly rowNumbers?: PlaceRange | null
}

/** A part that is to be kept, and what stands in it. */
export interface PartToKeep extends Pick<KeptPart, 'counts' | 'rowNumbers'> {
  readonly part: Part
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
  /** Keeps parts of blocks; absent keeps none. */
  readonly kept?: PartKeeper | undefined
}

/** What outlives the process of blocks whose INSERT is under way; see `KeptParts`. */
export interface PartKeeper {
  /** @throws what the disk refuses with. */
  keep(blockId: string, parts: readonly Part[]): Promise<void>
  markStored(block: NamedPlaces, counts: PlaceCounts): void
  /** Lets go of a block that was not inserted. */
  giveUp(block: NamedPlaces): void
  /** They are noted as stored, on disk. */
  forget(blockIds: readonly string[]): Promise<void>
}

export type LedgerSideName = 'quarantine' | 'rows'

export interface LedgerChanges {
  /** Of the data source. */
  readonly name: string
  /** Another number behind each change, and one of its own while there is one. */
  readonly count: () => number
}
