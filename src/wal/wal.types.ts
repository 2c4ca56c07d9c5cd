import type { Sequence } from './sequence.ts'

/**
 * `rows` a body as it was received; `blockName` names the entries of a block before it is inserted; `stored` says that a block
 * is in the engine; `barrier` starts a new generation of a stream; `note` remembers outcomes by key; `settled` says up to where
 * nothing of each stream is needed any more, and stands before what a compaction cuts out.
 */
export type EntryKind = 'barrier' | 'note' | 'rows' | 'blockName' | 'settled' | 'stored'

/** How the payload of `rows` is packed: the log keeps bodies as they came. */
export type EntryEncoding = 'gzip' | 'identity' | 'zstd'

/** What an owner hands over. The payload must not change until the append has settled. */
export interface NewEntry {
  readonly kind: EntryKind
  /** The id of the data source; at most 255 bytes of UTF-8, empty where none is meant. */
  readonly stream: string
  /** The schema version the rows were counted with; 32 bits. */
  readonly version: number
  readonly encoding: EntryEncoding
  /** 16 bits that mean nothing to the log. */
  readonly flags: number
  /** Epoch milliseconds, below 2^48; means nothing to the log. */
  readonly acceptedAtMs: number
  /** Rows of the payload that fit the schema, and rows that go to quarantine; 32 bits each. */
  readonly rowCount: number
  readonly quarantinedRowCount: number
  readonly payload: Uint8Array
}

/**
 * What comes back. `lost` stands for entries that damage took (`decodeLost`); only `keep-aside` makes them, and
 * where one stands for a single entry whose header was whole, it has that one's stream and counts. `gone` stands for
 * entries that a compaction cut out, and no replay gives it.
 */
export interface WalEntry extends Omit<NewEntry, 'kind'> {
  readonly kind: EntryKind | 'gone' | 'lost'
  readonly sequence: Sequence
}

export interface WalOptions {
  /** Made when missing. One process at a time may have it open; the owner sees to that. */
  readonly directory: string
  /** A file outside of the directory that tells how far the log is written; see `log-mark.ts`. */
  readonly markPath: string
  /** Rows that are in the log and not stored, for the mark. */
  readonly waitingRows: () => number
  /** Bytes after which a new segment file begins; a larger batch has a segment of its own. */
  readonly segmentBytesMax: number
  /** Bytes of zeros that the last segment is lengthened by, ahead of its entries; 0 lets each write lengthen it. */
  readonly zerosAheadBytes: number
  /** Bytes of one payload. */
  readonly entryBytesMax: number
  /** Bytes of entries that wait for the disk; `rows` are refused beyond, the rest may use a quarter more. */
  readonly pendingBytesMax: number
  /** Bytes of all segments; `rows` are refused beyond, the rest may use a sixteenth more. At least two segments. */
  readonly totalBytesMax: number
  /** Streams whose generations are remembered. */
  readonly streamsMax: number
  /**
   * What to do with damaged files. `refuse`: open fails, names file and offset, and changes nothing. `keep-aside`: damaged
   * files are copied to `<name>.corrupt-<n>`, all readable entries are kept, and `lost` entries stand for the others.
   */
  readonly onDamage: 'keep-aside' | 'refuse'
  /** Told what the owner may want to log; must not throw. */
  readonly onEvent: (event: WalEvent) => void
  /** Told how long one write with its sync took; must not throw. */
  readonly onSynced?: ((durationMs: number) => void) | undefined
}

export type WalEvent =
  /** Appends are refused until there is room; nothing is lost. */
  | { readonly kind: 'disk-full'; readonly error: unknown }
  /** The log takes nothing until `reopen()`. */
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'reopened' }
  /** The log goes on; but what is cut off its end meanwhile would not be noticed. */
  | { readonly kind: 'mark-failed'; readonly error: unknown }
  /** A file that is no longer needed is still there, or could not be closed; tried again later where that helps. */
  | { readonly kind: 'cleanup-failed'; readonly file: string; readonly error: unknown }

