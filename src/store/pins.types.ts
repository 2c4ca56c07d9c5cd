/**
 * Pins: the parts that a table has at one moment, kept as they are in a table of their own. They share their files with it, so they
 * cost no copy; nothing merges them and nothing expires them, whatever becomes of the table. Every verb raises `StoreError`.
 */
export interface Pins {
  /** Looks at what a pin of a table needs, and drops whatever has its name. The definition of the table stays as it is until `make`. */
  prepare(pin: string, of: string): Promise<PreparedPin>
  /** Pins all parts of a table. Precondition: nothing is inserted into it meanwhile. */
  make(pin: PreparedPin): Promise<void>
  /** The same in a table of the same engine, so that FINAL reads both alike. */
  makeAlike(pin: string, of: string): Promise<void>
  /** Drops what `make` has made, if it is there. */
  drop(pin: string): Promise<void>
  /** An empty table of the columns and keys of another one, which keeps each row as it comes; its parts can be attached to the other. */
  makePlain(table: string, like: string): Promise<void>
  /**
   * The parts of a pin that have rows, in an order that stays: by partition, and in the order of the table.
   *
   * @param read names that a query has, whose columns alone count as bytes; null counts all.
   */
  parts(pin: string, read: readonly string[] | null): Promise<readonly PinnedPart[]>
}

export interface PreparedPin {
  readonly pin: string
  readonly of: string
  /** Clauses of its own engine. */
  readonly keys: string
}

export interface PinnedPart {
  readonly name: string
  readonly partition: string
  readonly rowCount: number
  /** Before compression. */
  readonly byteCount: number
}

/** Rows of one part of a pin. */
export interface ChunkPiece {
  readonly part: string
  /** Null takes all of the part. */
  readonly range: RowRange | null
  /** Of every so many rows the one whose number has this rest; absent takes all of them. */
  readonly sample?: RowSample
}

/** Numbers of rows in their part. */
export interface RowRange {
  readonly from: number
  /** Not among them. */
  readonly to: number
}

export interface RowSample {
  readonly step: number
  readonly rest: number
}
