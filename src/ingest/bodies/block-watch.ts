/** What whoever watches an import is told of one block of its body: a frame, from its cutting to its rows' INSERT. */
import type { CsvDialect } from '../../codec/csv/csv-dialect.ts'
import type { Frame } from '../../codec/frame-assembler.ts'
import type { ParseResult } from '../../codec/parse-task.types.ts'
import type { BodyFormat, ImportWatcher } from '../ingest.types.ts'
import type { PartWatch } from '../insert/block-writer.ts'

export interface WatchedBlock {
  /** Counts from 0. */
  readonly index: number
  readonly format: BodyFormat
  readonly dialect: CsvDialect
  /** Still here, before a worker has it. */
  readonly frame: Frame
}

export class BlockWatch implements PartWatch {
  readonly #watcher: ImportWatcher
  readonly #index: number
  readonly #format: BodyFormat
  readonly #byteCount: number
  readonly #emptyLines: number
  readonly #startMs = performance.now()

  constructor(watcher: ImportWatcher, { index, format, dialect, frame }: WatchedBlock) {
    this.#watcher = watcher
    this.#index = index
    this.#format = format
    this.#byteCount = frame.byteCount
    const lines = frame.bytes.subarray(0, frame.byteCount)
    this.#emptyLines = watcher.hasReports ? countEmptyLines(lines, format === 'csv' ? dialect : null) : 0
    watcher.onStatus(index, 'processing')
  }

  onParsed({ bodies, part }: ParseResult): void {
    const sum = (of: (counts: ParseResult['bodies'][number]) => number) =>
      bodies.reduce((total, counts) => total + of(counts), 0)
    const setAsideRows = sum(({ quarantined }) => quarantined)
    const invalidLines = sum(({ invalid }) => invalid)
    this.#watcher.onParsed(this.#index, {
      parser: this.#format,
      lines: sum(({ rows }) => rows) + setAsideRows,
      // A short line is among the quarantined and among the invalid, another invalid one among the invalid alone.
      quarantinedRows: setAsideRows - invalidLines + sum(({ short }) => short),
      invalidLines,
      emptyLines: this.#emptyLines,
      byteCount: this.#byteCount,
      timeMs: performance.now() - this.#startMs,
    })
    if (part === null) this.#watcher.onStatus(this.#index, 'done')
  }

  onInserting(): void {
    this.#watcher.onStatus(this.#index, 'inserting_chunk:0')
  }

  onInserted(): void {
    this.#watcher.onStatus(this.#index, 'done_inserting_chunk:0')
    this.#watcher.onStatus(this.#index, 'done')
  }
}

const lineFeed = 0x0a
const carriageReturn = 0x0d
const quote = 0x22

/** Lines with nothing in them; in CSV a quoted cell may have such lines, which are none of the file's. */
export function countEmptyLines(bytes: Uint8Array, dialect: CsvDialect | null): number {
  let count = 0
  let isQuoted = false
  let isEmpty = true
  for (let offset = 0; offset < bytes.length; offset += 1) {
    const byte = bytes[offset]
    if (byte === lineFeed && !isQuoted) {
      if (isEmpty) count += 1
      isEmpty = true
    } else if (byte !== carriageReturn) {
      isEmpty = false
      if (dialect !== null && isQuoted && byte === dialect.escape && byte !== quote) offset += 1
      else if (dialect !== null && byte === quote) isQuoted = !isQuoted
    }
  }
  return count
}