export type WalState = 'closed' | 'failed' | 'open'

export interface WalStats {
  readonly state: WalState
  /** The sequence of the next entry: everything below is on disk. */
  readonly nextSequence: Sequence
  /** Everything below is no longer needed. */
  readonly releasedSequence: Sequence
  readonly segmentCount: number
  /** A release from here on lets the first segment go; null while there is none behind it. */
  readonly firstSegmentNext: Sequence | null
  readonly totalBytes: number
  readonly pendingBytes: number
  readonly pendingBatches: number
  /** Writes with one sync each since the log was opened; entries through them. */
  readonly groupCount: number
  readonly entryCount: number
}

export type DamageReason =
  | 'cut-off'
  | 'header-checksum'
  | 'marker'
  /** The log is another one than the mark tells of. */
  | 'log-id'
  | 'missing'
  | 'payload-checksum'
  | 'segment-header'
  | 'sequence'

/** What is wrong with a file. */
export interface Damage {
  /** The name within the log's directory. */
  readonly file: string
  readonly offset: number
  readonly reason: DamageReason
  readonly firstLost: number
  /** Where a whole file is gone, the last entry that is gone with it. */
  readonly lastLost?: number
  readonly nextGood: { readonly offset: number; readonly sequence: number } | null
}

/**
 * What is gone of a log and costs no event. `checkpoint`: it is made anew out of the mark and the segments; `reason` says what
 * was wrong with it. `stored-segments`: all that was in them is stored, but the keys of requests are forgotten.
 */
export type HarmlessLoss =
  | { readonly kind: 'checkpoint'; readonly reason: 'checksum' | 'foreign' | 'missing' }
  | { readonly kind: 'stored-segments'; readonly first: number; readonly last: number }

/** Bytes behind the last usable entry, up to the zeros at the end, which were cut off: never acknowledged. */
export interface CutTail {
  readonly file: string
  readonly offset: number
  readonly byteCount: number
  /** Whole entries among them: of the last write, whose sync never returned, or of a write that had failed. */
  readonly wholeEntryCount: number
  /** `torn`: the last write before a crash. `abandoned`: what a failed write left before the log was reopened. */
  readonly reason: 'abandoned' | 'torn'
}

/** What was found when the log was opened. */
export interface RecoveryReport {
  /** True when there was no log. */
  readonly isNew: boolean
  /** True when the last process closed it properly. */
  readonly wasClosed: boolean
  readonly segmentCount: number
  readonly entryCount: number
  readonly byteCount: number
  readonly releasedSequence: Sequence
  readonly nextSequence: Sequence
  readonly cutTails: readonly CutTail[]
  /** Segments that were no longer needed, or had been begun and held nothing. */
  readonly removedFiles: readonly string[]
  readonly harmlessLosses: readonly HarmlessLoss[]
  /** Every event below is stored, whatever the log still has of it. */
  readonly settledSequence: Sequence
  /** Empty unless `keep-aside` went on in spite of them. */
  readonly damages: readonly Damage[]
  /** Copies of damaged files, by name. */
  readonly keptAside: readonly string[]
  /** Entries that damage took, now or in an earlier run, and that were still needed. */
  readonly lostRanges: readonly LostRange[]
}

/** What is still needed of the older part of the log. */
export interface CompactionRequest {
  /** Whole segments before it are looked at; at most what `Wal.boundaryBefore` gives. */
  readonly below: Sequence
  /** By stream, the first entry that is not settled. Of every other stream nothing before `below` is needed. */
  readonly firstNeeded: ReadonlyMap<string, Sequence>
  /** Epoch milliseconds. */
  readonly atMs: number
}

/** Both ends are lost. */
export interface LostRange {
  readonly first: Sequence
  readonly last: Sequence
}
