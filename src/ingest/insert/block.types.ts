import type { Sequence } from '../../wal/sequence.ts'

/** Encoded columns in memory: rows that fit, and rows set aside. */
export interface ParsedRows {
  readonly parts: readonly Uint8Array[]
  readonly rowCount: number
  readonly quarantineParts: readonly Uint8Array[]
  readonly quarantinedRowCount: number
}

/** A block that is named in the log. */
export interface NamedBlock {
  readonly blockId: string
  readonly sequences: readonly Sequence[]
  /** Records that the engine refused, counted from 0 over the block's lines. */
  readonly setAside: readonly number[]
  /** Those among them for which it took too much time or memory. */
  readonly costly?: readonly number[]
  /** Those among them that were not tried, as others of the block took too much. */
  readonly untried?: readonly number[]
  /** Records of too many partitions, counted in the same way. */
  readonly beyond: readonly number[]
  /** True when damage took entries of it, so that what the log says of its lines counts no more: they are looked for again. */
  readonly isCutShort?: boolean
  /** Bytes that its bodies take in the log. */
  readonly loggedBytes: number
  /** When it was named, epoch milliseconds: the time at which its rows were set aside. */
  readonly namedAtMs: number
}
