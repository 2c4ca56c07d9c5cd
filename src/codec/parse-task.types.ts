import type { ColumnDefinition } from '../schema/columns/column-definition.types.ts'
import type { ValueRules } from '../shared/value-rules.ts'
import type { Part } from './arrow/part.types.ts'
import type { CsvDialect } from './csv/csv-dialect.ts'

/**
 * The thread border: everything that goes to a parse worker and comes back. Frames are shared or transferred, and parts
 * are transferred or written to files: nothing large is copied.
 */
export interface ParseTask {
  /**
   * `<data source>:<version of its schema>`, and behind a further `:` what else tells plans apart. The same key means the
   * same columns: a worker keeps what it compiled for it, until a higher version comes.
   */
  readonly planKey: string
  readonly columns: readonly ColumnDefinition[]
  /** The rules by which values are read; the current ones where none are named. */
  readonly rules?: ValueRules
  /** Whole records; the last one ends in a line feed, and `framePaddingBytes` unused bytes follow `byteCount`. */
  readonly frame: Uint8Array
  readonly byteCount: number
  /** Where the first body begins: behind a byte order mark and a CSV header. */
  readonly start: number
  /** Where each body in the frame ends, so that each gets its own counts; bodies never share a record. */
  readonly bodyEnds: readonly number[]
  readonly record: RecordFormat
  /** Files that the worker writes the parts to, which must not exist; null for parts that come back in memory. */
  readonly partPaths: { readonly rows: string; readonly quarantine: string } | null
}

export type RecordFormat =
  | { readonly kind: 'ndjson' }
  /** One JSON message with any white space, as `format=json` sends it. */
  | { readonly kind: 'document' }
  /** One record that a body broke off in, inside of a quote: nothing of it can be read. */
  | { readonly kind: 'brokenOff' }
  /** `fieldColumns[i]` is the index of the column that field `i` fills, or -1 when none does. */
  | { readonly kind: 'csv'; readonly dialect: CsvDialect; readonly fieldColumns: readonly number[] }

export interface ParseResult<Kept extends Part = Part> {
  /** The task's frame, given back for reuse. */
  readonly frame: Uint8Array
  /** An Arrow part in the landing table's layout; null when no row was accepted. */
  readonly part: Kept | null
  readonly rowCount: number
  /** An Arrow part in the quarantine table's layout; null when no row was set aside. */
  readonly quarantinePart: Kept | null
  readonly quarantinedRowCount: number
  /** One entry for each of the task's `bodyEnds`. */
  readonly bodies: readonly BodyCounts[]
}

export interface BodyCounts {
  readonly rows: number
  /** All that was set aside. */
  readonly quarantined: number
  /** Those of them that are no record, or short. */
  readonly invalid: number
  /** CSV lines with too few fields, or a quote that is never closed: imports tell them as quarantined and as invalid. */
  readonly short: number
}
